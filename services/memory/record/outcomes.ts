import { toPage } from '@agent-workflow/kit/pages';
import { textBytes, toJson } from './json.ts';
import type { StoredMemory } from '../ports/memory.ts';
import type { RemovedMemories, UpdatedMemory } from '../ports/records.ts';

/** The outcome of a removal, with as many ids as fit into a page. */
export const toRemoved = (memoryIds: readonly string[]): RemovedMemories => ({
  memoryIds: toPage(memoryIds, { limit: Infinity, sizeOf: textBytes }).items,
  count: memoryIds.length,
});

/** The outcome of an update. */
export const toUpdated = (memory: StoredMemory): UpdatedMemory => {
  const { memoryId, memoryType, category, threadId, timestamp, happenedAt, expiresAt, metadataJson } = memory;
  const times = {
    timestamp,
    ...(happenedAt !== undefined && { happenedAt }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
  return { memoryId, memoryType, category, threadId, ...times, metadataJson };
};

/** The outcome as JSON, as stores keep it of a request that may be sent again. */
export const toKeptUpdate = (updated: UpdatedMemory): Uint8Array =>
  toJson({ ...updated, metadataJson: textOf(updated.metadataJson) });

export const fromKeptUpdate = (json: Uint8Array): UpdatedMemory => {
  const kept = JSON.parse(textOf(json)) as Omit<UpdatedMemory, 'metadataJson'> & { readonly metadataJson: string };
  return { ...kept, metadataJson: Buffer.from(kept.metadataJson) };
};

export const toKeptRemoval = (removed: RemovedMemories): Uint8Array => toJson(removed);

export const fromKeptRemoval = (json: Uint8Array): RemovedMemories => JSON.parse(textOf(json)) as RemovedMemories;

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();
