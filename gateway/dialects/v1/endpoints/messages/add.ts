import { jsonObject, jsonText } from '../../../../http/json.ts';
import { AddedMessages, AddMessages } from '../../schemas/messages.ts';
import { ThreadParams } from '../../schemas/threads.ts';
import { metadataBytes } from '../common/bounded.ts';
import { endpoint } from '../common/endpoint.ts';
import { toEntries } from './incoming-messages.ts';
import * as examples from './examples.ts';

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
    const messages = toEntries(input.messages, newId, at);
    const metadata = input.metadata && { metadataJson: metadataBytes(input.metadata, ['body', 'metadata']) };
    await threads.addMessages({ owner, threadId: params.thread_id, messages, ...metadata, ...idempotency }, call());
    return jsonObject({
      messages: `[${messages.map(({ json }) => jsonText(json)).join(',')}]`,
      success: 'true',
      message: JSON.stringify(`${String(messages.length)} ${messages.length === 1 ? 'message' : 'messages'} added`),
    });
  },
});
