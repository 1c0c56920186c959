import { isCall, type Block, type Message } from '@agent-workflow/protos/message';

/** A message as AG-UI's clients keep it. */
interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: string;
  readonly toolCalls?: readonly object[];
  readonly toolCallId?: string;
  readonly error?: string;
}

/** The id of what a model thought before or within a message: no other message of a thread has it. */
export const thoughtId = (messageId: string, index: number): string => `${messageId}${ofThought}:${String(index)}`;

const ofThought = ':reasoning';

/** The id of a result of a tool: a message of AG-UI holds one, and one of ours may hold several. */
export const resultId = (messageId: string, index: number): string =>
  index === 0 ? messageId : `${messageId}:${String(index)}`;

/** The message of the thread from which a message with this id came; `undefined` for an id that was not made here. */
export function wholeOf(id: string): string | undefined {
  const colon = id.lastIndexOf(':');
  if (colon <= 0 || !/^\d{1,6}$/.test(id.slice(colon + 1))) return undefined;
  const whole = id.slice(0, colon);
  return whole.endsWith(ofThought) ? whole.slice(0, -ofThought.length) : whole;
}

/** What a tool returned, as one text. */
export const outputText = ({ output }: Block): string =>
  typeof output === 'string' ? output : JSON.stringify(output ?? '');

export const thoughtIn = (block: Block): string | undefined => {
  if (block.type !== 'reasoning') return undefined;
  const text = block['text'] ?? block['summary'];
  return typeof text === 'string' && text !== '' ? text : undefined;
};

/** The text that a page shows of a message. */
export const textIn = (blocks: readonly Block[]): string =>
  blocks
    .flatMap((block) => (block.type === 'text' && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('');

/** A message of a thread as those of AG-UI: what was thought, and each result of a tool, are messages of their own. */
export function toAgui({ message_id: id, role, content }: Message): readonly ShownMessage[] {
  if (role === 'tool')
    return content
      .filter(({ type }) => type === 'tool_result')
      .map((block, index) => ({
        ...{ id: resultId(id, index), role, content: outputText(block), toolCallId: String(block['call_id']) },
        ...(block['is_error'] === true && { error: outputText(block) }),
      }));
  const thoughts = content.flatMap((block) => thoughtIn(block) ?? []);
  const calls = content.filter(isCall);
  const text = textIn(content);
  return [
    ...thoughts.map((thought, index) => ({ id: thoughtId(id, index), role: 'reasoning', content: thought })),
    {
      ...{ id, role },
      ...((text !== '' || role !== 'assistant') && { content: text }),
      ...(calls.length > 0 && {
        toolCalls: calls.map(({ id: callId, name, args }) => ({
          ...{ id: callId, type: 'function' },
          function: { name, arguments: JSON.stringify(args) },
        })),
      }),
    },
  ];
}
