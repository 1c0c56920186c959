import type { Answerer } from '@agent-workflow/protos/answerer';
import type { Block, Message } from '@agent-workflow/protos/message';
import type { DistanceMetric, MemoryStrategy, MemoryType } from './memory-lists.ts';
import type { UsageReport } from '../state/usage.ts';

/** How a node or a tool asks. */
export interface InterruptOptions {
  /** What the question is about, in 1 to 256 characters. Another wording with the same key in the same place is the same question. */
  readonly key?: string | undefined;
  /**
   * How long the question may be answered, in milliseconds from when it is asked first, or until when; at most ten years. Then the run
   * goes on by itself with `default`; without one `interrupt` throws a `DeadlinePassed`.
   */
  readonly deadline?: number | Date | undefined;
  /** The answer where nobody has answered until the deadline: JSON, which is shown with the question. */
  readonly default?: unknown;
  /** Names of 1 to 16 roles of the service: their callers answer the question. Absent: the owner of the thread does. */
  readonly to?: readonly string[] | undefined;
  /** Whether the owner of the thread may not answer, whichever roles he has. Only with `to`. */
  readonly notOwner?: boolean | undefined;
  /**
   * How many callers, from 1 to 20, must give the same answer; one unless given. Where one of them gives another, `interrupt` throws an
   * `AnswersDiffer`. Only with `to`.
   */
  readonly quorum?: number | undefined;
}

/** What a model must know to call a tool. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface MemoryFound {
  readonly id: string;
  readonly content: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly memoryType: string;
  readonly category: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The time of what it describes; without one, when it was stored or updated last. */
  readonly timestamp?: string;
  readonly expiresAt?: string;
  /** Of a search: where it is, `agent:NAME` or `shared:NAME`; absent: with the owner's own memories. */
  readonly scope?: string;
}

/**
 * Whose memories are meant: `own`, those of the owner of the run, unless something else is given; `agent:NAME`, what the runs of an agent share;
 * `shared:NAME`, what the operator has declared.
 */
interface MemoryScope {
  readonly scope?: string | undefined;
}

/** A time as ISO 8601, as a date, or as a number: seconds since 1970 below 100,000,000,000, milliseconds from there on. */
type GivenTime = string | number | Date;

interface MemoryTimes {
  /** The time of what it describes. */
  readonly timestamp?: GivenTime | undefined;
  /** From then on nothing finds it. */
  readonly expiresAt?: GivenTime | undefined;
}

export interface NewMemory extends MemoryTimes, MemoryScope {
  readonly content: string;
  readonly memoryType?: MemoryType | undefined;
  readonly category?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** In 1 to 256 characters: the scope has one memory of this key. Storing another takes its place, under the same id. */
  readonly key?: string | undefined;
  /** When the same content was stored so before, of the same type and category in the scope, its id is given and nothing is stored. */
  readonly dedupe?: boolean | undefined;
}

/** Which memories are meant: those that meet every condition. */
export interface MemoryConditions {
  readonly category?: string | undefined;
  readonly memoryType?: MemoryType | undefined;
  /** Only memories that were stored with this thread. */
  readonly threadId?: string | undefined;
  /** Values of `metadata`, or `{ $gt | $gte | $lt | $lte | $ne | $in: … }`; `timestamp` may be a key too. */
  readonly filters?: Readonly<Record<string, unknown>> | undefined;
}

