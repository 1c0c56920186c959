// Written by `npm run proto` from memory.proto: change that.
import type { Call } from './call.ts';
import type { DistanceMetric, MemoryType, MessageLists, RetrievalStrategy } from './lists.ts';
import type { RetryRule } from './retry.ts';

/**
 * The long-term memory of each owner. A reply means that the write is durable and that a search sees it.
 *
 * Every time is in milliseconds since 1970 UTC. Every `json` field is UTF-8 JSON text. The lines `retry` are as in threads.proto.
 */
export interface Memory {
  /**
   * The same memory_id again changes nothing and gives the same reply.
   * `memory_id` settles it.
   */
  readonly store: (request: StoreRequest, call: Call) => Promise<StoreReply>;
  /** Best first, by the strategy and metric asked for. */
  readonly search: (request: SearchRequest, call: Call) => Promise<SearchReply>;
  readonly get: (request: GetRequest, call: Call) => Promise<MemoryItem>;
  /** Replaces the content, embeds it again, and merges the metadata given. */
  readonly update: (request: UpdateRequest, call: Call) => Promise<MemoryItem>;
  /** NotFound when it is absent. */
  readonly delete: (request: DeleteRequest, call: Call) => Promise<DeleteReply>;
  /** Newest first. */
  readonly list: (request: ListRequest, call: Call) => Promise<ListReply>;
  /** Removes all that match, and says which. Invalid when nothing narrows it and `all` is not set. */
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

export interface MemoryItem {
  readonly memoryId: string;
  readonly content: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  /** A JSON object. */
  readonly metadataJson: Uint8Array;
  /** From 0 to 1; 1 where there was no query. */
  readonly score: number;
  /** A JSON array of numbers. */
  readonly vectorJson: Uint8Array;
  /** The thread it was stored for; empty when none. */
  readonly threadId: string;
  /** When it was stored or last updated. */
  readonly timestamp: number;
}

/** What a memory must match; what is absent matches all. */
export interface Selection {
  readonly memoryType?: MemoryType;
  readonly category?: string;
  readonly threadId?: string;
  /**
   * A JSON object: metadata fields by equality, or by {"$gt"|"$gte"|"$lt"|"$lte"|"$ne"|"$in": …}; thread_id, memory_type and
   * category may stand in it too.
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
  /** When the owner stored the same with `dedupe` before, in the same type, category and thread, that memory is named instead. */
  readonly dedupe?: boolean;
}

export interface StoreReply {
  readonly memoryId: string;
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
  /** A JSON object: weights and depth of the strategies that have them. */
  readonly optionsJson?: Uint8Array;
}

export interface SearchReply {
  readonly results: readonly MemoryItem[];
  /** Present while the store repairs its index: memories written since this time may be missing from the results. */
  readonly incompleteSince?: number;
}

export interface GetRequest {
  readonly owner: string;
  readonly memoryId: string;
}

export interface UpdateRequest {
  readonly owner: string;
  readonly memoryId: string;
  readonly content: string;
  /** A JSON object, merged into the one that stands. */
  readonly metadataJson?: Uint8Array;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface DeleteRequest {
  readonly owner: string;
  readonly memoryId: string;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export type DeleteReply = Readonly<Record<string, never>>;

export interface ListRequest {
  readonly owner: string;
  readonly selection: Selection;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
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
  /** Everything of the owner. */
  readonly all: boolean;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface ForgetReply {
  /** As many as a page holds. */
  readonly memoryIds: readonly string[];
  /** How many were removed altogether. */
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
