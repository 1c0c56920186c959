import { Done } from '../../schemas/common.ts';
import { DeleteInput, ThreadParams } from '../../schemas/threads.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** Deletes the thread with its state, messages, checkpoints, runs and memories. */
export const deleteThread = endpoint({
  name: 'deleteThread',
  tag: 'threads',
  summary: 'Delete a thread and all its data',
  description:
    'Stops the run of the thread and deletes its state, messages, checkpoints, runs and memories, for good. The thread is 404 from the start of the deletion. After a 503 the same request continues it.',
  example: examples.deleteThread,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { execution }) => {
    await execution.deleteThread({ owner, threadId: params.thread_id, ...idempotency }, call());
    return '{"success":true}';
  },
});
