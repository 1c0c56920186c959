import type { MemoryType } from '@agent-workflow/protos/lists';
import type { MemoryHead } from './memory.ts';

/** What a store filters by itself. An absent field filters nothing. */
export interface Narrowing {
  readonly memoryType?: MemoryType | undefined;
  readonly category?: string | undefined;
  readonly threadId?: string | undefined;
  /** Only memories that have not expired by then: milliseconds since 1970 UTC. */
  readonly aliveAt?: number | undefined;
  /** Only these memories. */
  readonly memoryIds?: ReadonlySet<string> | undefined;
  /** A hint: `accepts` checks the same, so a store without an index of metadata may ignore it. */
  readonly metadata?: readonly MetadataMatch[] | undefined;
}

/** A top-level field of the metadata that has one of these values. */
export interface MetadataMatch {
  readonly field: string;
  readonly anyOf: readonly Scalar[];
}

export type Scalar = string | number | boolean;

/** A query within one owner's memories. */
export interface StoreQuery {
  readonly owner: string;
  readonly narrowing: Narrowing;
  /**
   * The filters that `narrowing` does not hold. A store calls it for each memory before it counts that memory towards `limit`, and
   * reads on until enough memories pass.
   */
  readonly accepts?: ((head: MemoryHead) => boolean) | undefined;
  /** At most this many, which may be `Infinity`. */
  readonly limit: number;
}
