import { createOwnerVectors, type OwnerVectors } from './owner-vectors.ts';

/** The vectors of the owners that were used last. */
export interface VectorCache {
  /** An owner's vectors, if they are in the cache. The owner counts as used now. */
  readonly get: (owner: string) => OwnerVectors | undefined;
  /** Adds an owner, still without memories, to the cache; `undefined` when this many memories can never fit. */
  readonly make: (owner: string, size: OwnerSize) => OwnerVectors | undefined;
  readonly drop: (owner: string) => void;
}

export interface OwnerSize {
  /** How many memories the owner has. */
  readonly count: number;
  readonly metadataBytes: number;
}

interface CachedOwner {
  readonly vectors: OwnerVectors;
  readonly size: CachedSize;
}

interface CachedSize {
  bytes: number;
}

/** About how many bytes a head takes beside its metadata. */
const headBytes = 400;
/** How many times as many bytes a parsed JSON value takes as its text. */
const parsedFactor = 4;

/** A cache of at most `maxBytes`. The owners used longest ago are dropped first. */
export function createVectorCache(dimension: number, maxBytes: number): VectorCache {
  // A Map iterates in the order of insertion: its first key is the owner used longest ago.
  const owners = new Map<string, CachedOwner>();
  const memoryBytes = dimension * Float32Array.BYTES_PER_ELEMENT + headBytes;
  const bytesOf = (memories: number, metadataBytes: number): number =>
    memories * memoryBytes + metadataBytes * parsedFactor;
  let total = 0;

  const drop = (owner: string): void => {
    total -= owners.get(owner)?.size.bytes ?? 0;
    owners.delete(owner);
  };
  const grow = (size: CachedSize, bytes: number): void => {
    size.bytes += bytes;
    total += bytes;
    for (const owner of owners.keys()) {
      if (total <= maxBytes) break;
      drop(owner);
    }
  };

  return {
    get: (owner) => {
      const cached = owners.get(owner);
      if (!cached) return undefined;
      owners.delete(owner);
      owners.set(owner, cached);
      return cached.vectors;
    },
    make: (owner, { count, metadataBytes }) => {
      if (bytesOf(count, metadataBytes) > maxBytes) return undefined;
      const size: CachedSize = { bytes: 0 };
      const vectors = createOwnerVectors({
        dimension,
        capacity: count,
        onChange: (memories, bytes) => {
          if (owners.get(owner)?.size === size) grow(size, bytesOf(memories, bytes));
        },
      });
      drop(owner);
      owners.set(owner, { vectors, size });
      return vectors;
    },
    drop,
  };
}
