import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText, textOrNull, timeText } from '../../http/json.ts';

/** A checkpoint as the replies tell it. */
export const checkpointText = (checkpoint: ThreadCheckpoint, threadId: string): string =>
  jsonObject({
    checkpoint_id: JSON.stringify(checkpoint.checkpointId),
    thread_id: JSON.stringify(threadId),
    source: JSON.stringify(checkpoint.source),
    run_id: textOrNull(checkpoint.runId),
    step: JSON.stringify(checkpoint.step ?? null),
    nodes: JSON.stringify(checkpoint.nodes),
    next: JSON.stringify(checkpoint.next),
    metadata: checkpoint.metadataJson ? jsonText(checkpoint.metadataJson) : 'null',
    created_at: timeText(checkpoint.createdAt),
  });
