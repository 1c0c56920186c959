// Written by `npm run proto` from threads.proto: change that.
import type { Call } from './call.ts';
import type {
  CheckpointSource,
  EndStatus,
  FailureCode,
  FailureReason,
  FileStatus,
  Granularity,
  ImposedEnd,
  MessageLists,
  ModelParameter,
  MultitaskStrategy,
  ResourceKind,
  RevisionState,
  RunStatus,
  ThreadSort,
  ThreadStatus,
  WaitsFor,
} from './lists.ts';
import type { PoolRule } from './pools.ts';
import type { RetryRule } from './retry.ts';

/** A part of {@link Threads}. */
export interface RunCalls {
  /**
   * Stores a run, makes its thread when there is none, and lets the run hold the thread or wait in its queue. A second call with the
   * same run_id changes nothing and returns the same reply. With `claim` the run of an idle thread is claimed in the same write.
   */
  readonly acceptRun: (request: AcceptRunRequest, call: Call) => Promise<AcceptRunReply>;
  /**
   * Claims the run for a worker: raises the thread's epoch, appends the run's input to the message log, marks the run running. Stale when
   * the run does not hold the thread, has ended, or is running and `takeover_epoch` is not the epoch of its thread. A run that is taken
   * over continues at the step after its last commit; at its third claim without a commit it is ended instead, and `given_up` is set.
   * A sleeping run is claimed from its wake time on, and is Stale before.
   */
  readonly claimRun: (request: ClaimRunRequest, call: Call) => Promise<ClaimedRun>;
  /**
   * Releases a run of this worker: after this reply the worker commits nothing more of it, and the next claim continues at the step after
   * the last commit. The released claim does not count. Stale when the run is not this worker's.
   */
  readonly releaseRun: (request: ReleaseRunRequest, call: Call) => Promise<ReleaseRunReply>;
  /**
   * Commits what one step changed; with `fused` two steps in one write. Stale when run, epoch or step differ from those of the thread. With
   * `end` it is the run's last commit, and the reply names the queued run that now holds the thread. With `wake_at` the run sleeps until
   * then: it holds its thread, and its worker commits nothing more of it. Invalid for a field that the revision of the run does not declare, and
   * for a value of another type than it declares.
   */
  readonly commitStep: (request: CommitStepRequest, call: Call) => Promise<CommitStepReply>;
  /** Ends a run from outside its worker: after this reply every commit of that worker is refused. A run that has ended stays as it ended. */
  readonly endRun: (request: EndRunRequest, call: Call) => Promise<EndRunReply>;
  /**
   * Goes on with a thread whose interrupted run asked questions with deadlines, once the first of these has passed by the clock of the record:
   * accepts a run with the defaults as answers. Its id is derived from that of the question, so that it is accepted once. Whatever was
   * accepted for the thread before counts instead.
   */
  readonly passDeadline: (request: PassDeadlineRequest, call: Call) => Promise<PassDeadlineReply>;
  /**
   * Notes an answer to a question that others than the owner of its thread answer. The answer that completes its quorum, and one that differs from
   * those before, accepts the run that goes on, with the config, the user and the tools of the run that asked. The same answer of the same
   * principal again changes nothing. Conflict when the question is not open, and for a second answer of one principal. Whether the principal may
   * answer is its caller's to say.
   */
  readonly answerQuestion: (request: AnswerQuestionRequest, call: Call) => Promise<AnswerQuestionReply>;
}

/** A part of {@link Threads}. */
export interface QuestionCalls {
  /**
   * One question that others than the owner of its thread answer: an open one, or for a day at least one that was. NotFound where there is none of
   * the id.
   */
  readonly getQuestion: (request: GetQuestionRequest, call: Call) => Promise<Question>;
  /** The open questions of all owners that are addressed to any of these roles, of the newest 10,000. */
  readonly listQuestions: (request: ListQuestionsRequest, call: Call) => Promise<ListQuestionsReply>;
}

/** A part of {@link Threads}. */
export interface GrantCalls {
  /**
   * Gives a worker of a pool a new grant of its run in place of one that is about to expire. Stale when the run is not running at this
   * epoch: a grant outlives its claim by less than a minute.
   */
  readonly renewGrant: (request: RenewGrantRequest, call: Call) => Promise<RenewGrantReply>;
}

/** A part of {@link Threads}. */
export interface RunReadCalls {
  readonly getRun: (request: GetRunRequest, call: Call) => Promise<Run>;
  /**
   * What the requests that started these runs said of themselves, as StartRequest has it; of at most a hundred runs. A run that is absent, and one
   * whose request said nothing, is left out.
   */
  readonly listRunRequests: (request: ListRunRequestsRequest, call: Call) => Promise<ListRunRequestsReply>;
  /** The runs of a thread, newest first. */
  readonly listRuns: (request: ListRunsRequest, call: Call) => Promise<ListRunsReply>;
  /**
   * The runs of an owner, whatever their threads, newest first. A page reads a bounded number of runs: when few of them match, it may
   * hold fewer than `limit`, or none, and still have a cursor.
   */
  readonly listOwnRuns: (request: ListOwnRunsRequest, call: Call) => Promise<ListOwnRunsReply>;
  /** The newest 10,000 runs of all owners, newest first, in pages as those of ListOwnRuns: for operators. A store may forget those accepted more than 90 days ago. */
  readonly listAllRuns: (request: ListAllRunsRequest, call: Call) => Promise<ListAllRunsReply>;
  /**
   * How many of an owner's newest 10,000 runs pass the filters of ListOwnRuns, by day and status, and how long they took. Invalid for an
   * unknown time zone.
   */
  readonly countRuns: (request: CountRunsRequest, call: Call) => Promise<CountRunsReply>;
  /** The messages that the run's steps added to the log, in order, page by page; without the run's input. */
  readonly listRunMessages: (request: ListRunMessagesRequest, call: Call) => Promise<ListRunMessagesReply>;
  /**
   * What each committed step of the run changed, from `from_step` on, as it was committed: later changes do not show. Steps whose
   * checkpoints are not kept any more are left out; all steps of a run that has not ended are kept. A reply holds some steps: the caller
   * continues from the step after the last one, until a reply is empty.
   */
  readonly listRunSteps: (request: ListRunStepsRequest, call: Call) => Promise<ListRunStepsReply>;
  /**
   * How each committed step of the run went, from `from_step` on, and which step is under way. Steps are kept as for ListRunSteps. A reply holds
   * some steps.
   */
  readonly listRunTrace: (request: ListRunTraceRequest, call: Call) => Promise<ListRunTraceReply>;
}

/** A part of {@link Threads}. */
export interface ToolRecordCalls {
  /**
   * Records that an at-most-once tool call begins, behind the same fence as a commit; Stale when the step is not this worker's any more.
   * The reply says whether an earlier attempt began the call, and its result.
   */
  readonly noteToolStarted: (request: NoteToolStartedRequest, call: Call) => Promise<NoteToolStartedReply>;
  /**
   * Records the result of such a call, for a later attempt at the step. Stale as above. A second call with the same key and result
   * changes nothing.
   */
  readonly noteToolResult: (request: NoteToolResultRequest, call: Call) => Promise<NoteToolResultReply>;
}

/** A part of {@link Threads}. */
export interface SweepCalls {
  /** The runs of all owners that are queued or running, in a fixed order, the oldest first, page by page. A sleeping run may be among them. */
  readonly listOpenRuns: (request: ListOpenRunsRequest, call: Call) => Promise<ListOpenRunsReply>;
  /**
   * The runs of all owners that sleep until `until` or less, or that are interrupted and whose questions have such a deadline, by this time
   * and run id, page by page.
   */
  readonly listSleepingRuns: (request: ListSleepingRunsRequest, call: Call) => Promise<ListSleepingRunsReply>;
  /** The threads of all owners that did not change since a time and that no run holds. */
  readonly listIdle: (request: ListIdleRequest, call: Call) => Promise<ListIdleReply>;
  /** The threads of all owners that are marked as deleting and not yet removed. */
  readonly listDeleting: (request: ListDeletingRequest, call: Call) => Promise<ListDeletingReply>;
}

/** A part of {@link Threads}. */
export interface ThreadReadCalls {
  readonly getThread: (request: GetThreadRequest, call: Call) => Promise<Thread>;
  /** The most recently updated thread first. */
  readonly listThreads: (request: ListThreadsRequest, call: Call) => Promise<ListThreadsReply>;
  /**
   * Of the 10,000 most recently updated threads those that pass every filter that is given, as they are at the reading. With `thread_ids` of
   * those, however old.
   */
  readonly searchThreads: (request: SearchThreadsRequest, call: Call) => Promise<SearchThreadsReply>;
  /** How many threads the same filters find. */
  readonly countThreads: (request: CountThreadsRequest, call: Call) => Promise<CountThreadsReply>;
}

/** A part of {@link Threads}. */
export interface ThreadChangeCalls {
  /**
   * Makes a thread without a run: it is idle, and its state is empty. Conflict when the thread exists. With `agent` it belongs to that one from
   * now on; absent: to that of its first run.
   */
  readonly createThread: (request: CreateThreadRequest, call: Call) => Promise<Thread>;
  /** Changes name and metadata of a thread, also while a run holds it; its version stays. What is as asked already is not written. */
  readonly updateThread: (request: UpdateThreadRequest, call: Call) => Promise<Thread>;
}

