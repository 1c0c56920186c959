import type { MemoryType } from '@agent-workflow/protos/lists';

/** A memory without its content and its vector. */
export interface MemoryHead {
  readonly memoryId: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  /** Empty when the memory belongs to no thread. */
  readonly threadId: string;
  /** When it was stored or last updated: milliseconds since 1970 UTC. */
  readonly timestamp: number;
  /** The time of what it describes, where it was given: milliseconds since 1970 UTC. */
  readonly happenedAt?: number | undefined;
  /** From then on it counts as absent, wherever it still is. */
  readonly expiresAt?: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A memory as a store returns it. Its JSON texts are the bytes that were put; they are never serialised again. */
export interface StoredMemory extends Omit<MemoryHead, 'metadata'> {
  readonly content: string;
  /** A JSON object. */
  readonly metadataJson: Uint8Array;
  /** A JSON array of numbers: the vector as replies carry it. */
  readonly vectorJson: Uint8Array;
}

/** A memory as it is put. */
export interface MemoryRecord extends StoredMemory {
  /** Of unit length, in the dimension that the store was opened with. */
  readonly vector: Float32Array;
}

/** A memory and its owner. */
export interface OwnedMemory {
  readonly owner: string;
  readonly memory: MemoryRecord;
}
