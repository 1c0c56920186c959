import { Done } from '../../schemas/common.ts';
import { DeleteInput, ThreadParams } from '../../schemas/threads.ts';
import { endpoint } from '../common/services.ts';

/** Clears fields and context; the thread and its messages stay. */
export const clearState = endpoint({
  name: 'clearState',
  tag: 'threads',
  summary: 'Clear the state; the messages stay',
  method: 'DELETE',
  path: '/v1/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, once, call }, { threads }) => {
    await threads.clearState({ owner, threadId: params.thread_id, ...once }, call());
    return '{"success":true}';
  },
});