/** A part of {@link Threads}. */
export interface DeletionCalls {
  /**
   * Marks the thread as deleting and ends its run: after this reply the thread is NotFound everywhere. NotFound when it is absent. A
   * thread that is marked already can be marked again, so that an interrupted deletion can continue.
   */
  readonly beginDelete: (request: BeginDeleteRequest, call: Call) => Promise<BeginDeleteReply>;
  /** Removes every row of a thread that is marked as deleting. Any other thread stays. */
  readonly finishDelete: (request: FinishDeleteRequest, call: Call) => Promise<FinishDeleteReply>;
}

/** A part of {@link Threads}. */
export interface StateCalls {
  readonly getState: (request: GetStateRequest, call: Call) => Promise<State>;
  /**
   * Writes fields and messages as given: the caller has applied the reducers. Conflict while a run holds the thread, or when
   * `expected_version` is not the version of the thread.
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
   * Removes the messages of the context with an unanswered tool call, and the results of their other calls. The thread then does not
   * wait for these calls any more. Conflict while a run holds the thread.
   */
  readonly fixThread: (request: FixThreadRequest, call: Call) => Promise<FixThreadReply>;
}

/** A part of {@link Threads}. */
export interface HistoryCalls {
  /** The checkpoints of a thread that are kept, newest first. */
  readonly listCheckpoints: (request: ListCheckpointsRequest, call: Call) => Promise<ListCheckpointsReply>;
  /** The state at a checkpoint. NotFound when the checkpoint is not kept. */
  readonly getCheckpoint: (request: GetCheckpointRequest, call: Call) => Promise<GetCheckpointReply>;
  /**
   * Makes a thread from a checkpoint of another: with its fields, its context, and the log up to the checkpoint. The new thread exists
   * whole or not at all. Conflict when its id is taken. A second call with the same `new_thread_id` and request returns the same reply.
   */
  readonly forkThread: (request: ForkThreadRequest, call: Call) => Promise<Thread>;
  /**
   * Makes a thread again what it was at one of its checkpoints: fields, context, log and what it waits for, as a new version in one change. The
   * versions before it are kept as before. Nothing changes when the thread is at that checkpoint. NotFound when the checkpoint is not kept;
   * Conflict while a run holds the thread, and when what has changed since is more than one change holds.
   */
  readonly restoreThread: (request: RestoreThreadRequest, call: Call) => Promise<Thread>;
  /**
   * Drops checkpoints of a thread that were made before a time, but for the newest. Those that the run which holds the thread may be rolled
   * back by stay, as does all that a thread waits for. State, messages and version do not change.
   */
  readonly pruneThread: (request: PruneThreadRequest, call: Call) => Promise<PruneThreadReply>;
}

/** A part of {@link Threads}. */
export interface IdempotencyCalls {
  /**
   * Records the begin of an idempotent request; the reply says how far an earlier request with its key came. Invalid when that one had
   * another body.
   */
  readonly beginOnce: (request: BeginOnceRequest, call: Call) => Promise<BeginOnceReply>;
  /**
   * Keeps the reply of an idempotent request for later requests with its key, or records that the request may be done again. All
   * replies that are kept under one key are the same.
   */
  readonly endOnce: (request: EndOnceRequest, call: Call) => Promise<EndOnceReply>;
}

/** A part of {@link Threads}. */
export interface FileCalls {
  /**
   * Puts a file on record, `uploading`: its bytes are stored elsewhere, by the caller. As many of `reserve_bytes` as its owner has room
   * for are reserved: they count as bytes of the owner until the file is finished or forgotten. TooLarge when the owner has `max_files`
   * files already, or no room for `least_bytes`. A second call with the same file_id reserves more for a file that is still `uploading`,
   * changes nothing else, and returns the record.
   */
  readonly beginFile: (request: BeginFileRequest, call: Call) => Promise<FileRecord>;
  /**
   * Makes an uploading file `stored`, once its bytes are durable. TooLarge when its owner would have more than `max_bytes` bytes, Stale
   * when the file is no longer `uploading`. A second call with the same size and hash returns the same record.
   */
  readonly finishFile: (request: FinishFileRequest, call: Call) => Promise<FileRecord>;
  /** A stored file. Any other is NotFound. */
  readonly getFile: (request: GetFileRequest, call: Call) => Promise<FileRecord>;
  /**
   * The stored files of an owner that pass the filter, the newest first, by their ids. A page reads a bounded number of files: it may have
   * fewer than `limit`, or none, and still a cursor.
   */
  readonly listFiles: (request: ListFilesRequest, call: Call) => Promise<ListFilesReply>;
  /**
   * Makes a file `deleting`: after this reply it is NotFound for readers, and its bytes are to be removed. NotFound when it is absent. A
   * file that is `deleting` already can be deleted again, so that an interrupted deletion can continue.
   */
  readonly deleteFile: (request: DeleteFileRequest, call: Call) => Promise<DeleteFileReply>;
  /** Removes the record of a file that is `deleting`, once its bytes are gone. Any other file stays. */
  readonly forgetFile: (request: ForgetFileRequest, call: Call) => Promise<ForgetFileReply>;
  /**
   * The files of all owners whose bytes are to be removed, page by page, each `deleting` with this reply: those that were deleted, those
   * that began before `uploading_before` and did not finish, and those that no thread names at the end of their time. A page may be
   * empty and still have a cursor.
   */
  readonly listFilesToRemove: (request: ListFilesToRemoveRequest, call: Call) => Promise<ListFilesToRemoveReply>;
}

/** A part of {@link Threads}. */
export interface AgentCalls {
  /**
   * Registers a revision of an agent, and the agent with its first revision; with `make_current` also routes new runs to it. A second call
   * with the same request changes nothing. Conflict when the revision is registered with another `schema_hash`, is retired, when there are
   * too many agents or revisions, or when the routing has another version than `make_current` names.
   */
  readonly registerRevision: (request: RegisterRevisionRequest, call: Call) => Promise<RegisteredAgent>;
  /** NotFound when it is not registered. */
  readonly getRegisteredAgent: (request: GetRegisteredAgentRequest, call: Call) => Promise<RegisteredAgent>;
  /** All registered agents, by name. */
  readonly listRegisteredAgents: (
    request: ListRegisteredAgentsRequest,
    call: Call,
  ) => Promise<ListRegisteredAgentsReply>;
  /** What a revision looks like to callers; without `revision` the current one. NotFound when it is not registered. */
  readonly getRevision: (request: GetRevisionRequest, call: Call) => Promise<RevisionDefinition>;
  /**
   * Decides which revisions serve new runs. Conflict when the routing has another version, which the message names. A second call with the
   * same request changes nothing and returns the same.
   */
  readonly routeAgent: (request: RouteAgentRequest, call: Call) => Promise<RegisteredAgent>;
  /**
   * Takes a revision out of use for good. Its runs without a commit move to the current revision, and those with commits fail, each when
   * it is claimed next. Conflict while new runs are routed to it. A second call changes nothing.
   */
  readonly retireRevision: (request: RetireRevisionRequest, call: Call) => Promise<RegisteredAgent>;
}

/** A part of {@link Threads}. */
export interface ResourceCalls {
  /** An object that an owner keeps beside threads. NotFound when it is absent. */
  readonly getResource: (request: GetResourceRequest, call: Call) => Promise<Resource>;
  /**
   * Writes a version of an object: version 1 makes it, as does any with `is_new`, and any other follows the one before it. Conflict when that is not
   * the version on record, NotFound when the object is absent.
   */
  readonly putResource: (request: PutResourceRequest, call: Call) => Promise<PutResourceReply>;
  /** Removes an object. Conflict when it has another version. One that is absent is removed already. */
  readonly deleteResource: (request: DeleteResourceRequest, call: Call) => Promise<DeleteResourceReply>;
  /** The objects of one kind and owner by id, descending: of ids that are UUIDv7 the newest first. */
  readonly listResources: (request: ListResourcesRequest, call: Call) => Promise<ListResourcesReply>;
  /** The same without what the objects hold. */
  readonly listResourceMarks: (request: ListResourceMarksRequest, call: Call) => Promise<ListResourceMarksReply>;
  /** How many objects of one kind an owner has, up to a bound. */
  readonly countResources: (request: CountResourcesRequest, call: Call) => Promise<CountResourcesReply>;
  /** The objects of one kind of all owners that are due by the clock of the record, by due time, owner and id, page by page. */
  readonly listDueResources: (request: ListDueResourcesRequest, call: Call) => Promise<ListDueResourcesReply>;
}

/**
 * The record: threads with their state, messages and runs. Three promises hold: a reply means that the write is durable, each call has
 * its whole effect or none, and a thread of another owner is absent.
 *
 * Every time is in milliseconds since 1970 UTC. Every `json` field is UTF-8 JSON text.
 *
 * The line `retry` above a method says whether a call with an unknown outcome may be repeated, also at another replica. `safe`: always;
 * the call reads, or a second call changes nothing. `attempt`: with the same `attempt_id`, which the caller makes for the first call and
 * no other request has. The record keeps that id in the same write as the effect: the effect is made once, and a repeated call gets the
 * reply of the first. `never`: not at all.
 *
 * The line `pool` says what a worker may call that shows the token of a pool. `never`: not this. `agent`: for the agents of its pool; the
 * request has a field `agent`, and its absence means `default`. `run`: with the grant of a claim, where every one of owner, thread, run and
 * epoch that the request has is that of the grant. With `, also expired` after it the grant may be past its time.
 *
 * The line `part` names the interface to which a method belongs. A caller takes the interfaces that it needs.
 */
