import { Done } from '../../schemas/common.ts';
import { MessageParams } from '../../schemas/messages.ts';
import { DeleteInput } from '../../schemas/threads.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

export const deleteMessage = endpoint({
  name: 'deleteMessage',
  tag: 'messages',
  summary: 'Delete a message',
  description: 'Removes a message from the log and from the context. 409 while a run of the thread is under way.',
  example: examples.deleteMessage,
  method: 'DELETE',
  path: '/v1/threads/{thread_id}/messages/{message_id}',
  access: { resource: 'checkpointer', action: 'delete' },
  params: MessageParams,
  input: DeleteInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { threads }) => {
    const { thread_id: threadId, message_id: messageId } = params;
    await threads.deleteMessage({ owner, threadId, messageId, ...idempotency }, call());
    return '{"success":true}';
  },
});
