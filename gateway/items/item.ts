import type { Resource } from '@agent-workflow/protos/threads';
import { fromItemId, type ItemPlace } from './item-id.ts';

/** The kind of the items in the record. */
export const kind = 'item';

type JsonObject = Readonly<Record<string, unknown>>;

/** What the record holds of an item beside its place and its times. */
export interface ItemContent {
  readonly value: JsonObject;
  /** The paths to what is found by its meaning; absent: nothing is. */
  readonly index?: readonly string[];
  /** The memory by which it is found; absent: it has none. */
  readonly memory?: string;
  /** Minutes after which it goes. */
  readonly ttl?: number;
  /** When its value was written, in milliseconds since 1970, where only its time to live was since. */
  readonly updatedAt?: number;
}

/** An item of an owner. Times are in milliseconds since 1970. */
export interface Item extends ItemPlace {
  readonly value: JsonObject;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const toContentJson = (content: ItemContent): Uint8Array => Buffer.from(JSON.stringify(content));

/** @throws SyntaxError for what is no item */
export function contentOf({ json }: Pick<Resource, 'json'>): ItemContent {
  const content: unknown = JSON.parse(Buffer.from(json).toString());
  if (typeof content === 'object' && content !== null && 'value' in content && isObject(content.value))
    return content as ItemContent;
  throw new SyntaxError('the record has something else in the place of an item');
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same, or `undefined` for what is no item: it can be replaced and removed all the same. */
export function readableContent(resource: Pick<Resource, 'json'>): ItemContent | undefined {
  try {
    return contentOf(resource);
  } catch {
    return undefined;
  }
}

/** @throws SyntaxError for what is no item */
export function toItem(resource: Pick<Resource, 'id' | 'json' | 'createdAt' | 'updatedAt'>): Item {
  const { value, updatedAt = resource.updatedAt } = contentOf(resource);
  return { ...fromItemId(resource.id), value, createdAt: resource.createdAt, updatedAt };
}

/** Whether an item is over: it counts as absent, whether it was removed yet or not. */
export const isOver = ({ dueAt }: Pick<Resource, 'dueAt'>, now: number): boolean => dueAt !== undefined && dueAt <= now;