export interface Threads
  extends
    RunCalls,
    QuestionCalls,
    GrantCalls,
    RunReadCalls,
    ToolRecordCalls,
    SweepCalls,
    ThreadReadCalls,
    ThreadChangeCalls,
    DeletionCalls,
    StateCalls,
    MessageCalls,
    HistoryCalls,
    IdempotencyCalls,
    FileCalls,
    AgentCalls,
    ResourceCalls {}

/** Which calls of {@link Threads} may be made again. */
export const threadsRetries: Readonly<Record<keyof Threads, RetryRule>> = {
  acceptRun: { retry: 'attempt', takesLong: false },
  claimRun: { retry: 'attempt', takesLong: false },
  releaseRun: { retry: 'attempt', takesLong: false },
  commitStep: { retry: 'attempt', takesLong: false },
  endRun: { retry: 'attempt', takesLong: false },
  passDeadline: { retry: 'safe', takesLong: false },
  answerQuestion: { retry: 'attempt', takesLong: false },
  getQuestion: { retry: 'safe', takesLong: false },
  listQuestions: { retry: 'safe', takesLong: false },
  renewGrant: { retry: 'safe', takesLong: false },
  getRun: { retry: 'safe', takesLong: false },
  listRunRequests: { retry: 'safe', takesLong: false },
  listRuns: { retry: 'safe', takesLong: false },
  listOwnRuns: { retry: 'safe', takesLong: false },
  listAllRuns: { retry: 'safe', takesLong: false },
  countRuns: { retry: 'safe', takesLong: false },
  listRunMessages: { retry: 'safe', takesLong: false },
  listRunSteps: { retry: 'safe', takesLong: false },
  listRunTrace: { retry: 'safe', takesLong: false },
  noteToolStarted: { retry: 'attempt', takesLong: false },
  noteToolResult: { retry: 'safe', takesLong: false },
  listOpenRuns: { retry: 'safe', takesLong: false },
  listSleepingRuns: { retry: 'safe', takesLong: false },
  getThread: { retry: 'safe', takesLong: false },
  listThreads: { retry: 'safe', takesLong: false },
  createThread: { retry: 'attempt', takesLong: false },
  updateThread: { retry: 'attempt', takesLong: false },
  searchThreads: { retry: 'safe', takesLong: false },
  countThreads: { retry: 'safe', takesLong: false },
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
  restoreThread: { retry: 'attempt', takesLong: false },
  pruneThread: { retry: 'attempt', takesLong: false },
  fixThread: { retry: 'attempt', takesLong: false },
  beginOnce: { retry: 'attempt', takesLong: false },
  endOnce: { retry: 'safe', takesLong: false },
  beginFile: { retry: 'safe', takesLong: false },
  finishFile: { retry: 'safe', takesLong: false },
  getFile: { retry: 'safe', takesLong: false },
  listFiles: { retry: 'safe', takesLong: false },
  deleteFile: { retry: 'safe', takesLong: false },
  forgetFile: { retry: 'safe', takesLong: false },
  listFilesToRemove: { retry: 'safe', takesLong: false },
  registerRevision: { retry: 'safe', takesLong: false },
  getRegisteredAgent: { retry: 'safe', takesLong: false },
  listRegisteredAgents: { retry: 'safe', takesLong: false },
  getRevision: { retry: 'safe', takesLong: false },
  routeAgent: { retry: 'safe', takesLong: false },
  retireRevision: { retry: 'safe', takesLong: false },
  getResource: { retry: 'safe', takesLong: false },
  putResource: { retry: 'attempt', takesLong: false },
  deleteResource: { retry: 'safe', takesLong: false },
  listResources: { retry: 'safe', takesLong: false },
  listResourceMarks: { retry: 'safe', takesLong: false },
  countResources: { retry: 'safe', takesLong: false },
  listDueResources: { retry: 'safe', takesLong: false },
};

/** What a pool of workers may call of {@link Threads}. */
export const threadsPools: Readonly<Record<keyof Threads, PoolRule>> = {
  acceptRun: 'never',
  claimRun: 'agent',
  releaseRun: 'run',
  commitStep: 'run',
  endRun: 'run',
  passDeadline: 'never',
  answerQuestion: 'never',
  getQuestion: 'never',
  listQuestions: 'never',
  renewGrant: 'run, also expired',
  getRun: 'run',
  listRunRequests: 'never',
  listRuns: 'never',
  listOwnRuns: 'never',
  listAllRuns: 'never',
  countRuns: 'never',
  listRunMessages: 'run',
  listRunSteps: 'run',
  listRunTrace: 'never',
  noteToolStarted: 'run',
  noteToolResult: 'run',
  listOpenRuns: 'never',
  listSleepingRuns: 'never',
  getThread: 'never',
  listThreads: 'never',
  createThread: 'never',
  updateThread: 'never',
  searchThreads: 'never',
  countThreads: 'never',
  beginDelete: 'never',
  finishDelete: 'never',
  listIdle: 'never',
  listDeleting: 'never',
  getState: 'run',
  writeState: 'never',
  clearState: 'never',
  listMessages: 'never',
  getMessage: 'never',
  addMessages: 'never',
  deleteMessage: 'never',
  listCheckpoints: 'run',
  getCheckpoint: 'run',
  forkThread: 'never',
  restoreThread: 'never',
  pruneThread: 'never',
  fixThread: 'never',
  beginOnce: 'never',
  endOnce: 'never',
  beginFile: 'never',
  finishFile: 'never',
  getFile: 'never',
  listFiles: 'never',
  deleteFile: 'never',
  forgetFile: 'never',
  listFilesToRemove: 'never',
  registerRevision: 'agent',
  getRegisteredAgent: 'agent',
  listRegisteredAgents: 'never',
  getRevision: 'never',
  routeAgent: 'never',
  retireRevision: 'never',
  getResource: 'never',
  putResource: 'never',
  deleteResource: 'never',
  listResources: 'never',
  listResourceMarks: 'never',
  countResources: 'never',
  listDueResources: 'never',
};

export interface RegisterRevisionRequest {
  readonly agent: string;
  readonly description?: string;
  readonly revision: string;
  /** Names the definition: SHA-256 as 64 hexadecimal digits. */
  readonly schemaHash: string;
  readonly definition: RevisionDefinition;
  /** Absent: the routing stays. */
  readonly makeCurrent?: MakeCurrent;
}

export interface MakeCurrent {
  /** The version of the routing that the caller has read; 0 of an agent that is not registered. */
  readonly version: number;
}

/** What a revision of an agent looks like to callers. JSON texts, which the record does not read. */
export interface RevisionDefinition {
  readonly graphJson: Uint8Array;
  readonly fieldsJson: Uint8Array;
  readonly toolsJson: Uint8Array;
  /** Names of the nodes; those of a sub-graph as `sub/node`. */
  readonly nodes: readonly string[];
  readonly codeFields: CodeFields;
}

/** The fields whose new values only the code of the agent can make or check: their names. */
export interface CodeFields {
  /** Those with a reducer. */
  readonly reduced: readonly string[];
  /** Those that code checks beside their schema. */
  readonly checked: readonly string[];
}

export interface RegisteredAgent {
  readonly agent: string;
  readonly description?: string;
  readonly routing: AgentRouting;
  /** The oldest first. */
  readonly revisions: readonly AgentRevision[];
  /** In the reply of GetRegisteredAgent to a worker that shows the token of a pool: the name of that pool. */
  readonly pool?: string;
}

export interface AgentRouting {
  /** Rises by one with every change; 0 before the first. */
  readonly version: number;
  /** The revision that serves new runs. Absent: new runs have no revision. */
  readonly current?: string;
  readonly ramping?: RampingRevision;
}

/** A revision that serves a share of the threads: the same ones as long as the share stays or grows. */
export interface RampingRevision {
  readonly revision: string;
  /** From 0 to 100, with at most two decimals. */
  readonly percent: number;
}

export interface AgentRevision {
  readonly revision: string;
  readonly registeredAt: number;
  readonly state: RevisionState;
  readonly schemaHash: string;
  /** The share of the threads whose new runs it serves, from 0 to 100. */
  readonly percent: number;
  /** When new runs were last routed away from it, in milliseconds since 1970. Absent while it serves them, and where that is not known. */
  readonly unroutedAt?: number;
}

export interface GetRegisteredAgentRequest {
  readonly agent: string;
}

export type ListRegisteredAgentsRequest = Readonly<Record<string, never>>;

export interface ListRegisteredAgentsReply {
  readonly agents: readonly RegisteredAgent[];
}

export interface GetRevisionRequest {
  readonly agent: string;
  readonly revision?: string;
}

export interface RouteAgentRequest {
  readonly agent: string;
  /** The version of the routing that the caller has read. */
  readonly version: number;
  readonly current: string;
  readonly ramping?: RampingRevision;
}

export interface RetireRevisionRequest {
  readonly agent: string;
  readonly revision: string;
}

