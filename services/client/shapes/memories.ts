import type { JsonObject } from './json.ts';

export type MemoryType = 'episodic' | 'semantic' | 'procedural' | 'entity' | 'relationship' | 'custom' | 'declarative';

/** Whose memories are meant; absent: the caller's own. */
export type MemoryScope = 'own' | `agent:${string}` | `shared:${string}`;

export interface NewMemory {
  readonly content: string;
  readonly memory_type: MemoryType;
  readonly category: string;
  readonly metadata?: JsonObject;
  /** The time of what it describes. */
  readonly timestamp?: string | number;
  /** From when on it is found by nothing. */
  readonly expires_at?: string | number;
  /** The scope has one memory of this name, and storing another takes its place. */
  readonly key?: string;
  readonly scope?: MemoryScope;
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

export interface MemoryQuery {
  readonly query: string;
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly limit?: number;
  readonly score_threshold?: number;
  readonly filters?: JsonObject;
  readonly retrieval_strategy?: 'similarity' | 'temporal' | 'relevance' | 'hybrid' | 'graph_traversal';
  readonly distance_metric?: 'cosine' | 'euclidean' | 'dot_product' | 'manhattan';
  readonly max_tokens?: number;
  /** The scopes that are searched together, at most 8; absent: the caller's own. */
  readonly scopes?: readonly MemoryScope[];
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

export interface Memory {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly memory_type: MemoryType;
  readonly category?: string;
  readonly metadata: JsonObject;
  readonly vector: readonly number[];
  readonly user_id: string;
  readonly thread_id: string;
  readonly timestamp: string;
  readonly expires_at?: string;
  /** Where it is, if not with the caller's own. */
  readonly scope?: MemoryScope;
}

/** A memory that was stored. */
export interface StoredMemory {
  readonly memory_id: string;
  /** Of one with a key, or with `dedupe`: whether it is new. */
  readonly created?: boolean;
}

/** A memory of a batch: stored, or refused. */
export type BatchMemory =
  | (StoredMemory & { readonly error?: undefined })
  | { readonly memory_id?: undefined; readonly error: { readonly code: string; readonly message: string } };

/** What memories are forgotten; without any of these none. */
export interface MemorySelection {
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly filters?: JsonObject;
  readonly scope?: MemoryScope;
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

/** The memories that were forgotten. */
export interface Forgotten {
  readonly deleted_count: number;
  /** As many as fit the reply; `has_more` says whether there were others. */
  readonly memory_ids: readonly string[];
  readonly has_more: boolean;
  /** Where nothing was selected: how memories are selected. */
  readonly message?: string;
}
