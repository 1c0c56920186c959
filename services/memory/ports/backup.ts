import type { EmbedderIdentity } from './embedder.ts';
import type { OwnedMemory } from './memory.ts';

/**
 * Reads and writes the memories of all owners at once, for export, import and reindex.
 * @throws Unavailable when the store cannot be reached.
 */
export interface MemoryBackup {
  /** Every memory of every owner, in no order. Memories that are stored or removed during the scan are in it or not. */
  readonly scan: () => AsyncIterable<OwnedMemory>;
  /** Puts many memories of any owners; ids that exist stay as they are. Returns how many were new. */
  readonly load: (memories: readonly OwnedMemory[]) => Promise<number>;
}

/** A new copy of all memories, with a new index, that takes the place of the old one. No memory service can open until it is closed. */
export interface Reindex extends MemoryBackup, AsyncDisposable {
  /** The embedder of the memories that are copied. */
  readonly embedder: EmbedderIdentity;
  /** How many memories are to be copied. */
  readonly count: () => Promise<number>;
  /** Reads the old copy. */
  readonly scan: MemoryBackup['scan'];
  /** Writes to the new copy. */
  readonly load: MemoryBackup['load'];
  /** Makes the new copy the current one and deletes the old one. `embedder` made its vectors. */
  readonly finish: (embedder: EmbedderIdentity) => Promise<void>;
}