/** A message of the log: its id, and its whole JSON, which contains the same id. */
export interface MessageEntry {
  readonly messageId: string;
  readonly json: Uint8Array;
}

/** A remote tool call without a result. */
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
  /**
   * A JSON object: what is set in the metadata of a thread that is there already, unless a run holds it. Metadata that has no room for it stays
   * as it is.
   */
  readonly marksJson?: Uint8Array;
  /** The run's input. It is appended to the log at the claim. */
  readonly messages: readonly MessageEntry[];
  /** The calls that the input answers. */
  readonly answers: readonly string[];
  /** Whether the input has more than answers. Then every other open call is answered as cancelled. */
  readonly hasNewInput: boolean;
  /** What the worker needs beside the messages. The record does not read it. */
  readonly optionsJson: Uint8Array;
  /**
   * `enqueue`; `reject`; `interrupt`: ends the run that holds the thread, keeps its steps, and takes its place; `rollback`: does the same
   * and restores fields, context and log to the state before that run. A run that undoes changes is not claimed in the same write.
   */
  readonly multitaskStrategy: MultitaskStrategy;
  readonly granularity: Granularity;
  /** Claims the run for this worker in the same write when the thread is idle. */
  readonly claim?: ClaimIntent;
  /** The answers to the questions of the interrupted run. */
  readonly resume?: Resume;
  /**
   * The thread is first brought back to this checkpoint of it, in the same change. Conflict while a run holds the thread, and when what has
   * changed since is more than one change holds.
   */
  readonly checkpointId?: string;
  /** Used when the thread is made by this run: for how many seconds it is kept after its last change. */
  readonly ttlSeconds?: number;
  /** Whether the ids of the run and of the thread were made for this request: no earlier request has used them. */
  readonly runIdIsNew?: boolean;
  readonly threadIdIsNew?: boolean;
  /** Refuses a run that would continue at a node that is not one of these; nothing changes then. Absent: any node. */
  readonly nodes?: NodeNames;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The agent whose run it is, and which the thread then belongs to. Absent: `default`, of a process that serves no other. */
  readonly agent?: string;
  /**
   * Whether the caller did not name the agent. On a thread of another agent nothing changes then, and the reply names that agent.
   * Otherwise such a run is a Conflict.
   */
  readonly agentIsGuess?: boolean;
  /**
   * The revision by which the caller has checked the request; empty: none. When another one would serve the run now, nothing changes, and
   * the reply names that one. Absent: any may serve it.
   */
  readonly checkedRevision?: string;
  /** Where the end of the run is delivered to: a JSON object, which the record hands to the outbox unread. */
  readonly webhookJson?: string;
  /**
   * The failed run that this one tries again: the options of that run count, and it begins with the step that failed. Conflict, saying why, when
   * that run has not failed, has left nothing to go on from, or is not the last that changed the thread.
   */
  readonly retryOf?: string;
  /** How early the run is taken among the waiting runs of its owner, which the record keeps for those that enqueue it again. Absent: 0. */
  readonly priority?: number;
  /**
   * The run is accepted only while this is the newest run of its thread; empty: while that has none. Conflict with the type `newer_run` where another
   * is.
   */
  readonly newestRunId?: string;
  /**
   * The ids of the open questions of others that the caller may answer, or drop, all the same. Without them PermissionDenied for an answer to one, and
   * Conflict for what would drop one, both with the type `question_of_others` and the id of the Question. May be absent.
   */
  readonly mayAnswer?: readonly string[];
  /**
   * The thread goes with the end of this run: noted, in the same change, as a resource of the kind `completion` that is due after so many milliseconds.
   * Absent: it stays.
   */
  readonly deletesThreadAfterMs?: number;
  /** The run is accepted only where it makes its thread. Conflict with the type `thread_exists` where that is there already. */
  readonly onlyNewThread?: boolean;
}

/** The nodes of a graph; those of a sub-graph as `sub/node`. */
export interface NodeNames {
  readonly names: readonly string[];
  /** The first nodes of every run from the start of the graph; empty when a conditional edge chooses them. */
  readonly first: readonly string[];
}

/** The answers to open questions: by their ids, or one bare answer when exactly one question is open. */
export interface Resume {
  /** The keys of the answer when it is an object; empty otherwise. */
  readonly keys: readonly string[];
}

export interface ClaimIntent {
  readonly workerId: string;
  /** The version of the thread that this worker still has in memory, if any. */
  readonly knownVersion?: number;
  /** The revision that this worker holds. A run of another revision is not claimed, and waits for a worker that holds it. */
  readonly revision?: string;
}

export interface AcceptRunReply {
  readonly runId: string;
  readonly threadId: string;
  readonly isNewThread: boolean;
  readonly status: RunStatus;
  /** Whether the run holds the thread, so that it can be claimed now. */
  readonly runnable: boolean;
  /** Present when the request has `claim` and the thread was idle. */
  readonly claimed?: ClaimedRun;
  /** The run that was ended for this one. */
  readonly stoppedRunId?: string;
  /** Set when nothing was accepted, because the thread belongs to this agent and the request guessed another. */
  readonly otherAgent?: string;
  /** Of a run that can be claimed: the agent whose run it is. Absent: `default`. */
  readonly agent?: string;
  /** Of a run that can be claimed: the revision that serves it. Absent: any. */
  readonly revision?: string;
  /** Set when nothing was accepted, because this revision would serve the run and the request was checked by another; empty: none. */
  readonly otherRevision?: string;
  /** Whether the run was on record before: an earlier request, or an earlier attempt at this one, has made it. */
  readonly existed?: boolean;
  /** When the run was accepted, in milliseconds since 1970. */
  readonly createdAt?: number;
}

export interface ClaimRunRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly workerId: string;
  readonly knownVersion?: number;
  /** The epoch of the claim from which the run is taken over: its worker is thought dead. A later claim is not taken over. */
  readonly takeoverEpoch?: number;
  /** Does not use the last claim of a run: when only one is left, nothing changes, and `last_claim` is set. */
  readonly notLast?: boolean;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** Ends a run that would continue at a node that is not one of these, before its input is appended. Absent: any node. */
  readonly nodes?: NodeNames;
  /**
   * The agent that the worker would run. Of the run of another agent nothing changes, and the reply names that agent. Absent: `default`,
   * of a worker that holds no other; the run of another agent is Stale then.
   */
  readonly agent?: string;
  /**
   * The revision that the worker holds. It claims runs of that revision and runs without one; of any other nothing is claimed, and the
   * reply names its revision. Absent: the worker claims runs without a revision, and any other is Stale.
   */
  readonly revision?: string;
}

/** What a worker of a pool shows in its calls for a run that it has claimed. Only the service makes and reads it. */
export interface RunGrant {
  readonly token: string;
  /** How long it is good, in milliseconds. */
  readonly forMs: number;
}

export interface RenewGrantRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
}

export interface RenewGrantReply {
  /** Absent in a reply to a process of the platform, which needs none. */
  readonly grant?: RunGrant;
}

export interface ReleaseRunRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
}

export type ReleaseRunReply = Readonly<Record<string, never>>;

/**
 * The result of a claim. With `last_claim` the run was not claimed and nothing changed. With `given_up` it was ended instead of
 * claimed. Otherwise the worker has it, and this is everything that it needs to drive the run.
 */
export interface ClaimedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly requestId: string;
  readonly granularity: Granularity;
  readonly isNewThread: boolean;
  /** The fence: every commit names it. */
  readonly epoch: number;
  /** The number of the next step. */
  readonly step: number;
  readonly optionsJson: Uint8Array;
  /**
   * The version of the thread before this claim; `state` is absent when it is the `known_version` of the request
   * and nothing was replaced.
   */
  readonly previousVersion: number;
  readonly version: number;
  /** Fields and context after this claim, `appended` included. */
  readonly state?: State;
  /**
   * The messages that this claim added to log and context: results for cancelled calls, then the run's input. Their JSON is empty when
   * `state` is present, because its context has them.
   */
  readonly appended: readonly MessageEntry[];
  /** The nodes at which an interrupted run continues; empty: the graph begins at its start. */
  readonly next: readonly string[];
  /** The calls still open after the input. */
  readonly openCalls: readonly OpenCall[];
  /** The interrupted run that this one continues. */
  readonly resumes?: string;
  /** Whether any of `appended` replaced a message of the log. */
  readonly replaced: boolean;
  /** The number of this claim since the last commit of the run, from 1. */
  readonly attempt: number;
  /**
   * Set when an earlier claim had the run: the messages that its steps added, and what the worker kept with the last commit. When they do
   * not fit into a page, these are the newest, `output_is_partial` is set, and `output_reply_json` is the last message of the assistant
   * if it is not one of them.
   */
  readonly isTakeover: boolean;
  readonly outputJson?: Uint8Array;
  readonly outputIsPartial?: boolean;
  readonly outputReplyJson?: Uint8Array;
  readonly progressJson?: Uint8Array;
  /** Set when the run was ended instead of claimed: the reason, and the run that holds the thread now. */
  readonly givenUp?: RunError;
  readonly nextRunId?: string;
  /** Set when the run was not claimed because of `not_last`. The worker claims it when it drives no other run on its last claim. */
  readonly lastClaim?: boolean;
  /** Whether the run answers questions that are not open. Then nothing was appended, and the worker ends the run. */
  readonly resumeUnmatched: boolean;
  /** Set when this claim wakes a sleeping run: the time until which it slept. */
  readonly wakeAt?: number;
  /** The ids of results in the input for calls that were not made. When there are any, nothing was appended, and the worker ends the run. */
  readonly unmatchedAnswers: readonly string[];
  /** The tokens by model that the run has taken up to its last commit. */
  readonly usageJson?: string;
  /** The agent whose run it is. Absent: `default`. */
  readonly agent?: string;
  /** Set when the run was not claimed, because it belongs to this agent and the request named another. */
  readonly otherAgent?: string;
  /** The revision that serves the run. Absent: any. */
  readonly revision?: string;
  /** Set when the run was not claimed, because this revision serves it and the request named another. */
  readonly otherRevision?: string;
  /** The revision of the run that `next_run_id` names. */
  readonly nextRevision?: string;
  /** In a reply to a worker of a pool that has the run, or whose claim has ended it. */
  readonly grant?: RunGrant;
  /**
   * The clock of the record when it replied to ClaimRun; a repeated call gets that of its own reply. A worker measures its own clock by it.
   * Absent in the reply to AcceptRun.
   */
  readonly now?: number;
}

