// Written by `npm run proto` from threads.proto: change that.
import type { Call } from './call.ts';
import type {
  CheckpointSource,
  EndStatus,
  FailureCode,
  Granularity,
  ImposedEnd,
  MessageLists,
  MultitaskStrategy,
  RunStatus,
} from './lists.ts';
import type { RetryRule } from './retry.ts';

/** A part of {@link Threads}. */
export interface RunCalls {
  /**
   * Stores a run, making its thread when needed, and gives it the thread or a place in the thread's queue. The same
   * run_id again changes nothing and gives the same reply. With `claim` an idle thread's run is claimed in the same write.
   */
  readonly acceptRun: (request: AcceptRunRequest, call: Call) => Promise<AcceptRunReply>;
  /**
   * Gives the run to a worker: raises the thread's epoch, appends the run's input to the log, marks the run running.
   * Stale when the run does not hold the thread, has ended, or is running and `takeover_epoch` is not its thread's. A run that
   * is taken over goes on at the step after its last commit; at its third claim without a commit it is ended instead, as
   * `given_up` says.
   */
  readonly claimRun: (request: ClaimRunRequest, call: Call) => Promise<ClaimedRun>;
  /**
   * Gives a run back that this worker drives: from this reply on it commits nothing more of it, and the next claim goes on
   * at the step after its last commit. The claim does not count. Stale when the run is not this worker's.
   */
  readonly releaseRun: (request: ReleaseRunRequest, call: Call) => Promise<ReleaseRunReply>;
  /**
   * Commits what one step changed, only while run, epoch and step are the thread's own; Stale otherwise. With `end` it is
   * the run's last commit, and names the queued run that holds the thread from now on.
   */
  readonly commitStep: (request: CommitStepRequest, call: Call) => Promise<CommitStepReply>;
  /** Ends a run without its worker: from this reply on, nothing that worker commits is taken. An ended run stays as it ended. */
  readonly endRun: (request: EndRunRequest, call: Call) => Promise<EndRunReply>;
}

/** A part of {@link Threads}. */
export interface RunReadCalls {
  readonly getRun: (request: GetRunRequest, call: Call) => Promise<Run>;
  /** The runs of a thread, newest first. */
  readonly listRuns: (request: ListRunsRequest, call: Call) => Promise<ListRunsReply>;
  /** What the run's steps added to the log, in order, page by page; its input is not part of it. */
  readonly listRunMessages: (request: ListRunMessagesRequest, call: Call) => Promise<ListRunMessagesReply>;
  /**
   * What each committed step of the run changed, from `from_step` on: as it was committed, whatever changed since. Steps whose
   * checkpoints are no longer kept are left out; those of a run that has not ended are all kept. A reply holds as many as fit
   * well into one: ask on from the step behind its last, until none comes.
   */
  readonly listRunSteps: (request: ListRunStepsRequest, call: Call) => Promise<ListRunStepsReply>;
}

/** A part of {@link Threads}. */
export interface ToolRecordCalls {
  /**
   * Notes that a tool call which may be made only once is about to be made, behind the same fence as a commit; Stale when the
   * step is no longer this worker's. Says how far an earlier attempt came.
   */
  readonly noteToolStarted: (request: NoteToolStartedRequest, call: Call) => Promise<NoteToolStartedReply>;
  /**
   * Notes what such a call came to, so that a later attempt at the step takes it from here. Stale as above.
   * The fence stands, and the same call key takes the same result.
   */
  readonly noteToolResult: (request: NoteToolResultRequest, call: Call) => Promise<NoteToolResultReply>;
}

/** A part of {@link Threads}. */
export interface SweepCalls {
  /** Runs of every owner that have not ended, in an order that pages follow. */
  readonly listOpenRuns: (request: ListOpenRunsRequest, call: Call) => Promise<ListOpenRunsReply>;
  /** Threads of every owner that nothing has changed since a time, and that no run holds. */
  readonly listIdle: (request: ListIdleRequest, call: Call) => Promise<ListIdleReply>;
  /** Threads of every owner that are marked deleting and not yet gone. */
  readonly listDeleting: (request: ListDeletingRequest, call: Call) => Promise<ListDeletingReply>;
}

