import type { MemoryHead } from './memory.ts';
import type { StoreQuery } from './query.ts';

/** How the distance of two vectors is measured: minus their dot product, or their Euclidean or Manhattan distance. */
export type Measure = 'dot' | 'euclidean' | 'manhattan';

export interface VectorQuery extends StoreQuery {
  readonly vector: Float32Array;
  readonly measure: Measure;
  /** Which memories are chosen when more than `limit` pass, and the order of the result. Equal ones are ordered newest first. */
  readonly order: 'nearest' | 'newest';
  /** Only memories that are no further away. */
  readonly maxDistance?: number | undefined;
}

export interface VectorHit {
  readonly head: MemoryHead;
  /** By the query's measure: smaller is nearer. */
  readonly distance: number;
}

export interface KeywordQuery extends StoreQuery {
  /** Words as a person writes them; nothing in it is syntax. A memory that has any of them is found. */
  readonly text: string;
}

export interface KeywordHit {
  readonly head: MemoryHead;
  /** BM25, above 0: greater is better. Only scores of one query are comparable. */
  readonly score: number;
}

/**
 * Finds an owner's memories by vector and by keywords, also those that are updated meanwhile.
 * @throws Unavailable when the store cannot be reached.
 */
export interface MemorySearch {
  /** The nearest or the newest memories, each with its distance. */
  readonly findByVector: (query: VectorQuery) => Promise<VectorHit[]>;
  /**
   * Best score first, equal ones newest first. Of more than 100, a store may choose among those whose score equals the last one's.
   * Empty when `text` has no word.
   */
  readonly findByKeywords: (query: KeywordQuery) => Promise<KeywordHit[]>;
  /**
   * While the store repairs its index: memories written since this time (milliseconds since 1970 UTC) may be missing from searches;
   * reads by id and lists are complete. `undefined` when searches miss nothing.
   */
  readonly incompleteSince: () => number | undefined;
}