export interface State {
  readonly version: number;
  /** Each field name with its JSON value, `context_summary` included; fields that were never set are absent. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** The messages the model sees: a JSON array. */
  readonly contextJson: Uint8Array;
  /** Whether older messages of the context are left out because they do not fit into a reply. */
  readonly contextTruncated?: boolean;
  /** The agent that the thread belongs to; absent before its first run. */
  readonly agent?: string;
}

export interface CommitStepRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  /**
   * When the step ended. Everything that is derived from this commit has this time. Where it is more than a second ahead of the record, all
   * times of the commit are moved by so much, `wake_at` included.
   */
  readonly at: number;
  /** The changed fields: each name with its JSON value. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** Messages added, or replaced when `replaces_messages` is set. */
  readonly messages: readonly MessageEntry[];
  /** Whether any of `messages` may have the id of a message in the log. Otherwise all of them are new, and no id is looked up. */
  readonly replacesMessages: boolean;
  /** Ids of messages that leave the context and stay in the log. */
  readonly removedFromContext: readonly string[];
  /** The nodes of the step that was committed. */
  readonly nodes: readonly string[];
  /** The nodes of the next step. */
  readonly next: readonly string[];
  readonly openCalls: readonly OpenCall[];
  readonly end?: RunEnd;
  /**
   * What a later claim of the run returns to the worker. The record reads `visits` of it when the run is ended by others
   * (`protos/progress.ts`).
   */
  readonly progressJson?: Uint8Array;
  /** The ids of the open questions. */
  readonly openInterrupts: readonly string[];
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The run sleeps from this commit on until this time. Together with an `end` of status `interrupted`: the first deadline of its questions. */
  readonly wakeAt?: number;
  /** The tokens by model that the run has taken with this step and all before it: a JSON array, as text. Absent: as before. */
  readonly usageJson?: string;
  /** Kept with the checkpoint of the step, for those who read it later; the record does not read it. */
  readonly work?: StepWork;
  /** Kept with the checkpoint of the step, too. Absent where `nodes` and `work` say all of it. */
  readonly trace?: StepTrace;
  /**
   * The step after this one, committed in the same write: the version in the reply is that of this step. Not together with `end` or
   * `wake_at`.
   */
  readonly fused?: FusedStep;
  /**
   * What the run has brought, before its first nodes run: no step has ended, and the checkpoint is one of the input, with the number of the step
   * that comes. Together with fields, and with what leaves the context.
   */
  readonly ofInput?: boolean;
}

/**
 * A step that is committed in one write with the step before it, and gets a version and a checkpoint of its own. It adds new messages and
 * changes nothing else of the state.
 */
export interface FusedStep {
  /** When the step ended. */
  readonly at: number;
  readonly messages: readonly MessageEntry[];
  /** The nodes of the step. */
  readonly nodes: readonly string[];
  /** The nodes of the next step. */
  readonly next: readonly string[];
  readonly openCalls: readonly OpenCall[];
  /** With it the fused step is the run's last. */
  readonly end?: RunEnd;
  readonly progressJson?: Uint8Array;
  readonly usageJson?: string;
  readonly work?: StepWork;
  readonly trace?: StepTrace;
}

/** What went on within a step: `protos/run-trace.ts` says what the two texts hold. The record does not read them. */
export interface StepTrace {
  /** Nodes, branches, attempts, calls of models and tools, with their times. */
  readonly spansJson: Uint8Array;
  /** For operators alone: prompts, stacks and what code has logged. */
  readonly contentJson?: Uint8Array;
}

/** How a step ran. */
export interface StepWork {
  /** When its nodes began, in the attempt that was committed. */
  readonly startedAt: number;
  /**
   * The number of that attempt, from 1: a step is attempted again when another worker takes the run over. After a sleep, a takeover counts
   * as two.
   */
  readonly attempt: number;
  /** How often its nodes began again after an error, in that attempt. Absent when the run failed in it. */
  readonly retries?: number;
  /** The tokens that models took since the step before, also in attempts at nodes that failed. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface RunEnd {
  readonly status: EndStatus;
  readonly iterations: number;
  readonly recursionLimitReached: boolean;
  readonly error?: RunError;
  /** The questions of an interrupted run: a JSON array, as text. */
  readonly interruptsJson?: string;
  /** Whether what it has changed was undone: another run took its place by `rollback`. Absent: no. */
  readonly undone?: boolean;
}

export interface RunError {
  readonly code: FailureCode;
  readonly message: string;
  readonly node?: string;
  /** Why code of the agent failed; absent where the message is of the service itself. */
  readonly reason?: FailureReason;
  /** The parameter of a request to a model that was refused. */
  readonly parameter?: ModelParameter;
  /** The class of what was thrown, as `TypeError`; absent where nothing with a class of that kind was. */
  readonly thrown?: string;
}

export interface CommitStepReply {
  readonly version: number;
  /** The run that now holds the thread and needs a worker. */
  readonly nextRunId?: string;
  /** Set when a message that was removed from the context is in it again, at its place in the log, which only the record knows. */
  readonly rejoined?: boolean;
  /** The revision of the run that `next_run_id` names. Absent: any. */
  readonly nextRevision?: string;
}

export interface EndRunRequest {
  readonly owner: string;
  readonly runId: string;
  readonly status: ImposedEnd;
  readonly error?: RunError;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** Only a run that holds its thread and that no worker has claimed: any other is Stale. */
  readonly onlyWaiting?: boolean;
  /**
   * Messages with what the step under way has published so far. Those that are in the log already are left out, and all of them where the run is not
   * driven, tool calls are open, or they do not fit.
   */
  readonly partial?: PartialMessages;
  /** Whether the questions of a run that waits, and their deadlines, stay as they are: it is stopped by somebody who may not answer for its owner. */
  readonly keepsQuestions?: boolean;
  /** The thread that waits with what the run has asked, where it is a fork of that of the run. Absent: that of the run. */
  readonly threadId?: string;
}

export interface PartialMessages {
  readonly messages: readonly MessageEntry[];
  /** The number of the last event that they are made from. */
  readonly seq: number;
}

/** What is kept of a step that a stop has ended. */
export interface KeptPartial {
  /** The number of the last event whose text is kept. */
  readonly seq: number;
  /** The messages that hold the text. */
  readonly messageIds: readonly string[];
}

export interface EndRunReply {
  /** The status with which the run ended: that of the request, or that of an earlier end. */
  readonly status: EndStatus;
  readonly endedNow: boolean;
  readonly nextRunId?: string;
  /** The revision of the run that `next_run_id` names. Absent: any. */
  readonly nextRevision?: string;
  /** The partial messages that were put; absent when none was. */
  readonly kept?: KeptPartial;
  /** The ids of the questions to others that were dropped with a run that waited for their answers. May be absent. */
  readonly droppedQuestions?: readonly string[];
}

export interface PassDeadlineRequest {
  readonly owner: string;
  readonly threadId: string;
  /** The interrupted run. */
  readonly runId: string;
}

export interface PassDeadlineReply {
  /** The run that goes on. Absent: none does. */
  readonly runId?: string;
  /** The agent and the revision of that run. */
  readonly agent?: string;
  readonly revision?: string;
  /** The deadline is still to come. */
  readonly isEarly: boolean;
}

export interface AnswerQuestionRequest {
  readonly owner: string;
  readonly threadId: string;
  /** The id of the question in its run: `interrupt_id` of Question. */
  readonly interruptId: string;
  /** The id of the run that goes on, if this answer is the last. */
  readonly runId: string;
  readonly requestId: string;
  /** The id of the principal who answers, and the protocol of its client. */
  readonly by: string;
  readonly client: string;
  readonly answerJson: Uint8Array;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** Nothing is answered: an answer that this principal has given to a question that is closed by now gets its reply again. */
  readonly onlyRepeated?: boolean;
  /** `question_id` of Question: one that is open again in its run has another. */
  readonly questionId: string;
  /** The id of the API key by which who answers came; absent where they came by none. */
  readonly key?: string;
}

