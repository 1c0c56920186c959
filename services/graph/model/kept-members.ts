import { isObject, type JsonObject } from './given-json.ts';

/** Members that go back to their provider. The values are those that were read, and are joined in place. */
export interface KeptMembers {
  members: Record<string, unknown>;
  characters: number;
}

/** How much an answer may have of what goes back to its provider, in characters. */
export const maxKept = 256 * 1024;

/**
 * Adds the members of a chunk; gives how many characters of them are kept. Chunks of a text and of a list are joined; of anything else the last
 * counts. Over the bound nothing is kept: half a signature is refused where none may pass.
 */
export function addMembers(kept: KeptMembers, members: JsonObject): number {
  if (Object.keys(members).length === 0) return 0;
  const { length } = JSON.stringify(members);
  kept.characters += length;
  if (kept.characters > maxKept) {
    kept.members = {};
    return 0;
  }
  joinObjects(kept.members, members, 0);
  return length;
}

/** Members are joined so deep. */
const maxDepth = 8;

function joinObjects(one: Record<string, unknown>, other: JsonObject, depth: number): void {
  for (const [name, value] of Object.entries(other)) {
    if (value === null || name === '__proto__') continue;
    const before = Object.hasOwn(one, name) ? one[name] : undefined;
    if (typeof before === 'string' && typeof value === 'string') one[name] = joinTexts(before, value, name);
    else if (depth < maxDepth && Array.isArray(before) && Array.isArray(value)) joinLists(before, value, depth);
    else if (depth < maxDepth && isObject(before) && isObject(value)) joinObjects(before, value, depth + 1);
    else one[name] = value;
  }
}

/** Texts that come in chunks, and what comes whole or in chunks. Any other text, as an id, comes again in each chunk. */
const chunked: ReadonlySet<string> = new Set(['text', 'summary', 'thinking', 'content']);
const sealed: ReadonlySet<string> = new Set(['data', 'signature']);

function joinTexts(one: string, other: string, name: string): string {
  return chunked.has(name) || (sealed.has(name) && one !== other) ? one + other : other;
}

function joinLists(list: unknown[], other: readonly unknown[], depth: number): void {
  for (const item of other) {
    const last: unknown = list.at(-1);
    if (isObject(last) && isObject(item) && isContinued(last, item)) joinObjects(last, item, depth + 1);
    else list.push(item);
  }
}

/** An item continues the last one of the same kind, id and place. One without a place ends with its signature. */
function isContinued(last: JsonObject, item: JsonObject): boolean {
  const isAlike = ['type', 'id'].every((name) => (item[name] ?? last[name]) === (last[name] ?? item[name]));
  if (!isAlike || (item['index'] ?? null) !== (last['index'] ?? null)) return false;
  return typeof item['index'] === 'number' || (!last['signature'] && !('data' in item));
}
