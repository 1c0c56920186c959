import {
  callsOf,
  holdsProviderData,
  isCall,
  textOf,
  withoutProviderData,
  type Block,
  type Message,
} from './message.ts';

type Content = Pick<Message, 'content'>;

const inJson = '"provider_data"';

/** The JSON text of a message, or of a list of messages, as callers see it. */
export function jsonWithoutProviderData(json: string): string {
  if (!json.includes(inJson)) return json;
  const value = JSON.parse(json) as Message | readonly Message[];
  return JSON.stringify(Array.isArray(value) ? value.map(withoutProviderData) : withoutProviderData(value as Message));
}

/** Whether the JSON of a message may hold provider data. */
export const mayHoldProviderData = (json: Uint8Array): boolean =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(inJson);

/**
 * A message of a caller that takes the place of a stored one. What is the same in both, a call of the same id, a text or reasoning with the
 * same text, keeps the stored provider data. Where text and calls are the same and no reasoning is given, the stored reasoning with such data
 * stays: many clients have no place for it, and models that think refuse their own calls without it.
 */
export function keepProviderData<M extends Content>(given: M, stored: Content): M {
  const known = stored.content.filter(holdsProviderData);
  if (known.length === 0) return given;
  const content = given.content.map((block): Block => {
    const same = known.find((one) => isSame(one, block));
    return same ? { ...block, provider_data: same['provider_data'] } : block;
  });
  const isBare = !content.some(({ type }) => type === 'reasoning') && hasSameAnswer(given, stored);
  return { ...given, content: isBare ? withReasoning(content, stored.content) : content };
}

function isSame(one: Block, other: Block): boolean {
  if (isCall(one)) return isCall(other) && one.id === other.id;
  const { type, text } = one;
  return (type === 'text' || type === 'reasoning') && other.type === type && other['text'] === text;
}

const hasSameAnswer = (one: Content, other: Content): boolean =>
  textOf(one) === textOf(other) && callsOf(one).join('\n') === callsOf(other).join('\n');

/** The content with the stored reasoning, each block before what follows it in the stored content. */
function withReasoning(content: readonly Block[], stored: readonly Block[]): Block[] {
  const rest = [...content];
  const merged = stored.flatMap((block) => {
    if (block.type === 'reasoning') return holdsProviderData(block) ? [block] : [];
    return rest.splice(0, rest.findIndex((one) => isSame(block, one)) + 1);
  });
  return [...merged, ...rest];
}
