import type { KnownRequest } from '@agent-workflow/protos/repeats';
import type { MemoryHead, MemoryRecord, StoredMemory } from './memory.ts';
import type { StoreQuery } from './query.ts';

/** A request that its caller may send again: a store makes its effect once, also at another replica and after a crash. */
export interface IdempotentRequest extends KnownRequest {
  /** When it was sent: milliseconds since 1970 UTC. */
  readonly at: number;
}

/** The outcome of an update, without what its request holds itself: the content, and the vector made from it. */
export type UpdatedMemory = Omit<StoredMemory, 'content' | 'vectorJson'>;

export interface RemovedMemories {
  /** The first of the removed ids, as many as fit into a page. */
  readonly memoryIds: readonly string[];
  readonly count: number;
}

export interface ListQuery extends StoreQuery {
  /** How many to skip, counted after `after`. */
  readonly offset?: number;
  /** Only memories after this position in the order. */
  readonly after?: ListPosition | undefined;
  /** The returned heads have `{}` as their metadata, so that a long list stays small. `accepts` is called with the metadata. */
  readonly without?: 'metadata';
}

/** A position in the order of a list: newest first, then the greater id first. */
export interface ListPosition {
  readonly timestamp: number;
  readonly memoryId: string;
}

export interface ListPage {
  readonly heads: readonly MemoryHead[];
  /** How many memories pass altogether, on all pages. */
  readonly total: number;
}

/**
 * Writes and reads memories by id, and lists them. Every call names the owner, whose ids are a space of their own: the id of another
 * owner's memory is absent. A write that resolved is durable, and every later query sees it.
 * @throws Unavailable when the store cannot be reached.
 */
export interface MemoryRecords {
  /** Adds a memory. `false` when the id exists already; then nothing changes. */
  readonly put: (owner: string, memory: MemoryRecord) => Promise<boolean>;
  /**
   * Replaces one memory by what `change` makes of it, atomically; the id stays. `change` does no I/O and may be called again.
   * `undefined` when the memory is absent. A `request` that was applied before changes nothing and returns its first outcome, also
   * when the memory was changed or removed since. An update that changes nothing leaves no outcome.
   */
  readonly update: (
    owner: string,
    memoryId: string,
    change: (stored: StoredMemory) => MemoryRecord,
    request?: IdempotentRequest,
  ) => Promise<UpdatedMemory | undefined>;
  /**
   * The outcome of the update that this request made; `undefined` when it made none. It may also be `undefined` while the memory is
   * unchanged since that update: then `update` returns the outcome.
   */
  readonly findUpdated: (owner: string, request: IdempotentRequest) => Promise<UpdatedMemory | undefined>;
  /** The memories in the order of `memoryIds`, without absent ones. */
  readonly get: (owner: string, memoryIds: readonly string[]) => Promise<StoredMemory[]>;
  /**
   * Removes memories and returns those that existed, in the order of `memoryIds`. A `request` that was applied before removes only
   * what it had to remove then, ignores `memoryIds`, and returns the same outcome again, also when nothing was removed.
   */
  readonly remove: (
    owner: string,
    memoryIds: readonly string[],
    request?: IdempotentRequest,
  ) => Promise<RemovedMemories>;
  /**
   * Newest first, then the greater id first. A memory that passes before the list and after it is in it, also when it is updated meanwhile.
   * @throws Unavailable when changes never let it be sure of that.
   */
  readonly list: (query: ListQuery) => Promise<ListPage>;
  /**
   * Removes memories that have expired by `at`, of any owners, some at a time, until none is left. Several processes may do it at once. One that cannot be
   * removed is passed to `onFailure`, and the others are removed.
   */
  readonly removeExpired: (at: number, onFailure: (error: unknown) => void) => Promise<void>;
}