/** A part of {@link Threads}. */
export interface ThreadReadCalls {
  readonly getThread: (request: GetThreadRequest, call: Call) => Promise<Thread>;
  /** Most recently updated first. */
  readonly listThreads: (request: ListThreadsRequest, call: Call) => Promise<ListThreadsReply>;
}

/** A part of {@link Threads}. */
export interface DeletionCalls {
  /**
   * Marks the thread deleting: from this reply on it is NotFound everywhere, and its run is ended. NotFound when absent;
   * a thread that is marked already is marked again, so that an interrupted deletion can go on.
   */
  readonly beginDelete: (request: BeginDeleteRequest, call: Call) => Promise<BeginDeleteReply>;
  /**
   * Removes every row of a thread that is marked deleting.
   * It removes a thread only while that is marked deleting.
   */
  readonly finishDelete: (request: FinishDeleteRequest, call: Call) => Promise<FinishDeleteReply>;
}

/** A part of {@link Threads}. */
export interface StateCalls {
  readonly getState: (request: GetStateRequest, call: Call) => Promise<State>;
  /**
   * Writes fields and messages as given (their reducers have been applied). Conflict while a run holds the thread, or when
   * `expected_version` is not the thread's.
   */
  readonly writeState: (request: WriteStateRequest, call: Call) => Promise<State>;
  /** Clears every field and the context; the message log stays. Conflict while a run holds the thread. */
  readonly clearState: (request: ClearStateRequest, call: Call) => Promise<ClearStateReply>;
}

/** A part of {@link Threads}. */
export interface MessageCalls {
  /** Oldest first. */
  readonly listMessages: (request: ListMessagesRequest, call: Call) => Promise<ListMessagesReply>;
  readonly getMessage: (request: GetMessageRequest, call: Call) => Promise<GetMessageReply>;
  /** Appends to log and context; a message whose id is in the log replaces it in place. Conflict while a run holds the thread. */
  readonly addMessages: (request: AddMessagesRequest, call: Call) => Promise<AddMessagesReply>;
  /** Removes one message from log and context. Conflict while a run holds the thread. */
  readonly deleteMessage: (request: DeleteMessageRequest, call: Call) => Promise<DeleteMessageReply>;
  /**
   * Removes the messages of the context whose tool calls nobody answered, with what answered the others of their calls; a
   * run that waits for such a call is no longer waited for. Conflict while a run holds the thread.
   */
  readonly fixThread: (request: FixThreadRequest, call: Call) => Promise<FixThreadReply>;
}

/** A part of {@link Threads}. */
export interface HistoryCalls {
  /** The versions of a thread that can be had again, newest first. */
  readonly listCheckpoints: (request: ListCheckpointsRequest, call: Call) => Promise<ListCheckpointsReply>;
  /** The state as it was at a checkpoint. NotFound when it is not kept. */
  readonly getCheckpoint: (request: GetCheckpointRequest, call: Call) => Promise<GetCheckpointReply>;
  /**
   * Makes a thread that holds what another held at a checkpoint: fields, context, and the log up to there. The new thread is
   * there whole or not at all. Conflict when its id is taken; the same request again gives the same reply.
   * `new_thread_id` settles it.
   */
  readonly forkThread: (request: ForkThreadRequest, call: Call) => Promise<Thread>;
}

/** A part of {@link Threads}. */
export interface IdempotencyCalls {
  /**
   * Puts a request that is to be done once on record, and says how far an earlier one with its key came. Invalid when that
   * one had another body.
   */
  readonly beginOnce: (request: BeginOnceRequest, call: Call) => Promise<BeginOnceReply>;
  /**
   * Keeps the reply for a caller that sends the request again, or says that it may be done then.
   * All replies that are kept under one key say the same.
   */
  readonly endOnce: (request: EndOnceRequest, call: Call) => Promise<EndOnceReply>;
}

