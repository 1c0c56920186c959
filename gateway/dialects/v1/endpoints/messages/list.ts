import { jsonObject } from '../../../../http/json.ts';
import { MessageList, MessagesQuery } from '../../schemas/messages.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { messagesText } from '../common/messages-text.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

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
