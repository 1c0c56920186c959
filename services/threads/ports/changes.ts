import type {
  AppliedRequest,
  Checkpoint,
  Head,
  LogEntry,
  PlacedEntry,
  RunRecord,
  ThreadKey,
  ToolCallKey,
  ToolCallRecord,
} from './record.ts';
import type { ResourceWrite } from './resources.ts';

/** What a decision is made from: one moment of one thread. */
export interface Snapshot {
  /** Absent when the thread does not exist. */
  readonly head: Head | undefined;
  /** The requested runs that belong to this thread. */
  readonly runs: ReadonlyMap<string, RunRecord>;
  /** The requested messages that are in the log, by id. */
  readonly entries: ReadonlyMap<string, PlacedEntry>;
  /** The requested fields that are set. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** Positions of the context, ascending; empty unless requested. */
  readonly context: readonly number[];
  /** The requested tool call, when it is on record. */
  readonly toolCall?: ToolCallRecord;
  /** The reply to the named request, as JSON, when an earlier change has applied that request. */
  readonly applied?: Uint8Array;
}

/** What one decision writes, all of it or nothing. */
export interface Change {
  readonly head: Head;
  readonly runs?: readonly RunRecord[];
  /** A run that is on record and not among `runs`: of it only `resumedBy` is written. */
  readonly answered?: RunRecord;
  /** Field name to JSON value; `undefined` clears the field. */
  readonly fields?: Readonly<Record<string, Uint8Array | undefined>>;
  /** Put at their positions, in log and context: all of them before `deletedFrom`. With `checkpoint` they get the version of the head, or that of `passed`. */
  readonly messages?: readonly LogEntry[];
  /** Positions of the log that enter the context again; a position that `removedFromContext` names too is out of it. */
  readonly addedToContext?: readonly number[];
  /** Positions that leave the context and stay in the log, also those that `messages` puts there. */
  readonly removedFromContext?: readonly number[];
  /** Positions that leave the log. */
  readonly deleted?: readonly number[];
  /** This position and all after it leave the log. */
  readonly deletedFrom?: number;
  /** Clears every field and empties the context, before anything else of this change. */
  readonly clearState?: boolean;
  /** The checkpoint of the new version. */
  readonly checkpoint?: Checkpoint;
  /** The version of a first step, when the change makes two. It is below that of the head, which is the second's. */
  readonly passed?: PassedVersion;
  /** Checkpoints of this version and of those before it are dropped. */
  readonly dropCheckpointsTo?: number;
  /** Checkpoints above this version and below the new one are dropped: a rollback undoes what they led to. */
  readonly dropCheckpointsAfter?: number;
  /** Put on record; a store may drop the tool calls of a run that has ended otherwise than as failed. */
  readonly toolCall?: ToolCallRecord;
  /**
   * Objects that an owner keeps beside threads, each of version 1: one that is there already stays as it is. A store may make them although
   * the rest of the change does not come about.
   */
  readonly resources?: readonly ResourceWrite[];
  /** A store may drop the tool calls of this run, which has failed and is not tried again. */
  readonly dropToolCallsOf?: string;
  /** The request that this change applies. */
  readonly applies?: AppliedRequest;
}

/** A version that a change makes and goes on from. It can be read and forked like any other. */
interface PassedVersion {
  readonly version: number;
  readonly checkpoint: Checkpoint;
  /** Positions of the messages that have this version; the rest have that of the head. */
  readonly positions: readonly number[];
}

export interface Decision<T> {
  /** Absent when nothing is written. */
  readonly change?: Change;
  readonly reply: T;
}

/** What one version overwrote. */
export interface UndoRow {
  readonly version: number;
  readonly undo: Uint8Array;
}

/** Takes undo records one by one, the newest first: together they may be larger than memory. */
export interface UndoSink {
  readonly add: (row: UndoRow) => void;
}

/** What a decision needs beside the head. */
export interface Reads {
  readonly runs?: readonly string[];
  /** A run that the change is likely to make: a store may read ahead what it needs to know about it. */
  readonly newRun?: {
    readonly runId: string;
    /** Whether its id was made for this change: then no record has it yet, and a store need not look. Only a speed-up. */
    readonly isNew: boolean;
  };
  /** Whether the thread's id was made for this change: then no record has it, unless the change is made a second time. A speed-up, too. */
  readonly isNewThread?: boolean;
  /** The run that holds the thread, whatever its id. */
  readonly activeRun?: boolean;
  /** The run whose questions the thread waits to be answered, whatever its id. */
  readonly interruptedRun?: boolean;
  /** Ids of messages. */
  readonly messages?: readonly string[];
  /** Names of fields, or all of them. */
  readonly fields?: readonly string[] | 'all';
  readonly context?: boolean;
  /**
   * Called at the start of each reading; the sink takes the undo record of every version above the one that the active run
   * found.
   */
  readonly undosOfActiveRun?: () => UndoSink;
  readonly toolCall?: ToolCallKey;
  /** The id of a request about this thread that an earlier change may have applied. */
  readonly request?: string;
  /**
   * Whether the decision refuses, by run, epoch and step, all that comes a second time: then a store that knows what it has written last may
   * let it decide from that, without looking whether the request was applied before.
   */
  readonly isFenced?: boolean;
}

/** The port through which every change of a thread is made. */
export interface ThreadChanges {
  /**
   * Reads what `reads` names, calls `decide` with it, and writes the change that `decide` returns: atomically, against every
   * other change of that thread. `decide` is pure and is called again when another write came first. What it throws is
   * thrown here, with nothing written.
   */
  readonly change: <T>(key: ThreadKey, reads: Reads, decide: (snapshot: Snapshot) => Decision<T>) => Promise<T>;
}