/**
 * The record: threads with their state, messages and runs. The service keeps three promises: a reply means that
 * the write is durable, each call happens whole or not at all, and a thread of another owner is a thread that is absent.
 *
 * Every time is in milliseconds since 1970 UTC. Every `json` field is UTF-8 JSON text.
 *
 * The line `retry` above a method says whether a caller that does not know the outcome of a call may send it again, at
 * another replica too. `safe`: always; it reads, or what the request names settles it. `attempt`: when both carry the same
 * `attempt_id`, which the caller makes for the first and which no other request has. The record keeps that id with what the
 * call wrote, in the same write: the effect is made once, and the second is given the reply of the first. `never`: not at all.
 *
 * The line `part` names the part of the calls that a method belongs to, by what callers need: each caller asks for the parts
 * that it uses.
 */
export interface Threads
  extends
    RunCalls,
    RunReadCalls,
    ToolRecordCalls,
    SweepCalls,
    ThreadReadCalls,
    DeletionCalls,
    StateCalls,
    MessageCalls,
    HistoryCalls,
    IdempotencyCalls {}

/** Which calls of {@link Threads} may be made again. */
export const threadsRetries: Readonly<Record<keyof Threads, RetryRule>> = {
  acceptRun: { retry: 'attempt', takesLong: false },
  claimRun: { retry: 'attempt', takesLong: false },
  releaseRun: { retry: 'attempt', takesLong: false },
  commitStep: { retry: 'attempt', takesLong: false },
  endRun: { retry: 'attempt', takesLong: false },
  getRun: { retry: 'safe', takesLong: false },
  listRuns: { retry: 'safe', takesLong: false },
  listRunMessages: { retry: 'safe', takesLong: false },
  listRunSteps: { retry: 'safe', takesLong: false },
  noteToolStarted: { retry: 'attempt', takesLong: false },
  noteToolResult: { retry: 'safe', takesLong: false },
  listOpenRuns: { retry: 'safe', takesLong: false },
  getThread: { retry: 'safe', takesLong: false },
  listThreads: { retry: 'safe', takesLong: false },
  beginDelete: { retry: 'attempt', takesLong: false },
  finishDelete: { retry: 'safe', takesLong: false },
  listIdle: { retry: 'safe', takesLong: false },
  listDeleting: { retry: 'safe', takesLong: false },
  getState: { retry: 'safe', takesLong: false },
  writeState: { retry: 'attempt', takesLong: false },
  clearState: { retry: 'attempt', takesLong: false },
  listMessages: { retry: 'safe', takesLong: false },
  getMessage: { retry: 'safe', takesLong: false },
  addMessages: { retry: 'attempt', takesLong: false },
  deleteMessage: { retry: 'attempt', takesLong: false },
  listCheckpoints: { retry: 'safe', takesLong: false },
  getCheckpoint: { retry: 'safe', takesLong: false },
  forkThread: { retry: 'safe', takesLong: true },
  fixThread: { retry: 'attempt', takesLong: false },
  beginOnce: { retry: 'attempt', takesLong: false },
  endOnce: { retry: 'safe', takesLong: false },
};

/** A message of the log: its id beside its whole JSON, which has the same id inside. */
export interface MessageEntry {
  readonly messageId: string;
  readonly json: Uint8Array;
}

/** A tool call that the caller was asked to run and has not answered. */
export interface OpenCall {
  readonly callId: string;
  readonly name: string;
}

