import { blockRules, isCall, type Block } from '@agent-workflow/protos/message';
import type { LangChainPart } from './langchain-message.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether an object has these fields and no others. */
const hasOnly = (value: Fields, names: readonly string[]): boolean =>
  Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));

/** A text and nothing beside it. */
export const isPlainText = (block: Block): block is Block & { readonly text: string } =>
  block.type === 'text' &&
  typeof block['text'] === 'string' &&
  block['text'] !== '' &&
  hasOnly(block, ['type', 'text']);

/** A thought and nothing beside it. */
export const isPlainThought = (block: Block): block is Block & { readonly text: string } =>
  block.type === 'reasoning' &&
  typeof block['text'] === 'string' &&
  block['text'] !== '' &&
  hasOnly(block, ['type', 'text']);

/** A call that loses nothing as one of LangChain. */
export const isPlainCall = (block: Block): boolean =>
  block.type === 'tool_call' &&
  isCall(block) &&
  isObject(block.args) &&
  block['tool_type'] === 'function' &&
  hasOnly(block, ['type', 'id', 'name', 'args', 'tool_type']);

/** Whether a part is a block of the service as it stands, although LangChain may mean another thing by its type. */
function isBlock(part: LangChainPart): boolean {
  const rule = blockRules[part.type];
  if (!rule) return true;
  const has = (name: string, kind: string): boolean => fits(part[name], kind);
  const required = Object.entries(rule.required).every(([name, kind]) => has(name, kind));
  const optional = Object.entries(rule.optional).every(
    ([name, kind]) => part[name] === undefined || part[name] === null || has(name, kind),
  );
  const isOne = rule.oneOf === undefined || rule.oneOf.some((name) => part[name] !== undefined && part[name] !== null);
  return required && optional && isOne;
}

function fits(value: unknown, kind: string): boolean {
  if (kind === 'object') return isObject(value);
  if (kind === 'array') return Array.isArray(value);
  if (kind === 'name') return typeof value === 'string' && value !== '';
  return typeof value === kind;
}

/** One block as a part of a message of LangChain. */
export function toPart({ provider_data: _, ...block }: Block): LangChainPart {
  const { type, url, text, data } = block;
  if (type === 'image' && typeof url === 'string' && hasOnly(block, ['type', 'url']))
    return { type: 'image_url', image_url: { url } };
  if (type === 'reasoning' && typeof text === 'string' && hasOnly(block, ['type', 'text']))
    return { type, reasoning: text };
  const isWrapped = type === 'data' && hasOnly(block, ['type', 'data']) && isObject(data) && isForeign(data);
  return (isWrapped ? data : block) as LangChainPart;
}

/** Whether an object is a part of LangChain that has the type of a block of the service, and other fields. */
const isForeign = (data: Fields): boolean => {
  const { type } = data;
  return typeof type === 'string' && thoughtIn(data as LangChainPart) === undefined && !isBlock(data as LangChainPart);
};

/** The thought of a part, whose name differs by the provider. */
function thoughtIn(part: LangChainPart): string | undefined {
  const { type, reasoning, thinking } = part;
  if (type === 'reasoning' && typeof reasoning === 'string' && hasOnly(part, ['type', 'reasoning'])) return reasoning;
  return type === 'thinking' && typeof thinking === 'string' ? thinking : undefined;
}

/**
 * One part as a block of the service. A part of another library that has the type of a block and other fields is kept whole in a block of
 * type `data`.
 */
export function fromPart(part: LangChainPart): Block {
  const { type, image_url: image } = part;
  const thought = thoughtIn(part);
  if (thought !== undefined) return { type: 'reasoning', text: thought };
  const url = isObject(image) ? image['url'] : image;
  if (type === 'image_url' && typeof url === 'string') return { type: 'image', url };
  return isBlock(part) ? part : { type: 'data', data: part };
}
