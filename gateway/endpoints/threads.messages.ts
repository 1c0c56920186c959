import type { Static } from 'typebox';
import { jsonObject, jsonText } from '../http/json.ts';
import type { AddMessages, MessageParams, MessagesQuery } from '../schemas/messages.ts';
import type { DeleteInput, ThreadParams } from '../schemas/threads.ts';
import { metadataBytes } from './bounded.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { toEntries } from './incoming-messages.ts';
import { goOn, pageOf } from './threads.ts';

type Params = Static<typeof ThreadParams>;
type MessageKey = Static<typeof MessageParams>;

/** The messages of a thread, oldest first. */
export async function listMessages(
  ask: Ask<Params, Static<typeof MessagesQuery>>,
  { threads }: Services,
): Promise<string> {
  const { params, input, owner } = ask;
  const page = await threads.listMessages({ owner, threadId: params.thread_id, ...pageOf(input) }, ask.call());
  return jsonObject({ messages: jsonText(page.messagesJson), ...goOn(page.cursor) });
}

export async function getMessage(ask: Ask<MessageKey>, { threads }: Services): Promise<string> {
  const { thread_id: threadId, message_id: messageId } = ask.params;
  const { json } = await threads.getMessage({ owner: ask.owner, threadId, messageId }, ask.call());
  return withOwnFields(jsonText(json));
}

/** A message in `message`, its fields beside it. One that has a field of that name keeps it within itself. */
function withOwnFields(text: string): string {
  const { message: _message, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return `${JSON.stringify(fields).slice(0, -1)},"message":${text}}`;
}

/** Appends messages to log and context; gives them as they are stored. */
export async function addMessages(
  ask: Ask<Params, Static<typeof AddMessages>>,
  { threads }: Services,
): Promise<string> {
  const { params, input, owner } = ask;
  const messages = toEntries(input.messages, ask.newId, ask.at);
  const metadata = input.metadata && { metadataJson: metadataBytes(input.metadata, ['body', 'metadata']) };
  await threads.addMessages({ owner, threadId: params.thread_id, messages, ...metadata, ...ask.once }, ask.call());
  return jsonObject({
    messages: `[${messages.map(({ json }) => jsonText(json)).join(',')}]`,
    success: 'true',
    message: JSON.stringify(`${String(messages.length)} ${messages.length === 1 ? 'message' : 'messages'} added`),
  });
}

export async function deleteMessage(
  ask: Ask<MessageKey, Static<typeof DeleteInput>>,
  { threads }: Services,
): Promise<string> {
  const { thread_id: threadId, message_id: messageId } = ask.params;
  await threads.deleteMessage({ owner: ask.owner, threadId, messageId, ...ask.once }, ask.call());
  return '{"success":true}';
}