export interface AnswerQuestionReply {
  /** The equal answers so far, this one included, and how many it takes. */
  readonly answers: number;
  readonly quorum: number;
  /** Whether this answer differs from those before. */
  readonly differs: boolean;
  /** The run that goes on, with its agent and revision. Absent: it takes more answers. */
  readonly runId?: string;
  readonly agent?: string;
  readonly revision?: string;
}

export interface GetQuestionRequest {
  readonly questionId: string;
}

/** A question that others than the owner of its thread answer. */
export interface Question {
  readonly questionId: string;
  readonly owner: string;
  readonly threadId: string;
  /** The run that asked; empty in a fork, where it is one of another thread. */
  readonly runId: string;
  /** The id of the question in its run. */
  readonly interruptId: string;
  readonly agent: string;
  readonly node: string;
  /** The roles that may answer it. */
  readonly to: readonly string[];
  /** Whether the owner of the thread may not, whichever roles he has. */
  readonly notOwner: boolean;
  /** How many principals must give the same answer, and who has given it. */
  readonly quorum: number;
  readonly answeredBy: readonly string[];
  readonly askedAt: number;
  readonly deadline?: number;
  /** What was asked, and what counts after the deadline: JSON. */
  readonly valueJson: Uint8Array;
  readonly defaultJson?: Uint8Array;
  /** The principal who sent the request of the run that asks, where that is not the owner of its thread. */
  readonly sender?: string;
  /** Whether it is not open any more: then only owner, thread and interrupt id are known. */
  readonly isClosed?: boolean;
  /** Whether a run holds its thread: another answer is at work. It may be open again when that has ended. */
  readonly isHeld?: boolean;
}

