import { badRequest } from '@agent-workflow/kit/errors';
import { idText } from '@agent-workflow/protos/message';
import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { jsonObject, jsonText, textOrNull, timeText } from '../http/json.ts';
import type { CheckpointParams, CheckpointsQuery, ForkThread } from '../schemas/checkpoints.ts';
import type { ThreadParams } from '../schemas/threads.ts';
import { metadataBytes } from './bounded.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { fieldDefaults } from './field-defaults.ts';
import { stateOf, truncationOf } from './threads.state.ts';
import { detailsOf, goOn, pageOf } from './threads.ts';

/** The versions of a thread that can be had again, newest first. */
export async function listCheckpoints(
  ask: Ask<Static<typeof ThreadParams>, Static<typeof CheckpointsQuery>>,
  { threads }: Services,
): Promise<string> {
  const { owner, params, input } = ask;
  const threadId = params.thread_id;
  const page = await threads.listCheckpoints({ owner, threadId, ...pageOf(input) }, ask.call());
  return jsonObject({
    checkpoints: `[${page.checkpoints.map((checkpoint) => checkpointText(checkpoint, threadId)).join(',')}]`,
    ...goOn(page.cursor),
  });
}

/** A checkpoint and the whole state as it was there. */
export async function getCheckpoint(
  { owner, params, call }: Ask<Static<typeof CheckpointParams>>,
  { threads, execution }: Services,
): Promise<string> {
  const { thread_id: threadId, checkpoint_id: checkpointId } = params;
  const asked = call();
  const { checkpoint, state } = await threads.getCheckpoint({ owner, threadId, checkpointId }, asked);
  return jsonObject({
    checkpoint: checkpointText(checkpoint, threadId),
    state: stateOf(state, await fieldDefaults(execution, asked)),
    ...truncationOf(state),
  });
}

/** Makes a thread that begins where another stood at a checkpoint. */
export async function forkThread(
  ask: Ask<Static<typeof ThreadParams>, Static<typeof ForkThread>>,
  { threads }: Services,
): Promise<string> {
  const { owner, params, input } = ask;
  const { thread_id: named, thread_name: threadName, metadata } = input.config ?? {};
  if (named !== undefined && idText(named) !== params.thread_id) {
    throw badRequest(`config.thread_id "${idText(named)}" is not the thread of the path, "${params.thread_id}"`);
  }
  const newThreadId = ask.newId('thread');
  // A fork that was deleted since is not made again.
  if (ask.wasDone) return detailsOf(await threads.getThread({ owner, threadId: newThreadId }, ask.call()), owner);
  const fork = await threads.forkThread(
    {
      owner,
      threadId: params.thread_id,
      checkpointId: idText(input.checkpoint_id),
      newThreadId,
      ...(threadName !== undefined && { threadName }),
      ...(metadata && { metadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
    },
    ask.call(),
  );
  return detailsOf(fork, owner);
}

const checkpointText = (checkpoint: ThreadCheckpoint, threadId: string): string =>
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