export interface AcceptRunRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly requestId: string;
  /** Used when the thread is made by this run. */
  readonly threadName?: string;
  /** Used when the thread is made by this run: a JSON object. */
  readonly metadataJson?: Uint8Array;
  /** The run's input: it enters the log at the claim, not before. */
  readonly messages: readonly MessageEntry[];
  /** The calls that the input answers. */
  readonly answers: readonly string[];
  /** Whether the input says something new beside answers: that answers every call still open as cancelled. */
  readonly hasNewInput: boolean;
  /** What the worker needs beside the messages; the record keeps it and does not look inside. */
  readonly optionsJson: Uint8Array;
  /**
   * enqueue; reject; interrupt: ends the run that holds the thread, with its steps kept, and takes its place; rollback: the
   * same, with fields, context and log put back to where that run found them; what it has to undo keeps it from being claimed in
   * the same write.
   */
  readonly multitaskStrategy: MultitaskStrategy;
  readonly granularity: Granularity;
  /** Claims the run for this worker in the same write when the thread is idle. */
  readonly claim?: ClaimIntent;
  /** Answers questions that an interrupted run has asked. */
  readonly resume?: Resume;
  /** Whether the id of the run, and that of the thread, were made for this request: nobody else can have used them before. */
  readonly runIdIsNew?: boolean;
  readonly threadIdIsNew?: boolean;
  /** Refuses a run that would go on at a node that is not among these: nothing changes. Absent: any node will do. */
  readonly nodes?: NodeNames;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
}

/** The nodes that a graph has; those of a sub-graph behind its name: `sub/node`. */
export interface NodeNames {
  readonly names: readonly string[];
  /** Those that every run from the start of the graph begins with; empty where the graph chooses them. */
  readonly first: readonly string[];
}

/** Answers to open questions: by their ids, or one bare answer, which only a single open question allows. */
export interface Resume {
  /** The keys of the answer when it is an object; empty otherwise. */
  readonly keys: readonly string[];
}

export interface ClaimIntent {
  readonly workerId: string;
  /** The version of the thread that this worker still has in memory, if any. */
  readonly knownVersion?: number;
}

export interface AcceptRunReply {
  readonly runId: string;
  readonly threadId: string;
  readonly isNewThread: boolean;
  readonly status: RunStatus;
  /** Whether the run holds the thread, so that it can be claimed now. */
  readonly runnable: boolean;
  /** Present when `claim` was asked for and the thread was idle. */
  readonly claimed?: ClaimedRun;
  /** The run that was ended to make room for this one. */
  readonly stoppedRunId?: string;
}

export interface ClaimRunRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly workerId: string;
  readonly knownVersion?: number;
  /** Takes the run from a worker that is thought dead: from this one claim, and from none that came after it. */
  readonly takeoverEpoch?: number;
  /** Leaves the run its last claim: one that has no other is not taken, nothing changes, and `last_claim` says so. */
  readonly notLast?: boolean;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Ends a run that would go on at a node that is not among these, before its input enters the log. Absent: any node will do. */
  readonly nodes?: NodeNames;
}

export interface ReleaseRunRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
}

export type ReleaseRunReply = Readonly<Record<string, never>>;

/**
 * The result of a claim. With `last_claim` the run was not claimed and nothing changed. With `given_up` it was ended instead of
 * claimed. Otherwise the worker has it, and this is everything that it needs to go on with the run.
 */