export interface ListQuestionsRequest {
  readonly roles: readonly string[];
  /** Questions of this agent. Absent: of all. */
  readonly agent?: string;
  /** Whether those with the nearest deadlines come first, and those without one last. Absent: those that were asked first. */
  readonly byDeadline?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ListQuestionsReply {
  readonly questions: readonly Question[];
  readonly cursor?: string;
  /** Whether there are more than were read, or than are listed of one owner. */
  readonly atLeast?: boolean;
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
  /** Whether the run holds its thread and does not sleep. */
  readonly runnable: boolean;
  readonly isNewThread: boolean;
  /** Of a running run: the worker that drives it, and the epoch of its claim. */
  readonly workerId?: string;
  /** Of a sleeping run: the epoch of its thread. */
  readonly epoch?: number;
  /** Of a sleeping run: the time at which it continues. Of an interrupted one: the first deadline of its questions. */
  readonly wakeAt?: number;
  /** The tokens by model that its committed steps have taken: a JSON array, as text. */
  readonly usageJson?: string;
  /** The agent whose run it is. */
  readonly agent: string;
  /** The revision that serves the run. Absent: any, or not decided, because the run waits for another of its thread. */
  readonly revision?: string;
  /** How early it is taken among the waiting runs of its owner; absent: 0, the last. */
  readonly priority?: number;
  /** When its first claim was made. Absent before it, and of runs that began before this was noted. */
  readonly startedAt?: number;
  /** What its thread is called, as in Thread. */
  readonly threadTitle?: string;
  /** The nodes that run or come next while it holds its thread, or at which its thread waits; at most ten. */
  readonly nodes: readonly string[];
  /** The first question that its thread waits to be answered; one line of at most 120 characters and 512 bytes. Absent where it asks in no words. */
  readonly question?: string;
  /** The how manieth run of its thread it is: 1 for the first that was accepted. Absent of runs that were accepted before this was counted. */
  readonly ordinal?: number;
  /** The run that answers what this one asked: the last that was accepted with an answer. Absent while there is none. */
  readonly resumedBy?: string;
  /** Who gave the answers that it brings: a JSON array of the Answerer of `protos/answerer.ts`. GetRun alone has it. */
  readonly answeredByJson?: string;
  /** The principal who has sent its request by a share of the thread; absent: the owner of the thread. GetRun alone has it. */
  readonly sender?: string;
}

export interface ListRunRequestsRequest {
  readonly owner: string;
  readonly runIds: readonly string[];
}

export interface RunRequest {
  readonly runId: string;
  /** A JSON object: what is kept of the request. */
  readonly requestJson?: Uint8Array;
  /** The assistant that the config of the run names. */
  readonly assistantId?: string;
}

export interface ListRunRequestsReply {
  readonly requests: readonly RunRequest[];
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

export interface ListOwnRunsRequest {
  readonly owner: string;
  readonly limit: number;
  readonly cursor?: string;
  /** Only runs with one of these statuses; empty: all. */
  readonly statuses: readonly RunStatus[];
  /** Only runs of this agent; absent: of all. */
  readonly agent?: string;
  readonly filter?: RunFilter;
}

/** Which runs of the statuses and agent asked for are listed: those that pass all that is given. Times are in milliseconds since 1970. */
export interface RunFilter {
  readonly revision?: string;
  /** Only runs that were accepted from this time on, and before that one. */
  readonly from?: number;
  readonly to?: number;
  /** The node that failed, or at which the run stands; that of a sub-graph is found by the names of those around it, too. */
  readonly node?: string;
  /** A text of the error; case does not count. */
  readonly error?: string;
  /** A text of the error, of the title of the thread, or of an id; case does not count. */
  readonly search?: string;
  /** How long they took, or have taken so far, in milliseconds. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
}

export interface ListAllRunsRequest {
  readonly limit: number;
  readonly cursor?: string;
  /** As in ListOwnRunsRequest. */
  readonly statuses: readonly RunStatus[];
  readonly agent?: string;
  readonly filter?: RunFilter;
  /** Only the newest run of each thread, so that each thread comes once. */
  readonly newestOfThread: boolean;
  /** Only runs that ended with what their thread waits for. */
  readonly waiting: boolean;
  /** Only runs of this owner; absent: of all. */
  readonly owner?: string;
}

export interface ListAllRunsReply {
  readonly runs: readonly Run[];
  /** Absent when no older run is left to be read. */
  readonly cursor?: string;
  /** Whether the list ends here because its newest 10,000 runs are read, and not because there are no others. */
  readonly atLeast: boolean;
}

export interface CountRunsRequest {
  readonly owner: string;
  /** As in ListOwnRunsRequest. */
  readonly statuses: readonly RunStatus[];
  readonly agent?: string;
  readonly filter?: RunFilter;
  /** Whose days they are: a name of the IANA database. */
  readonly timeZone: string;
}

export interface CountRunsReply {
  /** The days on which runs were accepted, the oldest first. */
  readonly days: readonly RunDay[];
  /** How long half of those that have ended took at most, and 95 of 100, in milliseconds; absent where none has. */
  readonly medianMs?: number;
  readonly p95Ms?: number;
  /** Whether older runs were not looked at. */
  readonly atLeast: boolean;
}

export interface RunDay {
  /** As 2026-11-28. */
  readonly day: string;
  readonly counts: readonly RunStatusCount[];
}

export interface RunStatusCount {
  readonly status: RunStatus;
  readonly count: number;
}

export interface ListOwnRunsReply {
  readonly runs: readonly Run[];
  /** Absent when no older run is left to be read. */
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
  /** The most steps of the reply, from 1; absent: as many as one holds. */
  readonly limit?: number;
}

export interface RunStep {
  readonly step: number;
  readonly nodes: readonly string[];
  readonly at: number;
  /** The changed fields: each name with its JSON value. */
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** The messages it added or replaced: a JSON array. */
  readonly messagesJson: Uint8Array;
  /** The ids of messages that were removed from the context. */
  readonly removedFromContext: readonly string[];
  readonly checkpointId: string;
  /** The nodes of the next step. */
  readonly next: readonly string[];
  readonly work?: StepWork;
}

export interface ListRunStepsReply {
  /** In order. */
  readonly steps: readonly RunStep[];
}

export interface ListRunTraceRequest {
  readonly owner: string;
  readonly runId: string;
  readonly fromStep: number;
  /** The most steps of the reply, from 1. */
  readonly limit: number;
  /** Whether the reply has what is for operators alone. */
  readonly withContent: boolean;
}

export interface TracedStep {
  readonly step: number;
  readonly nodes: readonly string[];
  /** When it was committed. */
  readonly at: number;
  readonly checkpointId: string;
  /** The nodes of the next step. */
  readonly next: readonly string[];
  readonly work?: StepWork;
  readonly trace?: StepTrace;
}

/** A step of a run that has begun and is not committed, or never was. */
export interface UncommittedStep {
  readonly step: number;
  /** Empty where they are not known, as those of the first step. */
  readonly nodes: readonly string[];
  /** When the step before it was committed, or its run was claimed. */
  readonly since: number;
}

export interface ListRunTraceReply {
  /** In order. */
  readonly steps: readonly TracedStep[];
  readonly hasMore: boolean;
  /** Only in the last reply: of a run that is driven now, or whose end was no commit. */
  readonly uncommitted?: UncommittedStep;
}

export interface NoteToolStartedRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  /** The same for every attempt at the call. */
  readonly callKey: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The run whose record it is; absent: `run_id`. A run that tries a failed one again has the records of that one. */
  readonly recordOf?: string;
}

export interface NoteToolStartedReply {
  /** Whether no attempt has begun the call before. */
  readonly isNew: boolean;
  /** The result of an earlier attempt; absent when it is not known. */
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
  /** How long it is kept at most, in seconds; absent: until the run has ended, or 30 days. */
  readonly keepSeconds?: number;
  /** As in NoteToolStartedRequest. */
  readonly recordOf?: string;
}

export type NoteToolResultReply = Readonly<Record<string, never>>;

export interface ListOpenRunsRequest {
  readonly limit: number;
  readonly cursor?: string;
  /** The order from its other end. A cursor is of the order that its page was read in. */
  readonly newestFirst?: boolean;
}

export interface ListOpenRunsReply {
  readonly runs: readonly Run[];
  readonly cursor?: string;
}

export interface ListSleepingRunsRequest {
  /** Absent: until now, by the clock of the record. */
  readonly until?: number;
  readonly limit: number;
  /** Only runs after this one in the order of the list. */
  readonly after?: WakeMark;
}

/** The place of a run in the list of those that sleep. */
export interface WakeMark {
  readonly wakeAt: number;
  /** Empty: before every run with this wake time. */
  readonly runId: string;
}

export interface ListSleepingRunsReply {
  readonly runs: readonly SleepingRun[];
  readonly hasMore: boolean;
  /** The clock of the record. */
  readonly now: number;
}

export interface SleepingRun {
  readonly owner: string;
  readonly threadId: string;
  readonly runId: string;
  readonly wakeAt: number;
  /** Absent where the thread is gone. */
  readonly agent?: string;
  /** The revision that serves the run. Absent: none, or one that is retired. */
  readonly revision?: string;
  /** Its revision is retired: it may be claimed before its time, and its claim ends it. */
  readonly isRetired?: boolean;
  /** It is interrupted: `wake_at` is the first deadline of its questions. */
  readonly isAsking?: boolean;
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
  /** The run that holds the thread; not set in lists. */
  readonly activeRunId?: string;
  /** The agent that the thread belongs to: that of its first run. Absent before it. */
  readonly agent?: string;
  /** What happens on the thread; not set in the reply of ListThreads. */
  readonly status?: ThreadStatus;
  /** What an interrupted thread waits for; not set in the reply of ListThreads. */
  readonly waitsFor?: WaitsFor;
  /** For how many seconds it is kept after its last change; not set in the reply of ListThreads. Absent: as the service is set. */
  readonly ttlSeconds?: number;
  /** What it is called: its name, else the first message of a user; one line of at most 120 characters and 512 bytes. Absent without either. */
  readonly title?: string;
  /** The run that has asked what the thread waits to be answered; of a fork it is one of the thread that it was made from. Not set in lists. */
  readonly askedBy?: string;
}

export interface CreateThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly threadName?: string;
  /** A JSON object. */
  readonly metadataJson?: Uint8Array;
  /** For how many seconds the thread is kept after its last change. Absent: as the service is set. */
  readonly ttlSeconds?: number;
  readonly agent?: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export interface UpdateThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** Absent: the name stays. */
  readonly threadName?: string;
  readonly dropName: boolean;
  /** A JSON object. Its keys are set, those that are null removed, all others stay. Absent: nothing is set. */
  readonly metadataJson?: Uint8Array;
  /** Whether keys of it that are null are set to null; absent: they are removed. */
  readonly keepsNulls?: boolean;
  /** Removes the metadata, before `metadata_json` is set. */
  readonly dropMetadata: boolean;
  /** For how many seconds the thread is kept after its last change, from this change on. Absent: it stays. */
  readonly ttlSeconds?: number;
  /** It is kept as the service is set. */
  readonly dropTtl: boolean;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

/** Which threads are meant. What is absent or empty restricts nothing. */
export interface ThreadFilter {
  readonly threadIds: readonly string[];
  /** As that of ListThreads. */
  readonly search?: string;
  readonly agent?: string;
  readonly statuses: readonly ThreadStatus[];
  readonly waitsFor?: WaitsFor;
  /** A JSON object that the metadata contains: of each of its objects the keys, of each of its lists the items, in any order. */
  readonly metadataJson?: Uint8Array;
  /** A JSON object: the metadata contains each of its keys with that value, or has no such key. */
  readonly metadataIfAnyJson?: Uint8Array;
  /** A JSON object of texts, numbers, booleans and nulls: each field is stored with that value. */
  readonly valuesJson?: Uint8Array;
  /** Made, or changed last, from a time on and before another, in milliseconds since 1970. */
  readonly createdFrom?: number;
  readonly createdTo?: number;
  readonly updatedFrom?: number;
  readonly updatedTo?: number;
}

export interface SearchThreadsRequest {
  readonly owner: string;
  readonly filter: ThreadFilter;
  readonly limit: number;
  readonly offset: number;
  /** The cursor of the page before; with it `offset` is ignored. */
  readonly cursor?: string;
  readonly sortBy: ThreadSort;
  readonly ascending: boolean;
  /** Whether the open questions of each thread are in the reply. */
  readonly withQuestions: boolean;
  /** Whether the stored fields of each thread are in the reply. */
  readonly withValues: boolean;
}

export interface SearchThreadsReply {
  readonly threads: readonly ThreadMatch[];
  /** Absent on the last page. */
  readonly cursor?: string;
  /** Whether older threads were not looked at. */
  readonly atLeast: boolean;
}

export interface ThreadMatch {
  readonly thread: Thread;
  /** The questions that the thread waits to be answered: a JSON array. Only on request, and of a thread that has some. */
  readonly interruptsJson?: Uint8Array;
  /** The run that asked them. */
  readonly askedBy?: string;
  /** The stored fields by name: a JSON object. Only on request. */
  readonly valuesJson?: Uint8Array;
}

export interface CountThreadsRequest {
  readonly owner: string;
  readonly filter: ThreadFilter;
}

export interface CountThreadsReply {
  readonly count: number;
  /** Whether older threads were not looked at. */
  readonly atLeast: boolean;
}

export interface ListThreadsRequest {
  readonly owner: string;
  readonly limit: number;
  readonly offset: number;
  /** The cursor of the page before; with it `offset` is ignored. */
  readonly cursor?: string;
  /** Searches name, id and metadata values, regardless of case. */
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
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export interface BeginDeleteReply {
  /** The runs that this call ended: first the run that held the thread, then those that waited. */
  readonly stoppedRunIds: readonly string[];
  /** The same runs with what their last events contain; a run that is not on record any more is left out. */
  readonly stoppedRuns: readonly StoppedRun[];
  /** The agent that the thread belonged to. Absent: the default agent, or none as the thread had no run. */
  readonly agent?: string;
}

export interface StoppedRun {
  readonly runId: string;
  /** The request that started the run. */
  readonly requestId: string;
  readonly isNewThread: boolean;
  /** The iterations that it had committed. */
  readonly iterations?: number;
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
  /** A thread that waits for an answer or for results of tools counts only when it did not change since this time. Absent: it never counts. */
  readonly waitingBefore?: number;
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
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** Whether a write of nothing makes no version of its own. */
  readonly skipsNothing?: boolean;
  /** Ids of messages that leave the context, and stay in the log. May be absent. */
  readonly removedFromContext?: readonly string[];
  /** Whether the thread waits for nothing more: its open questions are dropped, and no node comes next. */
  readonly settles?: boolean;
}

export interface ClearStateRequest {
  readonly owner: string;
  readonly threadId: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export type ClearStateReply = Readonly<Record<string, never>>;

export interface ListMessagesRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
  /** Searches the text of a message, regardless of case. */
  readonly search?: string;
  /** From the last message backwards; absent: in the order of the log. */
  readonly newestFirst?: boolean;
  /** The page begins behind this message, in place of `cursor`; NotFound where the thread does not have it. */
  readonly afterMessageId?: string;
}

export interface ListMessagesReply {
  /**
   * A JSON array. A message has `checkpoint_id` beside its own fields when the version that put it last is known: the checkpoint of that
   * version, which may be dropped by now.
   */
  readonly messagesJson: Uint8Array;
  readonly cursor?: string;
}

export interface GetMessageRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messageId: string;
}

export interface GetMessageReply {
  /** As lists of messages have it. */
  readonly json: Uint8Array;
}

export interface AddMessagesRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messages: readonly MessageEntry[];
  /** The metadata of the checkpoint that this call makes: a JSON object. */
  readonly metadataJson?: Uint8Array;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export interface AddMessagesReply {
  readonly version: number;
}

export interface DeleteMessageRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly messageId: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
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
  /** Of a step. */
  readonly work?: StepWork;
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
  /** Absent: the present version. */
  readonly checkpointId?: string;
  /** Made by the caller, so that a repeated request can name the same thread. */
  readonly newThreadId: string;
  readonly threadName?: string;
  /** A JSON object. Absent: the metadata of the forked thread. */
  readonly metadataJson?: Uint8Array;
}

export interface RestoreThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly checkpointId: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export interface PruneThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** How many of the newest checkpoints stay, at least 1. */
  readonly keep: number;
  /** In milliseconds since 1970. Absent: whenever they were made. */
  readonly before?: number;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export type PruneThreadReply = Readonly<Record<string, never>>;

export interface FixThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
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
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** When the key is new, this is kept as the reply from the start, so that one of several concurrent requests decides. */
  readonly replyJson?: Uint8Array;
}

