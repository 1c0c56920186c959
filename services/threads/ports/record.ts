import type { Answerer } from '@agent-workflow/protos/answerer';
import type { CheckpointSource, Granularity, OpenStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { OpenCall, RunEnd, StepTrace, StepWork } from '@agent-workflow/protos/threads';

// The data of the record: what stands in the rows of one thread. Times are in milliseconds since 1970, sizes in bytes.

/** Names one thread. The owner is part of the key, so the same thread id under another owner is another thread. */
export interface ThreadKey {
  readonly owner: string;
  readonly threadId: string;
}

/** All of a thread but its fields, messages and runs. It decides who may write. */
export interface Head {
  readonly name?: string;
  /** The first message of a user that was accepted, as one line of at most 120 characters. Absent: none was, or it was deleted. */
  readonly title?: string;
  /** A JSON object. */
  readonly metadata?: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * Grows with every change of fields, context or log. It starts from the clock, so that a thread deleted and made again
   * never shows a version of the thread before it.
   */
  readonly version: number;
  /** The fence: raised by every claim and every stop. */
  readonly epoch: number;
  /** The step that the active run commits next. */
  readonly step: number;
  /** The run that holds the thread. */
  readonly activeRun?: string;
  readonly activeStatus?: OpenStatus;
  /** The worker that drives the active run; absent while the run is queued or sleeps. */
  readonly worker?: string;
  /** The version that the active run's first claim found: a rollback restores it. Absent before that claim. */
  readonly foundVersion?: number;
  /** The run accepted last. */
  readonly newestRun?: string;
  /** How many runs were accepted on it. Absent: none since this is counted. */
  readonly runCount?: number;
  /** The last run that failed while it was the newest. */
  readonly failedRun?: string;
  /** For how many seconds it is kept after its last change. Absent: as the service is set. */
  readonly ttl?: number;
  /** The agent that the thread belongs to. Absent before its first run; with runs, absent stands for `default`. */
  readonly agent?: string;
  /** The revision that serves the run that holds the thread. Absent: any. */
  readonly revision?: string;
  /** The revision that served the run that began last on the thread: answers to what that run asked go to it. */
  readonly lastRevision?: string;
  /** Runs that wait for the thread, in order of acceptance. */
  readonly queue: readonly string[];
  /** The log position of the next message. */
  readonly nextPosition: number;
  /** Tool calls of the log that have no answer yet. */
  readonly openCalls: readonly OpenCall[];
  /** The nodes that come next: of the run that holds the thread, or of one that is interrupted. */
  readonly next: readonly string[];
  /** Ids of the questions that an interrupted run asked. */
  readonly openInterrupts: readonly string[];
  /** Those of the questions that others than the owner answer. While a run holds the thread, those that it found. Absent: none. */
  readonly addressed?: readonly AddressedQuestion[];
  /** Set where others than the owner have given an answer since the graph began at its start. Absent: nobody has. */
  readonly answeredByOthers?: true;
  /** Claims of the active run since its last commit. */
  readonly claims: number;
  /** What the worker stored with its last commit: of the active run, or of one that is interrupted. */
  readonly progress?: Uint8Array;
  readonly interruptedRun?: string;
  readonly size: ThreadSize;
  /**
   * Readers see no such thread: it is being deleted, or it is a fork that is not complete yet. Its remaining rows are to be
   * purged.
   */
  readonly deleting: boolean;
}

/** A question that others than the owner of its thread answer. */
export interface AddressedQuestion {
  /** The same as among the open questions of the head. */
  readonly id: string;
  /** The roles that may answer it. */
  readonly to: readonly string[];
  /** Set where the owner may not, whichever roles he has. */
  readonly notOwner?: true;
  /** How many principals must give the same answer; absent: one. */
  readonly quorum?: number;
  readonly askedAt: number;
  /** The version of the thread with which it came to be open again: another question to those who answered it before. Absent: it was opened once. */
  readonly reopened?: number;
  readonly deadline?: number;
  /** The answers so far, which are all the same: their hash, and who gave them. */
  readonly given?: { readonly hash: string; readonly by: readonly Answerer[] };
}

/** The size of a thread's state, in bytes. */
export interface ThreadSize {
  /** Names and values of all fields. */
  readonly fields: number;
  /** The messages of the context, each with one byte for its separator. */
  readonly context: number;
}

/** A message of the log; the log is ordered by position. */
export interface LogEntry {
  readonly position: number;
  readonly messageId: string;
  readonly json: Uint8Array;
  /**
   * The version that put it last, when its change made a checkpoint: the checkpoint of that version. Stores note it themselves and give it
   * with the lists of messages and with one message. Absent in copies.
   */
  readonly version?: number;
}

/** A message of the log, and whether it is part of the context. */
export interface PlacedEntry extends LogEntry {
  readonly inContext: boolean;
}

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
  /** The run that answers what this one asked: the last that was accepted with an answer. Absent while there is none. */
  readonly resumedBy?: string;
  readonly end?: RunEnd;
  /** The tokens by model that its committed steps have taken: a JSON array that the record does not read. Absent: none. */
  readonly usage?: string;
  /** Where its end is delivered to: a JSON text that the record does not read. Absent: only to webhooks of the owner. */
  readonly webhook?: string;
  /** How early it is taken among the waiting runs of its owner. Absent: 0, the last. */
  readonly priority?: number;
  /** A JSON object that the worker reads. The first claim of a run that goes on from an interrupted one adds the tools of that. */
  readonly options: Uint8Array;
  /** A JSON array of the messages that wait for the claim; absent once they are in the log. */
  readonly input?: Uint8Array;
  /** The calls that the input answers. */
  readonly answers: readonly string[];
  /** Whether the input holds more than answers. */
  readonly hasNewInput: boolean;
  /** Keys of the answers to open questions; empty for one bare answer. Absent when the run answers no question. */
  readonly resume?: readonly string[];
  /** The first log position of the run's output: it follows the input. Absent before the claim. */
  readonly outputFrom?: number;
  /** The log position after the run's output. Absent before the end. */
  readonly outputTo?: number;
  /** When its first claim was made. Absent before it. */
  readonly startedAt?: number;
  /** The how manieth run of its thread it is, from 1. Absent of one that was accepted before this was counted. */
  readonly ordinal?: number;
  /** When its sleep ends: of a sleeping run, or its last sleep. Of an interrupted one: the first deadline of its questions, while that counts. */
  readonly wakeAt?: number;
  /** The revision that serves it, as of the last write of this record; while the run holds its thread, the head's counts. */
  readonly revision?: string;
}

/** How a version was made. */
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
  /** How the step ran; a store does not read it. */
  readonly work?: StepWork;
}

export interface Checkpoint extends CheckpointInfo {
  /** The undo record: what the change overwrote, from which the version before can be restored. A store does not read it. */
  readonly undo: Uint8Array;
  /** What went on within the step. A store gives it in no list but that of traces, and does not read it. */
  readonly trace?: StepTrace;
}

/** Names a tool call that may be made at most once. */
export interface ToolCallKey {
  readonly runId: string;
  /** Made by the engine, the same for every attempt at the call. */
  readonly callKey: string;
}

/** The record of a tool call that may be made at most once. */
export interface ToolCallRecord extends ToolCallKey {
  /** JSON; absent while the call has no result. */
  readonly result?: Uint8Array;
  /** How long it is of use, in seconds: a store may remove it then, and need not. */
  readonly keepSeconds?: number;
}

/** A request about a thread that a change has applied. The same request sent again is recognised by its id. */
export interface AppliedRequest {
  readonly id: string;
  /** The reply to the caller: JSON. */
  readonly reply: Uint8Array;
  readonly at: number;
  /** How long the request is remembered, in milliseconds. */
  readonly keptMs: number;
}