export interface ClaimedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly requestId: string;
  readonly granularity: Granularity;
  readonly isNewThread: boolean;
  /** The fence: commits carry it. */
  readonly epoch: number;
  /** The number of the step that comes next. */
  readonly step: number;
  readonly optionsJson: Uint8Array;
  /**
   * The version of the thread before this claim; `state` is absent when it is the `known_version` of the request
   * and nothing was replaced.
   */
  readonly previousVersion: number;
  readonly version: number;
  /** Fields and context after this claim, `appended` among them. */
  readonly state?: State;
  /**
   * What this claim put into log and context, by id: answers given for calls that nobody answered, then the run's input. Beside
   * `state`, whose context holds them, their JSON is empty.
   */
  readonly appended: readonly MessageEntry[];
  /** Where the graph stands: the nodes that an interrupted run left to go on with; empty means at the start. */
  readonly next: readonly string[];
  /** The calls still open after the input. */
  readonly openCalls: readonly OpenCall[];
  /** The interrupted run that this one goes on with. */
  readonly resumes?: string;
  /** Whether any of `appended` replaced a message that stood in the log. */
  readonly replaced: boolean;
  /** Which claim of the run this is since its last commit, from 1. */
  readonly attempt: number;
  /**
   * Whether an earlier claim had the run: what its steps added, and what the worker kept with the last commit. Of more messages
   * than a page holds these are the newest; `output_is_partial` then says so, and `output_reply_json` is the last message of the
   * assistant, if it is not among them.
   */
  readonly isTakeover: boolean;
  readonly outputJson?: Uint8Array;
  readonly outputIsPartial?: boolean;
  readonly outputReplyJson?: Uint8Array;
  readonly progressJson?: Uint8Array;
  /** The run was ended instead of claimed: why, and the run that holds the thread now. */
  readonly givenUp?: RunError;
  readonly nextRunId?: string;
  /** The run was not taken, as `not_last` asked. It is to be claimed when this worker drives no other on its last claim. */
  readonly lastClaim?: boolean;
  /** Whether the run answers questions that nobody asked; then, too, nothing was appended and the worker ends the run. */
  readonly resumeUnmatched: boolean;
  /** Answers of the input to calls that nobody made. When there are any, nothing was appended and the worker ends the run. */
  readonly unmatchedAnswers: readonly string[];
}

export interface State {
  readonly version: number;
  /** Field name to JSON value, `context_summary` among them; fields never set are absent. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** The messages the model sees: a JSON array. */
  readonly contextJson: Uint8Array;
  /**
   * Whether older messages of the context are left out, because all of them do not fit into a reply. Only threads that an
   * earlier version of the service wrote have such a context.
   */
  readonly contextTruncated?: boolean;
}

export interface CommitStepRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  /** When the step ended; stands on everything that is derived from this commit. */
  readonly at: number;
  /** Changed fields: name to JSON value. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** Messages added, or replaced when `replaces_messages` is set. */
  readonly messages: readonly MessageEntry[];
  /** Whether any of `messages` may stand in the log already; without it they are all new, and nothing is looked up. */
  readonly replacesMessages: boolean;
  /** Ids of messages that leave the context and stay in the log. */
  readonly removedFromContext: readonly string[];
  /** The nodes of the step that was committed. */
  readonly nodes: readonly string[];
  /** The nodes of the next step. */
  readonly next: readonly string[];
  readonly openCalls: readonly OpenCall[];
  readonly end?: RunEnd;
  /** What the worker wants back at a later claim of the run. */
  readonly progressJson?: Uint8Array;
  /** Ids of the questions that wait for an answer. */
  readonly openInterrupts: readonly string[];
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
}

export interface RunEnd {
  readonly status: EndStatus;
  readonly iterations: number;
  readonly recursionLimitReached: boolean;
  readonly error?: RunError;
  /** What an interrupted run asks: a JSON array, as text. */
  readonly interruptsJson?: string;
}

export interface RunError {
  readonly code: FailureCode;
  readonly message: string;
  readonly node?: string;
}

export interface CommitStepReply {
  readonly version: number;
  /** The run that holds the thread now and wants a worker. */
  readonly nextRunId?: string;
  /** Set when a message that had left the context is back at its old place in it: only the record knows which that is. */
  readonly rejoined?: boolean;
}

export interface EndRunRequest {
  readonly owner: string;
  readonly runId: string;
  readonly status: ImposedEnd;
  readonly error?: RunError;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface EndRunReply {
  /** How the run ended: as asked, or as it had ended before. */
  readonly status: EndStatus;
  readonly endedNow: boolean;
  readonly nextRunId?: string;
}

export interface GetRunRequest {
  readonly owner: string;
  readonly runId: string;
}

export interface Run {
  readonly runId: string;
  readonly threadId: string;
  readonly owner: string;
  readonly requestId: string;
  readonly status: RunStatus;
  readonly granularity: Granularity;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly resumes?: string;
  readonly end?: RunEnd;
  /** Whether the run holds its thread. */
  readonly runnable: boolean;
  readonly isNewThread: boolean;
  /** Of a run that holds its thread and is running: whose worker drives it, and the epoch of that claim. */
  readonly workerId?: string;
  readonly epoch?: number;
}

export interface ListRunsRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
}

