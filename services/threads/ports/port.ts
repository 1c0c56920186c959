import type { CheckpointSource, Granularity, OpenStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { OpenCall, RunEnd } from '@agent-workflow/protos/threads';

/** Names one thread: the owner is part of the key, so another owner's thread is another thread. */
export interface ThreadKey {
  readonly owner: string;
  readonly threadId: string;
}

/** What is true of a thread apart from its fields, messages and runs: everything that decides who may write. */
export interface Head {
  readonly name?: string;
  /** A JSON object. */
  readonly metadata?: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * Grows with every change of fields, context or log. It starts from the clock, so that a thread deleted and made again
   * never shows a version that its predecessor had.
   */
  readonly version: number;
  /** The fence: raised by every claim and every stop. */
  readonly epoch: number;
  /** The step that the active run commits next. */
  readonly step: number;
  /** The run that holds the thread. */
  readonly activeRun?: string;
  readonly activeStatus?: OpenStatus;
  /** Whose worker drives the active run; absent while it is queued. */
  readonly worker?: string;
  /** The version that the active run's first claim found: what a rollback goes back to. Absent before that claim. */
  readonly foundVersion?: number;
  /** The run accepted last. */
  readonly newestRun?: string;
  /** Runs that wait for the thread, in order of acceptance. */
  readonly queue: readonly string[];
  /** Where the next message goes in the log. */
  readonly nextPosition: number;
  /** Tool calls of the log that nobody has answered. */
  readonly openCalls: readonly OpenCall[];
  /** The nodes that come next: of the run that holds the thread, or of one that is interrupted. */
  readonly next: readonly string[];
  /** Ids of the questions that an interrupted run asked. */
  readonly openInterrupts: readonly string[];
  /** Claims of the active run since its last commit. */
  readonly claims: number;
  /** What the worker kept with its last commit: of the active run, or of one that is interrupted. */
  readonly progress?: Uint8Array;
  readonly interruptedRun?: string;
  /** Absent where an earlier version of the service wrote the thread last: then it is measured once. */
  readonly size?: ThreadSize;
  /** Absent to every reader: on its way out, or a fork that is not whole yet. Whatever is left of it is to be purged. */
  readonly deleting: boolean;
}

/** How large a thread's state is, in bytes. */
export interface ThreadSize {
  /** Names and values of all fields. */
  readonly fields: number;
  /** The messages of the context, each with one byte for what separates it from the next. */
  readonly context: number;
}

/** The size of one version. */
export interface MeasuredSize extends ThreadSize {
  readonly version: number;
}

/** A message as it is stored: its place in the log is its order. */
export interface LogEntry {
  readonly position: number;
  readonly messageId: string;
  readonly json: Uint8Array;
}

/** A run on record. */
export interface RunRecord {
  readonly runId: string;
  readonly threadId: string;
  readonly requestId: string;
  readonly status: RunStatus;
  readonly granularity: Granularity;
  readonly isNewThread: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly resumes?: string;
  readonly end?: RunEnd;
  /** A JSON object that only the worker reads. */
  readonly options: Uint8Array;
  /** A JSON array of the messages that wait for the claim; absent once they stand in the log. */
  readonly input?: Uint8Array;
  /** The calls that the input answers. */
  readonly answers: readonly string[];
  /** Whether the input says something new beside answers. */
  readonly hasNewInput: boolean;
  /** Keys of the answers to open questions; empty for one bare answer. Absent when it answers none. */
  readonly resume?: readonly string[];
  /** Where in the log what the run adds begins: behind its input. Absent before the claim. */
  readonly outputFrom?: number;
  /** Where it ends. Absent before the end. */
  readonly outputTo?: number;
}

/** An entry of the log, and whether it is part of the context. */
export interface PlacedEntry extends LogEntry {
  readonly inContext: boolean;
}

/** What the record says of how a version came to be. */
export interface CheckpointInfo {
  readonly source: CheckpointSource;
  readonly runId?: string;
  readonly step?: number;
  readonly nodes: readonly string[];
  /** The nodes that come next. */
  readonly next: readonly string[];
  readonly at: number;
  /** A JSON object. */
  readonly metadata?: Uint8Array;
}

export interface Checkpoint extends CheckpointInfo {
  /** What the change overwrote: with it the version before can be had again. Only the service looks inside. */
  readonly undo: Uint8Array;
}

export interface CheckpointRow extends CheckpointInfo {
  readonly version: number;
}

/** What one version overwrote. */
export interface UndoRow {
  readonly version: number;
  readonly undo: Uint8Array;
}

/** Is given undos one by one, the newest first: together they may weigh more than fits in memory. */
export interface UndoSink {
  readonly add: (row: UndoRow) => void;
}

/** A tool call that may be made only once. */
export interface ToolCallKey {
  readonly runId: string;
  /** Made by the engine, the same for every attempt at the call. */
  readonly callKey: string;
}

/** How far a tool call came that may be made only once. */
export interface ToolCallNote extends ToolCallKey {
  /** JSON; absent while the call has no result. */
  readonly result?: Uint8Array;
}

/** A request about a thread that a change has applied: it is known by its id when it comes again. */
export interface AppliedRequest {
  readonly id: string;
  /** What its caller is told: JSON. */
  readonly reply: Uint8Array;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** How long it is known, in milliseconds. */
  readonly keptMs: number;
}

/** What a decision is made from: one moment of one thread. */
export interface Snapshot {
  /** Absent when the thread does not exist. */
  readonly head: Head | undefined;
  /** The runs asked for that stand in this thread. */
  readonly runs: ReadonlyMap<string, RunRecord>;
  /** The messages asked for that stand in the log, by id. */
  readonly entries: ReadonlyMap<string, PlacedEntry>;
  /** The fields asked for that are set. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** Positions of the context, ascending; empty unless asked for. */
  readonly context: readonly number[];
  /** The tool call asked for, when it is on record. */
  readonly toolCall?: ToolCallNote;
  /** What the caller of the request asked for was told, as JSON, when an earlier change has applied that request. */
  readonly applied?: Uint8Array;
}

/** What one decision writes, all of it or nothing. */
export interface Change {
  readonly head: Head;
  readonly runs?: readonly RunRecord[];
  /** Field name to JSON value; `undefined` clears the field. */
  readonly fields?: Readonly<Record<string, Uint8Array | undefined>>;
  /** Put at their positions, in log and context: all of them before `deletedFrom`. */
  readonly messages?: readonly LogEntry[];
  /** Positions of the log that enter the context again; one that `removedFromContext` names too is out of it. */
  readonly addedToContext?: readonly number[];
  /** Positions that leave the context and stay in the log; of those that `messages` puts there, too. */
  readonly removedFromContext?: readonly number[];
  /** Positions that leave the log. */
  readonly deleted?: readonly number[];
  /** This position and all behind it leave the log. */
  readonly deletedFrom?: number;
  /** Clears every field and empties the context, before anything else of this change. */
  readonly clearState?: boolean;
  /** Stands on the new version. */
  readonly checkpoint?: Checkpoint;
  /** Checkpoints of this version and of those before it are dropped. */
  readonly dropCheckpointsTo?: number;
  /** Checkpoints above this version and below the new one are dropped: what they led to is undone. */
  readonly dropCheckpointsAfter?: number;
  /** Put on record; notes of a run may be forgotten once the run has ended. */
  readonly toolCall?: ToolCallNote;
  /** The request that this change applies. */
  readonly applies?: AppliedRequest;
}

export interface Decision<T> {
  readonly change?: Change;
  readonly reply: T;
}

/** What a decision needs to see beside the head. */
export interface Reads {
  readonly runs?: readonly string[];
  /** A run that the change is likely to make: what a store has to know for that can be read meanwhile. */
  readonly newRun?: {
    readonly runId: string;
    /** Whether its id was made for this change: it is nowhere on record. */
    readonly isNew: boolean;
  };
  /** The thread's id was made for this change: it is hardly on record, unless this is tried a second time. */
  readonly isNewThread?: boolean;
  /** The run that holds the thread, whichever it is. */
  readonly activeRun?: boolean;
  /** Ids of messages. */
  readonly messages?: readonly string[];
  /** Names of fields, or all of them. */
  readonly fields?: readonly string[] | 'all';
  readonly context?: boolean;
  /** Takes in the undo of every version above the one that the active run found; begun anew for every look at the thread. */
  readonly undosOfActiveRun?: () => UndoSink;
  readonly toolCall?: ToolCallKey;
  /** The id of a request about this thread that an earlier change may have applied. */
  readonly request?: string;
}

/** Fields and context of one moment. */
export interface StoredState {
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** In order of the log. */
  readonly context: readonly Uint8Array[];
  /** Whether older messages of the context are left out. */
  readonly isTruncated: boolean;
}

/** The newest messages of a context below some position. */
export interface ContextPage {
  /** In order of the log. */
  readonly entries: readonly LogEntry[];
  /** What of the context stands below this position is not in `entries`; 0 when nothing does. */
  readonly bottom: number;
}

/** A thread as lists show it: nothing of what decides who may write. */
export interface ThreadRow extends Pick<
  Head,
  'name' | 'metadata' | 'createdAt' | 'updatedAt' | 'newestRun' | 'version'
> {
  readonly threadId: string;
}

/** A page of threads begins after this one, in order of recency. */
export interface RecencyMark {
  readonly updatedAt: number;
  readonly threadId: string;
}

/** A run as lists show it: nothing of what it was given. */
export type RunRow = Pick<
  RunRecord,
  | 'runId'
  | 'threadId'
  | 'requestId'
  | 'status'
  | 'granularity'
  | 'isNewThread'
  | 'createdAt'
  | 'updatedAt'
  | 'resumes'
  | 'end'
>;

/** A run that has not ended. */
export interface OpenRun extends RunRow {
  readonly owner: string;
}

/** A page of runs begins after this one, in order of their making. */
export interface RunMark {
  readonly createdAt: number;
  readonly runId: string;
}

/** A request that is to be done once, as far as it came. */
export interface OnceRecord {
  readonly bodyHash: string;
  readonly reply?: Uint8Array;
  /** When the first request with its key began: milliseconds since 1970. */
  readonly at: number;
}

/** A request that begins under its key. */
export interface OnceBeginning {
  readonly bodyHash: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The caller's id of this call: made again, it finds itself and is told what it was told before. A UUID. */
  readonly attempt?: string;
  /** Its reply, when that is known from the beginning. */
  readonly reply?: Uint8Array;
}

/** How much of a list is read at once. */
export interface PageLimits {
  readonly limit: number;
  /**
   * Ends the list behind the first row with which its rows take more bytes than this, but not before its second row: whoever
   * reads a page of so many bytes finds one row more than fits when there is more. Sizes are those of `row-sizes.ts`. Absent:
   * `limit` alone ends it.
   */
  readonly bytes?: number | undefined;
}

/**
 * The record of threads. Every promise that resolves speaks of something durable. Reads see every write that has
 * resolved. Rows of a thread are reached by its whole key only.
 */
export interface ThreadStore extends AsyncDisposable {
  /**
   * Reads what `reads` names, lets `decide` choose, and writes its change: atomically, against every other change of
   * that thread. `decide` is pure and may be called again when another write came first; what it throws is thrown
   * here, with nothing written.
   */
  readonly change: <T>(key: ThreadKey, reads: Reads, decide: (snapshot: Snapshot) => Decision<T>) => Promise<T>;
  readonly getHead: (key: ThreadKey) => Promise<Head | undefined>;
  /**
   * Fields and context as of the head's version at the moment of the call. Of a context that is larger than `maxBytes` the
   * newest messages that fit; without `maxBytes` all of it.
   */
  readonly getState: (key: ThreadKey, maxBytes?: number) => Promise<StoredState>;
  /** The size of the state as of one version, read piece by piece; `undefined` when the thread is absent. */
  readonly measure: (key: ThreadKey) => Promise<MeasuredSize | undefined>;
  /** The fields alone. */
  readonly getFields: (key: ThreadKey) => Promise<StoredState['fields']>;
  readonly getRun: (owner: string, runId: string) => Promise<RunRecord | undefined>;
  /** The runs of a thread, the newest first, ties by run id, descending; from the first behind `after`. */
  readonly listRuns: (
    key: ThreadKey,
    page: PageLimits & { readonly offset?: number; readonly after?: RunMark | undefined },
  ) => Promise<readonly RunRow[]>;
  /** An owner's threads that are not being deleted, most recently updated first; ties by thread id, descending. */
  readonly listThreads: (
    owner: string,
    page: PageLimits & { readonly offset?: number; readonly after?: RecencyMark | undefined },
  ) => Promise<readonly ThreadRow[]>;
  /** The log in order, from the first position above `after`, and up to those at `below`. */
  readonly listMessages: (
    key: ThreadKey,
    page: PageLimits & {
      readonly offset?: number;
      readonly after?: number | undefined;
      readonly below?: number | undefined;
    },
  ) => Promise<readonly LogEntry[]>;
  /** The newest messages of the context below position `below`, as many as fit into `maxBytes`, but at least one. */
  readonly listContext: (
    key: ThreadKey,
    page: { readonly below?: number; readonly maxBytes: number },
  ) => Promise<ContextPage>;
  /** The entries at these positions, as far as they are there, in ascending order. */
  readonly getEntries: (key: ThreadKey, positions: readonly number[]) => Promise<readonly PlacedEntry[]>;
  /** The checkpoints that are kept, the newest first, from the first below version `below`. */
  readonly listCheckpoints: (
    key: ThreadKey,
    page: PageLimits & { readonly offset?: number; readonly below?: number | undefined },
  ) => Promise<readonly CheckpointRow[]>;
  /** What the kept versions above `above` overwrote, the newest first, from the first below `below`. */
  readonly listUndos: (
    key: ThreadKey,
    page: PageLimits & { readonly above: number; readonly below?: number | undefined },
  ) => Promise<readonly UndoRow[]>;
  readonly getMessage: (key: ThreadKey, messageId: string) => Promise<Uint8Array | undefined>;
  /** Runs of every owner that are queued or running, by run id, from the first above `after`. */
  readonly listOpenRuns: (page: PageLimits & { readonly after?: string | undefined }) => Promise<readonly OpenRun[]>;
  /** Threads of every owner, at most `limit`, that were last updated before `time` (milliseconds since 1970), that no run holds
   * and that are not being deleted. */
  readonly listIdle: (time: number, limit: number) => Promise<readonly ThreadKey[]>;
  readonly listDeleting: (limit: number) => Promise<readonly ThreadKey[]>;
  /**
   * Notes the request if its key is new, or was left by the request that had it; gives what stood under the key otherwise. One
   * that takes a key which was left keeps its hash: another hash leaves it as it is, and is given what stands.
   */
  readonly beginOnce: (owner: string, key: string, record: OnceBeginning) => Promise<OnceRecord | undefined>;
  /** Keeps the reply. Without one the key is left, unless it has a reply: whoever comes next begins as the first did. */
  readonly endOnce: (owner: string, key: string, reply: Uint8Array | undefined) => Promise<void>;
  /** Forgets requests noted before `time` (milliseconds since 1970), at most `limit` of them. */
  readonly expireOnce: (time: number, limit: number) => Promise<void>;
  /**
   * Drops checkpoints made before `time` (milliseconds since 1970), at most `limit` of them, and gives how many. Of a thread
   * they go from its oldest on, so that none is left above a gap. Those from the version on that the run which holds the
   * thread found stay. A store where checkpoints go by themselves when they are old enough drops nothing here.
   */
  readonly expireCheckpoints: (time: number, limit: number) => Promise<number>;
  /** Removes every row of a thread that is marked deleting; of any other thread, nothing. */
  readonly purge: (key: ThreadKey) => Promise<void>;
}
