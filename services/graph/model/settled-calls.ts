import { isCall, textOf, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';

/**
 * The tool calls of a conversation that have an answer, by their ids. A model refuses a conversation with a call without its answer, or
 * with an answer without its call: only pairs are sent.
 */
export function settledCalls(messages: readonly Message[]): ReadonlyMap<unknown, CallBlock> {
  const blocks = messages.flatMap(({ content }) => content);
  const made = new Map<unknown, CallBlock>(blocks.filter(isCall).map((call) => [call.id, call]));
  return new Map(
    blocks.flatMap(({ call_id: id }) => {
      const call = made.get(id);
      return call ? [[id, call] as const] : [];
    }),
  );
}

/**
 * The messages with the results of calls right after the message that made them, as models ask for: what ran side by side may have
 * put other messages between.
 */
export function resultsBehindCalls(messages: readonly Message[]): readonly Message[] {
  const callers = new Map<unknown, Message>();
  const behind = new Map<Message, Message[]>();
  const moved = new Set<Message>();
  for (const message of messages) {
    for (const { id } of message.content.filter(isCall)) callers.set(id, message);
    const caller = message.role === 'tool' ? callers.get(message.content[0]?.['call_id']) : undefined;
    if (!caller) continue;
    moved.add(message);
    behind.set(caller, [...(behind.get(caller) ?? []), message]);
  }
  return messages.flatMap((message) => (moved.has(message) ? [] : [message, ...(behind.get(message) ?? [])]));
}

/** The text of a message. A block that a text model cannot take stands there as its kind, so that the model may say so. */
export const toModelText = (content: readonly Block[]): string =>
  content
    .filter((block) => !isCall(block) && block.type !== 'reasoning')
    .map((block) => (block.type === 'text' ? textOf({ content: [block] }) : `[${block.type}]`))
    .join('');
