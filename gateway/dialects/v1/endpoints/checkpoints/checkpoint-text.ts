import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { jsonObject, jsonText, textOrNull, timeText } from '../../../../http/json.ts';

/** A checkpoint as JSON text of a reply. */
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
    ...stepTexts(checkpoint),
  });

/** How a step ran; `null` for what is not known, and for every other checkpoint. */
function stepTexts({ source, createdAt, work }: ThreadCheckpoint): Record<string, string> {
  const tokens = work && { input_tokens: work.inputTokens, output_tokens: work.outputTokens };
  return {
    started_at: work ? timeText(work.startedAt) : 'null',
    ended_at: source === 'step' ? timeText(createdAt) : 'null',
    attempt: JSON.stringify(work?.attempt ?? null),
    retries: JSON.stringify(work?.retries ?? null),
    usage: JSON.stringify(tokens ?? null),
  };
}