export interface ListRunsReply {
  readonly runs: readonly Run[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface ListRunMessagesRequest {
  readonly owner: string;
  readonly runId: string;
  readonly cursor?: string;
}

export interface ListRunMessagesReply {
  /** A JSON array. */
  readonly messagesJson: Uint8Array;
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface ListRunStepsRequest {
  readonly owner: string;
  readonly runId: string;
  readonly fromStep: number;
}

export interface RunStep {
  readonly step: number;
  readonly nodes: readonly string[];
  readonly at: number;
  /** Changed fields: name to JSON value. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** The messages it added or replaced: a JSON array. */
  readonly messagesJson: Uint8Array;
  /** Ids of messages that left the context. */
  readonly removedFromContext: readonly string[];
}

export interface ListRunStepsReply {
  /** In order. */
  readonly steps: readonly RunStep[];
}

export interface NoteToolStartedRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  /** The same for every attempt at the call. */
  readonly callKey: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
}

export interface NoteToolStartedReply {
  /** Whether no attempt has begun the call before. */
  readonly isNew: boolean;
  /** What an earlier attempt came to; absent when that is not known. */
  readonly resultJson?: Uint8Array;
}

export interface NoteToolResultRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  readonly callKey: string;
  readonly resultJson: Uint8Array;
}

export type NoteToolResultReply = Readonly<Record<string, never>>;

export interface ListOpenRunsRequest {
  readonly limit: number;
  readonly cursor?: string;
}

export interface ListOpenRunsReply {
  readonly runs: readonly Run[];
  readonly cursor?: string;
}

export interface GetThreadRequest {
  readonly owner: string;
  readonly threadId: string;
}

export interface Thread {
  readonly threadId: string;
  readonly threadName?: string;
  readonly metadataJson?: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The newest run. */
  readonly runId?: string;
  readonly version: number;
  /** The run that holds the thread; lists leave it out. */
  readonly activeRunId?: string;
}

export interface ListThreadsRequest {
  readonly owner: string;
  readonly limit: number;
  readonly offset: number;
  /** From the reply of the page before; `offset` is then ignored. */
  readonly cursor?: string;
  /** Matches name, id and metadata values, whatever the case. */
  readonly search?: string;
}

export interface ListThreadsReply {
  readonly threads: readonly Thread[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface BeginDeleteRequest {
  readonly owner: string;
  readonly threadId: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface BeginDeleteReply {
  /** The runs that were ended by this: the one that held the thread first, then those that waited for it. */
  readonly stoppedRunIds: readonly string[];
  /** The same runs with what their last events say of them; one that is known no more is left out. */
  readonly stoppedRuns: readonly StoppedRun[];
}

export interface StoppedRun {
  readonly runId: string;
  /** Of the request that started it. */
  readonly requestId: string;
  readonly isNewThread: boolean;
}

export interface FinishDeleteRequest {
  readonly owner: string;
  readonly threadId: string;
}

export type FinishDeleteReply = Readonly<Record<string, never>>;

export interface ListIdleRequest {
  /** Milliseconds since 1970. */
  readonly before: number;
  readonly limit: number;
}

export interface ListIdleReply {
  readonly threads: readonly ThreadKey[];
}

export interface ListDeletingRequest {
  readonly limit: number;
}

export interface ThreadKey {
  readonly owner: string;
  readonly threadId: string;
}

export interface ListDeletingReply {
  readonly threads: readonly ThreadKey[];
}

export interface GetStateRequest {
  readonly owner: string;
  readonly threadId: string;
}

export interface WriteStateRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly expectedVersion: number;
  readonly fields: Readonly<Record<string, Uint8Array>>;
  readonly messages: readonly MessageEntry[];
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
}

export interface ClearStateRequest {
  readonly owner: string;
  readonly threadId: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export type ClearStateReply = Readonly<Record<string, never>>;

export interface ListMessagesRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
  /** Matches the text of a message, whatever the case. */
  readonly search?: string;
}

export interface ListMessagesReply {
  /** A JSON array. */
  readonly messagesJson: Uint8Array;
  readonly cursor?: string;
}

export interface GetMessageRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messageId: string;
}

export interface GetMessageReply {
  readonly json: Uint8Array;
}

export interface AddMessagesRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messages: readonly MessageEntry[];
  /** Stands on the checkpoint that this makes: a JSON object. */
  readonly metadataJson?: Uint8Array;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface AddMessagesReply {
  readonly version: number;
}

export interface DeleteMessageRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messageId: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export type DeleteMessageReply = Readonly<Record<string, never>>;

export interface ListCheckpointsRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
}

export interface ThreadCheckpoint {
  readonly checkpointId: string;
  readonly source: CheckpointSource;
  readonly runId?: string;
  readonly step?: number;
  readonly nodes: readonly string[];
  readonly next: readonly string[];
  readonly createdAt: number;
  /** A JSON object. */
  readonly metadataJson?: Uint8Array;
}

export interface ListCheckpointsReply {
  readonly checkpoints: readonly ThreadCheckpoint[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface GetCheckpointRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly checkpointId: string;
}

export interface GetCheckpointReply {
  readonly checkpoint: ThreadCheckpoint;
  readonly state: State;
}

export interface ForkThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly checkpointId: string;
  /** Made by the caller, so that a repeated request can name the same thread. */
  readonly newThreadId: string;
  readonly threadName?: string;
  /** Absent: the metadata of the thread that is forked. A JSON object. */
  readonly metadataJson?: Uint8Array;
}

export interface FixThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface FixThreadReply {
  /** How many assistant messages were removed. */
  readonly removedCount: number;
}

export interface BeginOnceRequest {
  readonly owner: string;
  readonly onceKey: string;
  readonly bodyHash: string;
  /** Of this request, however often it is sent: see the head of the service. */
  readonly attemptId?: string;
  /** Kept as its reply from the beginning, when the key is new: of several that begin at once, one decides. */
  readonly replyJson?: Uint8Array;
}

export interface BeginOnceReply {
  /** Whether no request with this key came before, or only such that were refused and changed nothing. */
  readonly isNew: boolean;
  /** Absent until an earlier request has ended. */
  readonly replyJson?: Uint8Array;
  /** When the first request with this key began. */
  readonly at: number;
}

export interface EndOnceRequest {
  readonly owner: string;
  readonly onceKey: string;
  /** Absent: the request was refused and changed nothing, so that it may be done when it comes again. */
  readonly replyJson?: Uint8Array;
}

export type EndOnceReply = Readonly<Record<string, never>>;

/** The messages that have fields of a closed list. */
export const threadsLists: MessageLists = {
  AcceptRunRequest: { multitaskStrategy: 'MultitaskStrategy', granularity: 'Granularity' },
  AcceptRunReply: { status: 'RunStatus', claimed: { of: 'ClaimedRun' } },
  ClaimedRun: { granularity: 'Granularity', givenUp: { of: 'RunError' } },
  CommitStepRequest: { end: { of: 'RunEnd' } },
  RunEnd: { status: 'EndStatus', error: { of: 'RunError' } },
  RunError: { code: 'FailureCode' },
  EndRunRequest: { status: 'ImposedEnd', error: { of: 'RunError' } },
  EndRunReply: { status: 'EndStatus' },
  Run: { status: 'RunStatus', granularity: 'Granularity', end: { of: 'RunEnd' } },
  ListRunsReply: { runs: { of: 'Run' } },
  ListOpenRunsReply: { runs: { of: 'Run' } },
  ThreadCheckpoint: { source: 'CheckpointSource' },
  ListCheckpointsReply: { checkpoints: { of: 'ThreadCheckpoint' } },
  GetCheckpointReply: { checkpoint: { of: 'ThreadCheckpoint' } },
};
