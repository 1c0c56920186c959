import { MessageParams, OneMessage } from '../../schemas/messages.ts';
import { messagesText } from '../common/messages-text.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

export const getMessage = endpoint({
  name: 'getMessage',
  tag: 'messages',
  summary: 'Get a message',
  description: 'One message of a thread.',
  example: examples.getMessage,
  method: 'GET',
  path: '/v1/threads/{thread_id}/messages/{message_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: MessageParams,
  reply: OneMessage,
  handle: async ({ owner, params, call }, { threads }) => {
    const { thread_id: threadId, message_id: messageId } = params;
    const { json } = await threads.getMessage({ owner, threadId, messageId }, call());
    return withOwnFields(messagesText(json));
  },
});

/** The message in `message`, and its fields beside it; its own field `message`, if it has one, is only in the inner object. */
function withOwnFields(text: string): string {
  const { message: _message, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return `${JSON.stringify(fields).slice(0, -1)},"message":${text}}`;
}