export interface MemoryQuery extends MemoryConditions {
  /** Where is searched, in up to 8 scopes together: `['own']` unless others are given. */
  readonly scopes?: readonly string[] | undefined;
  readonly limit?: number | undefined;
  readonly strategy?: MemoryStrategy | undefined;
  readonly scoreThreshold?: number | undefined;
  readonly distanceMetric?: DistanceMetric | undefined;
  /** The most tokens of all contents together. */
  readonly maxTokens?: number | undefined;
  /** What the strategy reads, as `{ alpha: 0.5 }`. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
}

export interface MemoryChange extends MemoryTimes {
  readonly content: string;
  /** Merged into what is there. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A page of memories, those that were stored or updated last first. */
export interface MemoryPage {
  readonly memories: readonly MemoryFound[];
  /** How many there are on all pages. */
  readonly total: number;
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** What became of one of several memories: its id, or why it was refused. */
export type MemoryOutcome = { readonly id: string } | { readonly error: Error };

/**
 * The memories of the owner of the run, and of what else the run may use: what its agent shares, and what the operator has declared for its owner or its
 * agent. A scope that it may not read is `NotFound`, one that it may not write `PermissionDenied`.
 */
export interface BoundMemory {
  /**
   * Stores one memory and returns its id. A node or a tool call that begins again stores it once: its n-th call with the same content,
   * type and category is the same one. Without that, each call stores a new one.
   */
  readonly store: (memory: NewMemory) => Promise<string>;
  /** Stores many, each for itself, and says of each in turn what became of it. */
  readonly storeAll: (memories: readonly NewMemory[]) => Promise<readonly MemoryOutcome[]>;
  /** Best first. */
  readonly search: (query: string, options?: MemoryQuery) => Promise<readonly MemoryFound[]>;
  /** @throws ServiceError `NotFound` when it is absent. */
  readonly update: (id: string, change: MemoryChange, options?: MemoryScope) => Promise<MemoryFound>;
  readonly list: (
    options?: MemoryConditions &
      MemoryScope & { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ) => Promise<MemoryPage>;
  /** @throws ServiceError `NotFound` when it is absent. */
  readonly delete: (id: string, options?: MemoryScope) => Promise<void>;
  /**
   * Removes all that meet every condition, for good, and says how many.
   * @throws ServiceError `Invalid` without a condition, unless `all` is true.
   */
  readonly forget: (
    conditions: MemoryConditions & MemoryScope & { readonly all?: boolean | undefined },
  ) => Promise<number>;
}

/** The options that each call of {@link BoundMemory} knows. */
export const memoryNames = {
  store: {
    content: true,
    memoryType: true,
    category: true,
    metadata: true,
    key: true,
    dedupe: true,
    scope: true,
    timestamp: true,
    expiresAt: true,
  },
  search: {
    ...{ limit: true, strategy: true, scoreThreshold: true, category: true, memoryType: true, threadId: true },
    ...{ filters: true, distanceMetric: true, maxTokens: true, options: true, scopes: true },
  },
  update: { content: true, metadata: true, timestamp: true, expiresAt: true },
  list: { category: true, memoryType: true, threadId: true, filters: true, limit: true, cursor: true, scope: true },
  delete: { scope: true },
  forget: { category: true, memoryType: true, threadId: true, filters: true, all: true, scope: true },
} satisfies {
  readonly store: Readonly<Record<keyof NewMemory, true>>;
  readonly search: Readonly<Record<keyof MemoryQuery, true>>;
  readonly update: Readonly<Record<keyof MemoryChange, true>>;
  readonly list: Readonly<Record<keyof MemoryConditions | 'limit' | 'cursor' | 'scope', true>>;
  readonly delete: Readonly<Record<'scope', true>>;
  readonly forget: Readonly<Record<keyof MemoryConditions | 'all' | 'scope', true>>;
};

/** What is known of a file. */
export interface FileInfo {
  /** Put it into a block of a message, as `{ type: 'image', file_id: fileId }`, so that the file lives as long as the thread. */
  readonly fileId: string;
  readonly filename: string;
  /** What the first bytes show, else what was declared. */
  readonly contentType: string;
  /** In bytes. */
  readonly size: number;
  /** Of the bytes, as hexadecimal digits. */
  readonly sha256: string;
}

/** A file that can be read, as often as it is needed. A read fails when the bytes are not those of `info`, a stream at its end. */
export interface ReadableFile {
  readonly info: FileInfo;
  /** The bytes as they come. Leave the loop early to stop reading. */
  readonly stream: () => AsyncIterable<Uint8Array>;
  /** All bytes. @throws RangeError for a file of more than `maxBytes`, 16 MiB unless given. */
  readonly bytes: (options?: { readonly maxBytes?: number }) => Promise<Uint8Array>;
}

/** A text is stored as UTF-8. */
export type FileData = string | Uint8Array | AsyncIterable<Uint8Array>;

/** The files of the owner of the run: what callers uploaded, and what agents wrote. */
export interface BoundFiles {
  /** @throws ServiceError `NotFound` when the owner has no such file. */
  readonly read: (fileId: string) => Promise<ReadableFile>;
  /**
   * Stores a file of the owner. Each call stores a new one, also when a node runs again. A file that no message names is removed after a
   * day, unless the service is set up otherwise.
   * @throws ServiceError `TooLarge` above the bounds of a file or of its owner, `Invalid` when the bytes are not of the content type.
   */
  readonly write: (file: {
    readonly filename: string;
    readonly contentType?: string;
    readonly data: FileData;
  }) => Promise<FileInfo>;
}

/** What nodes and tools get beside the state. */
export interface RunContext {
  readonly runId: string;
  readonly threadId: string;
  /**
   * Fires when the run is stopped, when this attempt has failed or has reached its timeout, and when another node of the same step
   * has failed. Give it to every call that may take long.
   */
  readonly signal: AbortSignal;
  /** The request's `config`, over that of the assistant whose run it is. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The request's `context`, over that of the assistant. `{}` without any. */
  readonly context: Readonly<Record<string, unknown>>;
  /** The user context: the claims of the caller's token, or what the authentication backend returned. Empty without authentication. */
  readonly user: Readonly<Record<string, unknown>>;
  readonly memory: BoundMemory;
  readonly files: BoundFiles;
  /** Every tool that a model may call in this run: the graph's own tools and the caller's remote tools. */
  readonly tools: readonly ToolDeclaration[];
}

export interface NodeContext extends RunContext {
  readonly node: string;
  readonly step: number;
  /** In a branch of a fan-out, the input that the route gave to `send`; frozen. Absent elsewhere. */
  readonly input?: unknown;
  /** The same for every attempt at this node in this step. Send it to services that accept an idempotency key. */
  readonly idempotencyKey: string;
  /**
   * Streams a chunk of text or a block. It is published at once; all chunks of the node together become one assistant message. Chunks
   * `{ type: 'reasoning', text }` behind each other become one block. A chunk of text or reasoning with `provider_data` ends its block.
   */
  readonly emit: (chunk: string | Block) => void;
  /**
   * The id of the message that `emit` makes, a new one in every attempt. A returned message with this id takes the place of the emitted one,
   * for a node that knows the whole message, or its metadata, only at the end.
   */
  readonly messageId: string;
  /**
   * Opens a further message, of the assistant unless a role is given: what its `emit` streams makes that message. For a node that makes
   * several, as a loop of a model and its tools. The messages of a node are added in the order of their first chunks; a returned message with the
   * id of one takes its place.
   */
  readonly openMessage: (role?: Message['role']) => OpenMessage;
  /**
   * Publishes data, which must be JSON of at most 64 KiB, to those who follow the run: an event `on_chain_stream` with it as `custom`. It
   * is stored in the event log of the run and not in the thread; a node that runs again publishes it again.
   */
  readonly progress: (data: unknown) => void;
  /**
   * Reports the tokens that one answer of a model took and why it ended. They count for the run, also when this attempt fails later: the sum
   * by model stands in the record of the run, in its result, in metrics and in traces. The reason also stands in `metadata.finish_reason` of
   * the message that emitted last, the first one after a chunk. A model node reports what its model counts.
   * @throws TypeError or RangeError that names what is wrong; nothing is counted then.
   */
  readonly usage: (usage: UsageReport) => void;
  /** As the function `interrupt`; works also in callbacks that have lost their async context. */
  readonly interrupt: (value: unknown, options?: InterruptOptions) => unknown;
  /**
   * Who gave the answer that `interrupt` has returned last, or the answers that differ; of several, in the order of their answers. Empty before the
   * first, and for a default.
   */
  readonly answeredBy: () => readonly Answerer[];
  /**
   * Waits so many milliseconds, from 0 to ten years. The run is stored as `sleeping` and holds no place of a worker meanwhile; then the
   * node begins again, and this same call resolves. Sleeps are matched by their order, as questions are. Await it.
   */
  readonly sleep: (ms: number) => Promise<void>;
  /** As `sleep`, until a time. */
  readonly waitUntil: (date: Date) => Promise<void>;
}

/** A message that a node makes of what it emits. One without a chunk is none. */
interface OpenMessage {
  readonly messageId: string;
  readonly emit: NodeContext['emit'];
}

/** The context of a node that is reached by `send` alone. `Input` is the type of what routes send to it, as its author knows it: it is not checked. */
export type BranchContext<Input> = NodeContext & { readonly input: Input };

export interface ToolContext extends RunContext {
  readonly callId: string;
  /** The same for every attempt at this call. Send it to services that accept an idempotency key. */
  readonly idempotencyKey: string;
  /**
   * Publishes data, which must be JSON of at most 64 KiB, to those who follow the run: an event `on_chain_stream` with it as `custom`. It
   * is stored in the event log of the run and not in the thread; a node that runs again publishes it again.
   */
  readonly progress: (data: unknown) => void;
  /**
   * Reports the tokens that a model took. They count for the run, also when this attempt fails later: the sum by model stands in the
   * record of the run, in its result, in metrics and in traces. A model node reports what its model counts.
   * @throws TypeError or RangeError that names what is wrong; nothing is counted then.
   */
  readonly usage: (usage: UsageReport) => void;
  /** As the function `interrupt`; works also in callbacks that have lost their async context. */
  readonly interrupt: (value: unknown, options?: InterruptOptions) => unknown;
  /**
   * Who gave the answer that `interrupt` has returned last, or the answers that differ; of several, in the order of their answers. Empty before the
   * first, and for a default.
   */
  readonly answeredBy: () => readonly Answerer[];
  /**
   * Waits so many milliseconds, from 0 to ten years. The run is stored as `sleeping` and holds no place of a worker meanwhile; then the
   * tool begins again, and this same call resolves. Sleeps are matched by their order, as questions are. Await it.
   */
  readonly sleep: (ms: number) => Promise<void>;
  /** As `sleep`, until a time. */
  readonly waitUntil: (date: Date) => Promise<void>;
}
