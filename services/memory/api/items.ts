import { notFound, type ServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { MemoryItem } from '@agent-workflow/protos/memory';
import type { StoredMemory } from '../ports/memory.ts';
import { refuseLate } from '../record/checks.ts';
import { textBytes } from '../record/json.ts';
import { isAlive, timeOf } from '../record/order.ts';
import type { Parts } from './parts.ts';

/** A memory as replies carry it. */
export function toItem(memory: StoredMemory, score = 1): MemoryItem {
  const { memoryId, content, memoryType, category, metadataJson, vectorJson, threadId, expiresAt } = memory;
  const item = { memoryId, content, memoryType, category, metadataJson, score, vectorJson, threadId };
  return { ...item, timestamp: timeOf(memory), ...(expiresAt !== undefined && { expiresAt }) };
}

/** The bytes of keys, timestamps and punctuation of one memory in a reply. */
const frameBytes = 512;

/** How many bytes a memory takes in a reply. */
export const itemBytes = ({ memoryId, content, category, threadId, metadataJson, vectorJson }: StoredMemory): number =>
  [memoryId, content, category, threadId].reduce((sum, text) => sum + textBytes(text), frameBytes) +
  metadataJson.byteLength +
  vectorJson.byteLength;

/** Memories that are read at once, each with its content and its vector. */
const memoriesAtOnce = 50;

interface Named {
  readonly owner: string;
  readonly ids: readonly string[];
}

/** The memories of these ids in their order, read some at a time; absent ones are left out. */
export async function* readMemories(
  { store, now }: Pick<Parts, 'store' | 'now'>,
  { owner, ids }: Named,
  call: Call,
): AsyncGenerator<StoredMemory> {
  for (let from = 0; from < ids.length; from += memoriesAtOnce) {
    refuseLate(call);
    const memories = await store.get(owner, ids.slice(from, from + memoriesAtOnce));
    yield* memories.filter((memory) => isAlive(memory, now()));
  }
}

export const absent = (memoryId: string): ServiceError => notFound(`memory "${memoryId}" does not exist`);