export interface BeginOnceReply {
  /** Whether no earlier request had this key, or only requests that were refused and changed nothing. */
  readonly isNew: boolean;
  /** Absent until an earlier request has ended. */
  readonly replyJson?: Uint8Array;
  /** When the first request with this key began. */
  readonly at: number;
}

export interface EndOnceRequest {
  readonly owner: string;
  readonly onceKey: string;
  /** Absent: the request was refused and changed nothing, and may be done when it is sent again. */
  readonly replyJson?: Uint8Array;
}

export type EndOnceReply = Readonly<Record<string, never>>;

export interface BeginFileRequest {
  readonly owner: string;
  /** Made by the caller for this file. */
  readonly fileId: string;
  readonly filename: string;
  /** As the uploader declared it. */
  readonly contentType?: string;
  /** How many files an owner may have. */
  readonly maxFiles: number;
  /** How many bytes the files of an owner may have together. */
  readonly maxBytes: number;
  /** How many bytes the file is expected to have, of those that are known so far. */
  readonly reserveBytes?: number;
  /** How many bytes must be reserved; 1 when it is absent. */
  readonly leastBytes?: number;
}

export interface FinishFileRequest {
  readonly owner: string;
  readonly fileId: string;
  /** In bytes. */
  readonly size: number;
  /** Of the bytes, as hexadecimal digits. */
  readonly sha256: string;
  /** What the first bytes show; absent when they show nothing. */
  readonly sniffedType?: string;
  readonly maxBytes: number;
  /** The file is removed after this time unless a thread names it: milliseconds. */
  readonly ttlMs: number;
}

export interface GetFileRequest {
  readonly owner: string;
  readonly fileId: string;
  /** A file that this thread does not name is NotFound. Absent: any file of the owner. */
  readonly threadId?: string;
}

export interface FileRecord {
  readonly fileId: string;
  readonly owner: string;
  readonly filename: string;
  readonly contentType?: string;
  readonly sniffedType?: string;
  /** In bytes; what is reserved for the file while it is uploading. */
  readonly size: number;
  /** Absent while the file is uploading. */
  readonly sha256?: string;
  readonly createdAt: number;
  readonly status: FileStatus;
  /** When the file is removed unless a thread names it by then. Absent while a thread names it; a request that was refused names nothing. */
  readonly expiresAt?: number;
}

export interface DeleteFileRequest {
  readonly owner: string;
  readonly fileId: string;
}

export type DeleteFileReply = Readonly<Record<string, never>>;

export interface ForgetFileRequest {
  readonly owner: string;
  readonly fileId: string;
}

export type ForgetFileReply = Readonly<Record<string, never>>;

export interface ListFilesRequest {
  readonly owner: string;
  readonly limit: number;
  readonly cursor?: string;
  /** Absent: all. */
  readonly filter?: FileFilter;
}

/** Which files are listed: those that pass every part that is given. */
export interface FileFilter {
  /** A text in the name or the id, in upper or lower case. */
  readonly search?: string;
  /** The media type that the bytes show, else the declared one; `image/*`: all of these. */
  readonly mediaType?: string;
  /** The upload began at this time or later, and before `to`: milliseconds since 1970. */
  readonly from?: number;
  readonly to?: number;
}

export interface ListFilesReply {
  readonly files: readonly FileRecord[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface ListFilesToRemoveRequest {
  readonly limit: number;
  /** Milliseconds since 1970. */
  readonly uploadingBefore: number;
  readonly cursor?: string;
}

export interface FileKey {
  readonly owner: string;
  readonly fileId: string;
}

export interface ListFilesToRemoveReply {
  readonly files: readonly FileKey[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface GetResourceRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly id: string;
}

export interface Resource {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly id: string;
  /** Counts the writes of the object, from the version with which it was made. */
  readonly version: number;
  readonly json: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When a sweep looks at the object; absent: never. */
  readonly dueAt?: number;
}

export interface PutResourceRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  /** A UUIDv7, or a name. */
  readonly id: string;
  /** That of the object after the write. */
  readonly version: number;
  readonly json: Uint8Array;
  /** Absent: the object is never due. A time that is past counts as now. */
  readonly dueAt?: number;
  /** The same in every attempt at this request: see the comment of the service. */
  readonly attemptId?: string;
  /** Makes the object with this version: what is removed and made again has versions of its own then. */
  readonly isNew?: boolean;
}

export interface PutResourceReply {
  /** The time of the write. */
  readonly at: number;
}

export interface DeleteResourceRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly id: string;
  readonly version: number;
}

export type DeleteResourceReply = Readonly<Record<string, never>>;

export interface ListResourcesRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly limit: number;
  readonly cursor?: string;
  /** Only ids from this one on, in the order of their bytes. */
  readonly fromId?: string;
  /** Only ids before this one. */
  readonly belowId?: string;
}

export interface ListResourcesReply {
  readonly resources: readonly Resource[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface ListResourceMarksRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly limit: number;
  /** Only ids from this one on, in the order of their bytes. */
  readonly fromId?: string;
  /** Only ids before this one. */
  readonly belowId?: string;
}

export interface ResourceMark {
  readonly id: string;
  readonly updatedAt: number;
  /** When a sweep looks at the object; absent: never. */
  readonly dueAt?: number;
}

export interface ListResourceMarksReply {
  readonly marks: readonly ResourceMark[];
  readonly hasMore: boolean;
  /** The clock of the record. */
  readonly now: number;
}

export interface CountResourcesRequest {
  readonly kind: ResourceKind;
  readonly owner: string;
  readonly atMost: number;
}

export interface CountResourcesReply {
  readonly count: number;
}

export interface ListDueResourcesRequest {
  readonly kind: ResourceKind;
  readonly limit: number;
  /** Only objects after this one in the order of the list. */
  readonly after?: DueResource;
}

export interface DueResource {
  readonly dueAt: number;
  readonly owner: string;
  readonly id: string;
  readonly version: number;
}

export interface ListDueResourcesReply {
  readonly due: readonly DueResource[];
  readonly hasMore: boolean;
  /** The clock of the record. */
  readonly now: number;
}

/** The messages that have fields of a closed list. */
export const threadsLists: MessageLists = {
  RegisteredAgent: { revisions: { of: 'AgentRevision' } },
  AgentRevision: { state: 'RevisionState' },
  ListRegisteredAgentsReply: { agents: { of: 'RegisteredAgent' } },
  AcceptRunRequest: { multitaskStrategy: 'MultitaskStrategy', granularity: 'Granularity' },
  AcceptRunReply: { status: 'RunStatus', claimed: { of: 'ClaimedRun' } },
  ClaimedRun: { granularity: 'Granularity', givenUp: { of: 'RunError' } },
  CommitStepRequest: { end: { of: 'RunEnd' }, fused: { of: 'FusedStep' } },
  FusedStep: { end: { of: 'RunEnd' } },
  RunEnd: { status: 'EndStatus', error: { of: 'RunError' } },
  RunError: { code: 'FailureCode', reason: 'FailureReason', parameter: 'ModelParameter' },
  EndRunRequest: { status: 'ImposedEnd', error: { of: 'RunError' } },
  EndRunReply: { status: 'EndStatus' },
  Run: { status: 'RunStatus', granularity: 'Granularity', end: { of: 'RunEnd' } },
  ListRunsReply: { runs: { of: 'Run' } },
  ListOwnRunsRequest: { statuses: 'RunStatus' },
  ListAllRunsRequest: { statuses: 'RunStatus' },
  ListAllRunsReply: { runs: { of: 'Run' } },
  CountRunsRequest: { statuses: 'RunStatus' },
  CountRunsReply: { days: { of: 'RunDay' } },
  RunDay: { counts: { of: 'RunStatusCount' } },
  RunStatusCount: { status: 'RunStatus' },
  ListOwnRunsReply: { runs: { of: 'Run' } },
  ListOpenRunsReply: { runs: { of: 'Run' } },
  Thread: { status: 'ThreadStatus', waitsFor: 'WaitsFor' },
  ThreadFilter: { statuses: 'ThreadStatus', waitsFor: 'WaitsFor' },
  SearchThreadsRequest: { filter: { of: 'ThreadFilter' }, sortBy: 'ThreadSort' },
  SearchThreadsReply: { threads: { of: 'ThreadMatch' } },
  ThreadMatch: { thread: { of: 'Thread' } },
  CountThreadsRequest: { filter: { of: 'ThreadFilter' } },
  ListThreadsReply: { threads: { of: 'Thread' } },
  ThreadCheckpoint: { source: 'CheckpointSource' },
  ListCheckpointsReply: { checkpoints: { of: 'ThreadCheckpoint' } },
  GetCheckpointReply: { checkpoint: { of: 'ThreadCheckpoint' } },
  FileRecord: { status: 'FileStatus' },
  ListFilesReply: { files: { of: 'FileRecord' } },
  GetResourceRequest: { kind: 'ResourceKind' },
  Resource: { kind: 'ResourceKind' },
  PutResourceRequest: { kind: 'ResourceKind' },
  DeleteResourceRequest: { kind: 'ResourceKind' },
  ListResourcesRequest: { kind: 'ResourceKind' },
  ListResourcesReply: { resources: { of: 'Resource' } },
  ListResourceMarksRequest: { kind: 'ResourceKind' },
  CountResourcesRequest: { kind: 'ResourceKind' },
  ListDueResourcesRequest: { kind: 'ResourceKind' },
};
