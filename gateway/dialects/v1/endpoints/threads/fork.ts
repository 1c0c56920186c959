import { idText } from '@agent-workflow/protos/message';
import { ForkThread } from '../../schemas/checkpoints.ts';
import { ThreadDetails, ThreadParams } from '../../schemas/threads.ts';
import { metadataBytes } from '../common/bounded.ts';
import { checkPathThread } from '../common/path-thread.ts';
import { endpoint } from '../common/endpoint.ts';
import { detailsOf } from './thread-text.ts';
import * as examples from './examples.ts';

/** Makes a new thread from a checkpoint of another. */
export const forkThread = endpoint({
  name: 'forkThread',
  tag: 'threads',
  summary: 'Make a thread that begins where this one stood at a checkpoint',
  description:
    'Makes a new thread that begins as this one was at a checkpoint, with its state and messages. This thread does not change.',
  example: examples.forkThread,
  method: 'POST',
  path: '/v1/threads/{thread_id}/fork',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: ForkThread,
  reply: ThreadDetails,
  handle: async ({ owner, params, input, newId, isRepeated, call }, { threads }) => {
    const { thread_id: named, thread_name: threadName, metadata } = input.config ?? {};
    checkPathThread(named, params.thread_id);
    const newThreadId = newId('thread');
    // A fork that was deleted in the meantime is not made again: NotFound.
    if (isRepeated) return detailsOf(await threads.getThread({ owner, threadId: newThreadId }, call()), owner);
    const fork = await threads.forkThread(
      {
        owner,
        threadId: params.thread_id,
        checkpointId: idText(input.checkpoint_id),
        newThreadId,
        ...(threadName !== undefined && { threadName: threadName.toWellFormed() }),
        ...(metadata && { metadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
      },
      call(),
    );
    return detailsOf(fork, owner);
  },
});
