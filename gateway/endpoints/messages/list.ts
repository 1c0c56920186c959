import { jsonObject, jsonText } from '../../http/json.ts';
import { MessageList, MessagesQuery } from '../../schemas/messages.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { endpoint } from '../common/services.ts';
import * as examples from './examples.ts';

/** The messages of a thread, oldest first. */
export const listMessages = endpoint({
  name: 'listMessages',
  tag: 'messages',
  summary: 'List the messages of a thread, oldest first',
  description: 'The whole log of a thread, oldest first, in pages: also what the agent has summarised.',
  example: examples.listMessages,
  method: 'GET',
  path: '/v1/threads/{thread_id}/messages',
  access: { resource: 'checkpointer', action: 'read' },
  params: ThreadParams,
  input: MessagesQuery,
  reply: MessageList,
  handle: async ({ params, input, owner, call }, { threads }) => {
    const page = await threads.listMessages({ owner, threadId: params.thread_id, ...pageOf(input) }, call());
    return jsonObject({ messages: jsonText(page.messagesJson), ...nextPage(page.cursor) });
  },
});
