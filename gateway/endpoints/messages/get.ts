import { jsonText } from '../../http/json.ts';
import { MessageParams, OneMessage } from '../../schemas/messages.ts';
import { endpoint } from '../common/services.ts';

export const getMessage = endpoint({
  name: 'getMessage',
  tag: 'messages',
  summary: 'Get a message',
  method: 'GET',
  path: '/v1/threads/{thread_id}/messages/{message_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: MessageParams,
  reply: OneMessage,
  handle: async ({ owner, params, call }, { threads }) => {
    const { thread_id: threadId, message_id: messageId } = params;
    const { json } = await threads.getMessage({ owner, threadId, messageId }, call());
    return withOwnFields(jsonText(json));
  },
});

/** A message in `message`, its fields beside it. One that has a field of that name keeps it within itself. */
function withOwnFields(text: string): string {
  const { message: _message, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return `${JSON.stringify(fields).slice(0, -1)},"message":${text}}`;
}
