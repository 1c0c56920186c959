import { jsonObject, jsonText } from '../../http/json.ts';
import { AddedMessages, AddMessages } from '../../schemas/messages.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { metadataBytes } from '../common/bounded.ts';
import { endpoint } from '../common/services.ts';
import { toEntries } from './incoming-messages.ts';

/** Appends messages to log and context; gives them as they are stored. */
export const addMessages = endpoint({
  name: 'addMessages',
  tag: 'messages',
  summary: 'Add messages, or replace those whose id is there',
  method: 'POST',
  path: '/v1/threads/{thread_id}/messages',
  access: { resource: 'checkpointer', action: 'write' },
  params: ThreadParams,
  input: AddMessages,
  reply: AddedMessages,
  handle: async ({ params, input, owner, once, newId, at, call }, { threads }) => {
    const messages = toEntries(input.messages, newId, at);
    const metadata = input.metadata && { metadataJson: metadataBytes(input.metadata, ['body', 'metadata']) };
    await threads.addMessages({ owner, threadId: params.thread_id, messages, ...metadata, ...once }, call());
    return jsonObject({
      messages: `[${messages.map(({ json }) => jsonText(json)).join(',')}]`,
      success: 'true',
      message: JSON.stringify(`${String(messages.length)} ${messages.length === 1 ? 'message' : 'messages'} added`),
    });
  },
});
