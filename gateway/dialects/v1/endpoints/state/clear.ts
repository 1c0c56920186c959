import { Done } from '../../schemas/common.ts';
import { DeleteInput, ThreadParams } from '../../schemas/threads.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** Clears fields and context; the thread and its message log stay. */
export const clearState = endpoint({
  name: 'clearState',
  tag: 'threads',
  summary: 'Clear the state; the messages stay',
  description:
    'Resets all fields and the context of the agent; the log of messages stays. 409 while a run of the thread is under way.',
  example: examples.clearState,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}/state',
  access: { resource: 'checkpointer', action: 'delete' },
  params: ThreadParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { threads }) => {
    await threads.clearState({ owner, threadId: params.thread_id, ...idempotency }, call());
    return '{"success":true}';
  },
});
