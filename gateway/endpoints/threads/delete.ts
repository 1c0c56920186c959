import { Done } from '../../schemas/common.ts';
import { DeleteInput, ThreadParams } from '../../schemas/threads.ts';
import { endpoint } from '../common/services.ts';

/** Removes the thread with all that hangs on it; its memories too. */
export const deleteThread = endpoint({
  name: 'deleteThread',
  tag: 'threads',
  summary: 'Delete a thread and all its data',
  method: 'DELETE',
  path: '/v1/threads/{thread_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, once, call }, { execution }) => {
    await execution.deleteThread({ owner, threadId: params.thread_id, ...once }, call());
    return '{"success":true}';
  },
});
