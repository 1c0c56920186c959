import type { Static } from 'typebox';
import { jsonObject, jsonText } from '../../../http/json.ts';
import * as examples from '../examples/messages.ts';
import { Done } from '../schemas/common.ts';
import {
  MessageList,
  MessagesQuery,
  MessageParams,
  OneMessage,
  AddedMessages,
  AddMessages,
} from '../schemas/messages.ts';
import { ThreadParams, DeleteInput } from '../schemas/threads.ts';
import { metadataBytes } from '../../common/bounded.ts';
import { endpoint } from './common/endpoint.ts';
import { messagesText } from './common/messages-text.ts';
import { nextPage, pageOf } from './common/page.ts';
import { toEntries } from '../../common/incoming-messages.ts';

/** The messages of a thread, in the order of its log or in the reverse order. */
export const listMessages = endpoint({
  name: 'listMessages',
  tag: 'messages',
  summary: 'List the messages of a thread, oldest or newest first',
  description:
    'The whole log of a thread, in pages: also what the agent has summarised. `order=desc` begins at its end.',
  example: examples.listMessages,
  method: 'GET',
  path: '/v1/threads/{thread_id}/messages',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: MessagesQuery,
  reply: MessageList,
  handle: async ({ params, input, owner, call }, { threads }) => {
    const order = input.order === 'desc' && { newestFirst: true };
    const page = await threads.listMessages({ owner, threadId: params.thread_id, ...pageOf(input), ...order }, call());
    return jsonObject({ messages: messagesText(page.messagesJson), ...nextPage(page.cursor) });
  },
});

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

/** Appends messages to log and context; gives the stored messages. */
export const addMessages = endpoint({
  name: 'addMessages',
  tag: 'messages',
  summary: 'Add messages, or replace those whose id is there',
  description:
    'Puts messages at the end of the log and of the context, without a run. A message whose id is in the thread replaces that one in place. 409 while a run of the thread is under way.',
  example: examples.addMessages,
  method: 'POST',
  path: '/v1/threads/{thread_id}/messages',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: AddMessages,
  reply: AddedMessages,
  handle: async ({ params, input, owner, idempotency, newId, at, call }, { threads }) => {
    const messages = toEntries(input.messages.map(withoutSender), newId, at);
    const metadata = input.metadata && { metadataJson: metadataBytes(input.metadata, ['body', 'metadata']) };
    await threads.addMessages({ owner, threadId: params.thread_id, messages, ...metadata, ...idempotency }, call());
    return jsonObject({
      messages: `[${messages.map(({ json }) => jsonText(json)).join(',')}]`,
      success: 'true',
      message: JSON.stringify(`${String(messages.length)} ${messages.length === 1 ? 'message' : 'messages'} added`),
    });
  },
});

type Given = Static<typeof AddMessages>['messages'][number];

/** The message without a sender: who that is the service alone says. */
function withoutSender(message: Given): Given {
  if (message.metadata?.['sender'] === undefined) return message;
  const { sender: _, ...metadata } = message.metadata;
  return { ...message, metadata };
}

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
