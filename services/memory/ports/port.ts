import type { Call } from '@agent-workflow/protos/call';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type { KnownRequest } from '@agent-workflow/protos/repeats';

/** What is known of a memory without its content and its vector. */
export interface MemoryHead {
  readonly memoryId: string;
  readonly memoryType: MemoryType;
  readonly category: string;
  /** Empty when it belongs to no thread. */
  readonly threadId: string;
  /** When it was stored or last updated: milliseconds since 1970 UTC. */
  readonly timestamp: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A memory as a store gives it back: the JSON texts are the bytes that were put, never made anew. */
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

/** What a store narrows by on its own; what is absent narrows nothing. */
export interface Narrowing {
  readonly memoryType?: MemoryType | undefined;
  readonly category?: string | undefined;
  readonly threadId?: string | undefined;
  /** Only these memories. */
  readonly memoryIds?: ReadonlySet<string> | undefined;
  /** A hint: `accepts` says the same, so that a store without an index of metadata may pass it over. */
  readonly metadata?: readonly MetadataMatch[] | undefined;
}

/** A field of the metadata, at its top, that has one of these values. */
export interface MetadataMatch {
  readonly field: string;
  readonly anyOf: readonly Scalar[];
}

export type Scalar = string | number | boolean;

/** A query within one owner's memories. */
export interface StoreQuery {
  readonly owner: string;
  readonly narrowing: Narrowing;
  /** The last word on what counts. A store asks it before it counts towards `limit`, and goes on until enough have passed. */
  readonly accepts?: ((head: MemoryHead) => boolean) | undefined;
  /** At most this many, which may be `Infinity`. */
  readonly limit: number;
}

export interface ListQuery extends StoreQuery {
  /** How many to pass over, counted after `after`. */
  readonly offset?: number;
  /** Only what comes after this place in the order. */
  readonly after?: ListMark | undefined;
  /**
   * Nobody reads the metadata of the heads that are given, which is `{}` then: a list of many stays small. `accepts` sees it all
   * the same.
   */
  readonly without?: 'metadata';
}

/** A place in the order of a list: newest first, then the greater id first. */
export interface ListMark {
  readonly timestamp: number;
  readonly memoryId: string;
}

export interface ListPage {
  readonly heads: readonly MemoryHead[];
  /** How many pass altogether, whatever the page. */
  readonly total: number;
}

/** How near two vectors are; greater is nearer: the dot product, or minus the distance. */
export type Measure = 'dot' | 'euclidean' | 'manhattan';

export interface VectorQuery extends StoreQuery {
  readonly vector: Float32Array;
  readonly measure: Measure;
  /** Which come first when more pass than `limit`, and the order they are given in; equals go newest first. */
  readonly order: 'nearest' | 'newest';
  /** Only what is at least this near. */
  readonly atLeast?: number | undefined;
}

export interface VectorHit {
  readonly head: MemoryHead;
  readonly closeness: number;
}

export interface KeywordQuery extends StoreQuery {
  /** Words as a person wrote them: nothing in it is syntax. A memory with any of them is found. */
  readonly text: string;
}

export interface KeywordHit {
  readonly head: MemoryHead;
  /** BM25, above 0: greater is better. It compares hits of one query only. */
  readonly weight: number;
}

/** A request whose effect a store makes once, however often it is sent, also at another replica and after a crash. */
export interface SentRequest extends KnownRequest {
  /** When it was sent: milliseconds since 1970 UTC. */
  readonly at: number;
}

/** What an update leaves, without what its request says itself: the content, and the vector that follows from it. */
export type UpdatedMemory = Omit<StoredMemory, 'content' | 'vectorJson'>;

export interface RemovedMemories {
  /** The first of them, as many as fit into a page. */
  readonly memoryIds: readonly string[];
  readonly count: number;
}

/**
 * Where memories are kept. Every call names the owner, whose memories are a space of their own: another owner's id is
 * an absent id. A write that resolved is durable, and every later query sees it. Nothing is decided here: a store keeps,
 * finds what is nearest, and finds words.
 * @throws Unavailable when the store is away.
 */
export interface MemoryStore extends AsyncDisposable {
  /** Adds a memory. `false` when the id is there already: then nothing changes. */
  readonly put: (owner: string, memory: MemoryRecord) => Promise<boolean>;
  /**
   * Replaces one memory by what `change` makes of it, atomically; the id stays. `change` does no I/O and may be called
   * again. `undefined` when it is absent. A `request` that was applied changes nothing and gives what it left then, also when the
   * memory was changed or removed since. What changed nothing is not kept.
   */
  readonly update: (
    owner: string,
    memoryId: string,
    change: (standing: StoredMemory) => MemoryRecord,
    request?: SentRequest,
  ) => Promise<UpdatedMemory | undefined>;
  /** What an update of this request left; `undefined` when none was applied. It may miss one whose memory still stands as it was left. */
  readonly findUpdated: (owner: string, request: SentRequest) => Promise<UpdatedMemory | undefined>;
  /** The memories in the order of `memoryIds`; absent ones are left out. */
  readonly get: (owner: string, memoryIds: readonly string[]) => Promise<StoredMemory[]>;
  /**
   * Removes them and says which were there, in the order of `memoryIds`. A `request` that was applied removes nothing but what it
   * was to remove then, whatever `memoryIds` are now, and gives the same again, also when that was nothing.
   */
  readonly remove: (owner: string, memoryIds: readonly string[], request?: SentRequest) => Promise<RemovedMemories>;
  /** Newest first, then the greater id first. What is written while many are read may be missing. */
  readonly list: (query: ListQuery) => Promise<ListPage>;
  /** The nearest, or the newest, with how near each is. */
  readonly findByVector: (query: VectorQuery) => Promise<VectorHit[]>;
  /**
   * The best first; equals newest first. Of more than 100, a store may choose among those that weigh the same as the last one.
   * Without a word in `text`: none.
   */
  readonly findByWords: (query: KeywordQuery) => Promise<KeywordHit[]>;
  /**
   * While the store repairs its index: searches may miss what was written since this time (milliseconds since 1970 UTC). Ids and
   * lists are whole. `undefined` when searches miss nothing.
   */
  readonly incompleteSince: () => number | undefined;
  /** Every memory of every owner, in no order. What is written meanwhile may be among them or not. */
  readonly scan: () => AsyncIterable<OwnedMemory>;
  /** Puts many at once, of any owners; ids that are there stay as they are. Gives how many were new. */
  readonly load: (memories: readonly OwnedMemory[]) => Promise<number>;
}

/** A memory and whose it is. */
export interface OwnedMemory {
  readonly owner: string;
  readonly memory: MemoryRecord;
}

/** What a store remembers of the embedder that wrote it, so that it is never read with another. */
export interface EmbedderIdentity {
  readonly model: string;
  /** How many numbers a vector has. */
  readonly dimension: number;
}

/** Turns texts into vectors. The same text gives the same vector as long as `model` is the same. */
export interface Embedder extends EmbedderIdentity {
  /**
   * One vector a text, in order, each of `dimension` finite numbers, of any length.
   * @throws Unavailable when the model is away, Invalid when it gives no such vector for a text, Timeout and Cancelled as `call`
   * says.
   */
  readonly embed: (texts: readonly string[], call: Call) => Promise<Float32Array[]>;
}
