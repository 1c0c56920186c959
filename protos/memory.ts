// Written by `npm run proto` from memory.proto: change that.
import type { Call } from './call.ts';
import type { DistanceMetric, MemoryType, MessageLists, RetrievalStrategy } from './lists.ts';
import type { PoolRule } from './pools.ts';
import type { RetryRule } from './retry.ts';

/**
 * The long-term memory of each owner, and what callers share. A reply means that the write is durable and that a search sees it.
 *
 * A memory is in one scope, as scopes.ts names them. An absent `scope` is the owner's own. Who may use a scope is decided before a call is made.
 *
 * Every time is in milliseconds since 1970 UTC. Every `json` field is UTF-8 JSON text. The lines `pool` and `retry` are as in threads.proto.
 */
export interface Memory {
  /** A second call with the same memory_id changes nothing and returns the same memory_id. */
  readonly store: (request: StoreRequest, call: Call) => Promise<StoreReply>;
  /** The best results first, by the strategy and the metric of the request. */
  readonly search: (request: SearchRequest, call: Call) => Promise<SearchReply>;
  readonly get: (request: GetRequest, call: Call) => Promise<MemoryItem>;
  /** Replaces the content, embeds it again, and merges the metadata given. */
  readonly update: (request: UpdateRequest, call: Call) => Promise<MemoryItem>;
  /** NotFound when the memory is absent. */
  readonly delete: (request: DeleteRequest, call: Call) => Promise<DeleteReply>;
  /** Newest first. */
  readonly list: (request: ListRequest, call: Call) => Promise<ListReply>;
  /** Removes every memory that matches, and returns which. Invalid when the selection is empty and `all` is not set. */
  readonly forget: (request: ForgetRequest, call: Call) => Promise<ForgetReply>;
}

/** Which calls of {@link Memory} may be made again. */
export const memoryRetries: Readonly<Record<keyof Memory, RetryRule>> = {
  store: { retry: 'safe', takesLong: true },
  search: { retry: 'safe', takesLong: true },
  get: { retry: 'safe', takesLong: false },
  update: { retry: 'attempt', takesLong: true },
  delete: { retry: 'attempt', takesLong: false },
  list: { retry: 'safe', takesLong: false },
  forget: { retry: 'attempt', takesLong: true },
};

/** What a pool of workers may call of {@link Memory}. */
export const memoryPools: Readonly<Record<keyof Memory, PoolRule>> = {
  store: 'run',
  search: 'run',
  get: 'never',
  update: 'run',
  delete: 'run',
  list: 'run',
  forget: 'run',
};

export interface MemoryItem {
  readonly memoryId: string;
  readonly content: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  /** A JSON object. */
  readonly metadataJson: Uint8Array;
  /** From 0 to 1; 1 in a reply without a query. */
  readonly score: number;
  /** A JSON array of numbers. */
  readonly vectorJson: Uint8Array;
  /** The thread with which it was stored; empty when none. */
  readonly threadId: string;
  /** The time of what it describes; without one, when it was stored or last updated. */
  readonly timestamp: number;
  /** From then on it is absent. */
  readonly expiresAt?: number;
  /** Of a search: the scope that it is in. Absent: the owner's own. */
  readonly scope?: string;
}

/** The conditions that a memory must meet; an absent field sets none. */
export interface Selection {
  readonly memoryType?: MemoryType;
  readonly category?: string;
  readonly threadId?: string;
  /**
   * A JSON object: conditions on metadata fields: equality with a value, or {"$gt"|"$gte"|"$lt"|"$lte"|"$ne"|"$in": …}; thread_id,
   * memory_type, category and timestamp may be keys too. At most 1,000 values in all, those of every $in counted.
   */
  readonly filtersJson?: Uint8Array;
}

export interface StoreRequest {
  readonly owner: string;
  /** Made by the caller, so that a repeated request names the same memory. */
  readonly memoryId: string;
  readonly content: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  /** A JSON object. */
  readonly metadataJson: Uint8Array;
  readonly threadId?: string;
  /**
   * With `dedupe`, when the owner stored the same content before with `dedupe`, in the same type, category and thread: the reply names
   * that memory, and nothing is stored.
   */
  readonly dedupe?: boolean;
  /** The time of what it describes. */
  readonly timestamp?: number;
  readonly expiresAt?: number;
  readonly scope?: string;
  /**
   * In 1 to 256 characters: the scope has one memory of this key. Storing another takes its place under the same id. `memory_id` then names
   * the request alone, whose effect is made once.
   */
  readonly key?: string;
}

export interface StoreReply {
  readonly memoryId: string;
  /** With `key` or `dedupe`: whether there was none before. */
  readonly isNew?: boolean;
}

export interface SearchRequest {
  readonly owner: string;
  readonly query: string;
  readonly selection: Selection;
  readonly limit: number;
  readonly scoreThreshold: number;
  readonly retrievalStrategy: RetrievalStrategy;
  readonly distanceMetric: DistanceMetric;
  readonly maxTokens: number;
  /** A JSON object: the options of the strategy, for example its weights or its depth. */
  readonly optionsJson?: Uint8Array;
  /** The scopes that are searched together, at most 8; none: the owner's own. May be absent. */
  readonly scopes?: readonly string[];
}

export interface SearchReply {
  readonly results: readonly MemoryItem[];
  /** Present while the store repairs its index: memories written since this time may be missing from the results. */
  readonly incompleteSince?: number;
  /** Whether results were left out that did not fit the reply. */
  readonly isCut?: boolean;
}

export interface GetRequest {
  readonly owner: string;
  readonly memoryId: string;
  readonly scope?: string;
}

export interface UpdateRequest {
  readonly owner: string;
  readonly memoryId: string;
  readonly content: string;
  /** A JSON object, merged into the stored one. */
  readonly metadataJson?: Uint8Array;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** Absent: it stays. */
  readonly timestamp?: number;
  /** Absent: it stays. */
  readonly expiresAt?: number;
  readonly scope?: string;
}

export interface DeleteRequest {
  readonly owner: string;
  readonly memoryId: string;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  readonly scope?: string;
}

export type DeleteReply = Readonly<Record<string, never>>;

export interface ListRequest {
  readonly owner: string;
  readonly selection: Selection;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
  readonly scope?: string;
}

export interface ListReply {
  readonly memories: readonly MemoryItem[];
  readonly total: number;
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface ForgetRequest {
  readonly owner: string;
  readonly selection: Selection;
  /** Removes every memory of the owner. */
  readonly all: boolean;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  readonly scope?: string;
}

export interface ForgetReply {
  /** As many as fit into a page. */
  readonly memoryIds: readonly string[];
  /** How many were removed in all. */
  readonly deletedCount?: number;
}

/** The messages that have fields of a closed list. */
export const memoryLists: MessageLists = {
  MemoryItem: { memoryType: 'MemoryType' },
  Selection: { memoryType: 'MemoryType' },
  StoreRequest: { memoryType: 'MemoryType' },
  SearchRequest: {
    selection: { of: 'Selection' },
    retrievalStrategy: 'RetrievalStrategy',
    distanceMetric: 'DistanceMetric',
  },
  SearchReply: { results: { of: 'MemoryItem' } },
  ListRequest: { selection: { of: 'Selection' } },
  ListReply: { memories: { of: 'MemoryItem' } },
  ForgetRequest: { selection: { of: 'Selection' } },
};
