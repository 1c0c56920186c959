import { newId } from '@agent-workflow/kit/ids';
import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Call } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Resource, ResourceCalls } from '@agent-workflow/protos/threads';
import { indexedText } from './indexed-text.ts';
import { fromItemId } from './item-id.ts';
import { kind, readableContent } from './item.ts';

const noteKind = 'item_memory';

export interface ItemParts {
  readonly threads: Pick<
    ResourceCalls,
    'getResource' | 'putResource' | 'deleteResource' | 'listResources' | 'listResourceMarks'
  >;
  readonly memory: Pick<Memory, 'store' | 'search' | 'delete'>;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/**
 * Whose the memories of an owner's items are. No caller has this key, since those of users begin otherwise: so no list, search, count or removal of
 * the owner's own memories finds one of an item.
 */
export const ownerOfMemories = (owner: string): string => `items of ${owner}`;

/** That memories of an item may have to be written or removed. It stands on record from before the item changes until they are as the item says. */
interface Note {
  /** The id of the item. */
  readonly item: string;
  readonly memories: readonly string[];
}

type NoteKey = Pick<Resource, 'owner' | 'id' | 'version'>;

/** How long after the request that made it a note is looked at, in milliseconds. */
const afterMs = 60_000;

/** Notes that memories of an item are about to change. `now` is the clock of the record. */
export async function noteMemories(
  { threads }: Pick<ItemParts, 'threads'>,
  { owner, ...note }: Note & { readonly owner: string },
  now: number,
  call: Call,
): Promise<NoteKey> {
  const key = { owner, id: newId(), version: 1 };
  const dueAt = Math.ceil(now + Math.max(0, call.deadline - Date.now()) + afterMs);
  await threads.putResource({ kind: noteKind, ...key, json: Buffer.from(JSON.stringify(note)), dueAt }, call);
  return key;
}

export const dropNote = async ({ threads }: Pick<ItemParts, 'threads'>, key: NoteKey, call: Call): Promise<void> => {
  await threads.deleteResource({ kind: noteKind, ...key }, call);
};

/** How often the memories are looked at again because the item was changed meanwhile. Then the note stays, and a sweep goes on. */
const attempts = 3;

/**
 * Makes the memories of a note as the item says: the one that it names is written, each other is removed. Then the note goes.
 * @throws what the record and the memory service throw; the note stays then
 */
export async function settleNote(parts: ItemParts, key: NoteKey, note: Note, call: Call): Promise<void> {
  const { owner } = key;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const before = await memoryOf(parts, owner, note.item, call);
    for (const memoryId of note.memories)
      if (memoryId === before.memory) await storeMemory(parts, { owner, memoryId, item: note.item, ...before }, call);
      else await removeMemory(parts, owner, memoryId, call);
    const after = await memoryOf(parts, owner, note.item, call);
    if (after.memory === before.memory) return dropNote(parts, key, call);
  }
}

/** A note as the record has it. @throws SyntaxError for what is none */
export function noteOf({ json }: Pick<Resource, 'json'>): Note {
  const { item, memories } = JSON.parse(Buffer.from(json).toString()) as Note;
  if (typeof item !== 'string' || !Array.isArray(memories)) throw new SyntaxError('this is no note about memories');
  return { item, memories };
}

interface Remembered {
  readonly memory?: string;
  readonly text: string;
}

/** The memory that an item names, and its text. */
async function memoryOf({ threads }: ItemParts, owner: string, id: string, call: Call): Promise<Remembered> {
  const resource = await undefinedIfNotFound(threads.getResource({ kind, owner, id }, call));
  const { memory, value = {}, index = [] } = (resource && readableContent(resource)) ?? {};
  return memory === undefined ? { text: '' } : { memory, text: indexedText(value, index) };
}

async function storeMemory(
  { memory, log }: ItemParts,
  {
    owner,
    memoryId,
    item,
    text,
  }: Remembered & { readonly owner: string; readonly memoryId: string; readonly item: string },
  call: Call,
): Promise<void> {
  const { namespace } = fromItemId(item);
  const above = namespace.map((_, depth) => [depthName(depth + 1), namespace.slice(0, depth + 1).join('.')]);
  const metadataJson = Buffer.from(JSON.stringify({ item, ...Object.fromEntries(above) }));
  const kept = { owner: ownerOfMemories(owner), memoryId, content: text, metadataJson };
  try {
    await memory.store({ ...kept, memoryType: 'custom', category: 'item' }, call);
  } catch (error) {
    // It has no vector that could be compared: it would be refused in the same way the next time.
    if (!isServiceError(error, 'Invalid')) throw error;
    log.warn({ err: error, memoryId }, 'an item is not found by its meaning: its text is refused');
  }
}

/** The field of a memory that has the labels of its item's namespace, down to a depth. */
export const depthName = (depth: number): string => `namespace_${String(depth)}`;

/** Removes a memory of an item; one that is absent is removed already. */
export async function removeMemory(
  { memory }: Pick<ItemParts, 'memory'>,
  owner: string,
  memoryId: string,
  call: Call,
): Promise<void> {
  await undefinedIfNotFound(memory.delete({ owner: ownerOfMemories(owner), memoryId }, call));
}
