// Written by `npm run proto` from execution.proto: change that.
import type { Call } from './call.ts';
import type { EndStatus, Granularity, MessageLists, MultitaskStrategy, RunStatus } from './lists.ts';
import type { PoolRule } from './pools.ts';
import type { RetryRule } from './retry.ts';
import type { AnswerQuestionReply, KeptPartial, MessageEntry, State } from './threads.ts';

/**
 * Runs the graph. No request runs it itself: `Start` replies when the run is on record, a worker then runs it, and callers follow the
 * run's numbered event log from any replica. The lines `pool` and `retry` are explained in threads.proto.
 */
export interface Execution {
  /**
   * NotFound when no graph is configured; Invalid, naming the field, when the input does not fit the graph.
   * A run whose `run_id` is on record is not started again.
   */
  readonly start: (request: StartRequest, call: Call) => Promise<StartReply>;
  /** Answers a question of a thread, as AnswerQuestion of threads.proto does, and has the run driven that goes on. */
  readonly answerQuestion: (request: AnswerRequest, call: Call) => Promise<AnswerQuestionReply>;
  /** The run's last event. Waits until there is one. */
  readonly wait: (request: WaitRequest, call: Call) => Promise<RunEvent>;
  /** Every event after `after`, in order and each once, up to the run's last event. */
  readonly follow: (request: FollowRequest, call: Call) => AsyncIterable<RunEvents>;
  /**
   * Ends a run at once, also in the middle of a node: after this reply nothing of the run commits. A run that has ended stays as it
   * ended, and the reply has that status.
   */
  readonly stopRun: (request: StopRunRequest, call: Call) => Promise<StopRunReply>;
  /** Checks whether a run may declare these tools. Invalid, naming the tool, when not; NotFound when no graph is configured. */
  readonly checkTools: (request: CheckToolsRequest, call: Call) => Promise<CheckToolsReply>;
  /** NotFound when there is no such agent, or none is configured. */
  readonly getGraph: (request: GetGraphRequest, call: Call) => Promise<Graph>;
  /** The agents that are configured: the default first, the others by name. Without their graphs. */
  readonly listAgents: (request: ListAgentsRequest, call: Call) => Promise<ListAgentsReply>;
  /** One agent with its graph. NotFound when there is none of the name. */
  readonly getAgent: (request: GetAgentRequest, call: Call) => Promise<Agent>;
  /** The open runs of each agent and revision, as the sweeps of this replica found them last. */
  readonly countOpenRuns: (request: CountOpenRunsRequest, call: Call) => Promise<CountOpenRunsReply>;
  /** The parts that this replica needs and that fail for now. It replies also while they fail. */
  readonly getHealth: (request: GetHealthRequest, call: Call) => Promise<ExecutionHealth>;
  /** Passes each given field through its reducer, like an update of a node, and returns the whole state. */
  readonly updateState: (request: UpdateStateRequest, call: Call) => Promise<State>;
  /**
   * Ends the thread's run, removes its memories and then its rows. After a failure the thread is absent to every reader, and a second
   * call, or the sweep, continues the deletion.
   */
  readonly deleteThread: (request: DeleteThreadRequest, call: Call) => Promise<DeleteThreadReply>;
}

/** Which calls of {@link Execution} may be made again. */
export const executionRetries: Readonly<Record<keyof Execution, RetryRule>> = {
  start: { retry: 'safe', takesLong: false },
  answerQuestion: { retry: 'attempt', takesLong: false },
  wait: { retry: 'safe', takesLong: false },
  follow: { retry: 'safe', takesLong: true },
  stopRun: { retry: 'attempt', takesLong: false },
  checkTools: { retry: 'safe', takesLong: false },
  getGraph: { retry: 'safe', takesLong: false },
  listAgents: { retry: 'safe', takesLong: false },
  getAgent: { retry: 'safe', takesLong: false },
  countOpenRuns: { retry: 'safe', takesLong: false },
  getHealth: { retry: 'safe', takesLong: false },
  updateState: { retry: 'attempt', takesLong: false },
  deleteThread: { retry: 'attempt', takesLong: true },
};

/** What a pool of workers may call of {@link Execution}. */
export const executionPools: Readonly<Record<keyof Execution, PoolRule>> = {
  start: 'never',
  answerQuestion: 'never',
  wait: 'never',
  follow: 'never',
  stopRun: 'never',
  checkTools: 'never',
  getGraph: 'never',
  listAgents: 'never',
  getAgent: 'never',
  countOpenRuns: 'never',
  getHealth: 'never',
  updateState: 'never',
  deleteThread: 'never',
};

export interface StartRequest {
  readonly owner: string;
  readonly requestId: string;
  /** Made by the caller, so that a repeated request can name the same run. */
  readonly runId: string;
  /** Whether the id was made for this request: no other request names the run. */
  readonly runIdIsNew?: boolean;
  /** Absent: the service makes a new thread and its id. The same request again would make another thread. */
  readonly threadId?: string;
  /** Whether this id too was made for this request. */
  readonly threadIdIsNew?: boolean;
  readonly threadName?: string;
  /** A JSON object: the metadata of the thread, when this run makes it. */
  readonly threadMetadataJson?: Uint8Array;
  /** A JSON object: what is set in the metadata of a thread that is there already, unless a run holds it. */
  readonly threadMarksJson?: Uint8Array;
  /** The checkpoint of the thread that the run starts from. Absent: the thread as it is. */
  readonly checkpointId?: string;
  /** For how many seconds the thread is kept after its last change, when this run makes it. */
  readonly threadTtlSeconds?: number;
  readonly messages: readonly MessageEntry[];
  /** A JSON object: fields that pass their reducers before the first step. */
  readonly initialStateJson?: Uint8Array;
  /** A JSON object: the config that the nodes get, unchanged. */
  readonly configJson?: Uint8Array;
  /** A JSON object: the user context that the nodes get. It never contains a token. */
  readonly userJson?: Uint8Array;
  readonly tools: readonly RemoteTool[];
  readonly recursionLimit: number;
  readonly granularity: Granularity;
  readonly multitaskStrategy: MultitaskStrategy;
  /** Any JSON: the answers to the questions of the thread's interrupted run. */
  readonly resumeJson?: Uint8Array;
  /** The agent that the caller names. Absent: the thread's, or the default for a new thread. A service with a single agent does not read it. */
  readonly agent?: string;
  /** How long the reply may wait for the end of a run that this replica drives, in milliseconds; absent: not at all. */
  readonly awaitEndMs?: number;
  /** A JSON object: `before` and `after`, lists of the nodes before and after which the run stops; `*` stands for every node. */
  readonly breakpointsJson?: Uint8Array;
  /** Whether the thread is deleted a while after the run has ended, unless it waits for an answer or has gone on by then; absent: no. */
  readonly deletesThread?: boolean;
  /** A JSON object: the context that the nodes get beside the config, unchanged. */
  readonly contextJson?: Uint8Array;
  /** Where the end of the run is delivered to: a JSON object, the WebhookTarget of `protos/webhooks.ts`. */
  readonly webhookJson?: string;
  /**
   * The failed run that this one tries again, from the step that failed. Then messages, tools, config and the rest are those of that run, and
   * `thread_id` is its thread.
   */
  readonly retryOf?: string;
  /** How early the run is taken among the waiting runs of its owner; absent: 0, the last. */
  readonly priority?: number;
  /** A JSON object of at most 64 KiB: what the caller wants to read of the request later, from `ListRunRequests`. Nobody else reads it. */
  readonly requestJson?: Uint8Array;
  /** Whether a run that reaches its recursion limit fails, as one of class GraphRecursionError; absent: it ends with what it has. */
  readonly failsAtLimit?: boolean;
  /** Whether what goes on in sub-graphs is among its events, of graphs that can say it; absent: no. */
  readonly streamsSubgraphs?: boolean;
  /** Whether the fields that the run brings are on record before its first nodes run; absent: they are committed with the first step. */
  readonly recordsInput?: boolean;
  /**
   * The ids of messages that leave the context before the run begins; `__remove_all__`: all that were there before its own. One that is not there
   * fails the run. May be absent.
   */
  readonly removedFromContext?: readonly string[];
  /**
   * The run goes on where its thread stands, as it would have gone on there: at its next nodes, those of a run that has failed or was stopped
   * included. It asks again what the thread asks, and where nothing comes next it runs no node. Messages and initial state join the thread before.
   */
  readonly goesOn?: boolean;
  /** Whether the webhook was checked when the run was put off: it starts also where that may not be sent to by now; absent: it is refused then. */
  readonly webhookIsChecked?: boolean;
  /**
   * The run is accepted only while this is the newest run of its thread; empty: while that has none. Conflict with the type `newer_run` where another
   * is.
   */
  readonly newestRunId?: string;
  /** The run is accepted only where it makes its thread. Conflict with the type `thread_exists` where that is there already. */
  readonly onlyNewThread?: boolean;
  /**
   * A JSON object: the Knowledge of `protos/knowledge.ts`, what the run may do in scopes of memories. Absent: nothing but with what its owner has,
   * and its agent shares.
   */
  readonly knowledgeJson?: Uint8Array;
  /** Who brings the answers of `resume_json`. Absent: nobody is named. */
  readonly answering?: Answering;
  /** The principal who sends the request, where that is not the owner: the thread is shared. Questions that leave out the owner leave this one out, too. */
  readonly sender?: string;
  /** Whether the run begins only where it drops no question and no open call: its sender may not answer for the owner. */
  readonly keepsQuestions?: boolean;
  /** The names to which a question may be addressed so that somebody can have them: a question to another is logged. None where nobody signs in. May be absent. */
  readonly addressees?: readonly string[];
  /** The id of the share by which the sender sends it: a run that has not begun when that has ended does not begin. Absent: none. */
  readonly shareId?: string;
  /** When that share ends, in milliseconds since 1970; absent: when it is revoked. */
  readonly shareUntil?: number;
}

/** As AnswerQuestionRequest. */
export interface AnswerRequest {
  readonly owner: string;
  readonly threadId: string;
  readonly interruptId: string;
  readonly runId: string;
  readonly requestId: string;
  readonly by: string;
  readonly client: string;
  readonly answerJson: Uint8Array;
  readonly attemptId?: string;
  readonly onceKey?: string;
  readonly onlyRepeated?: boolean;
  readonly questionId: string;
}

export interface Answering {
  /** The id of the principal, and the protocol of its client. */
  readonly by: string;
  readonly client: string;
  /** As `may_answer` of AcceptRunRequest. May be absent. */
  readonly mayAnswer?: readonly string[];
  /** The id of the API key by which they came; absent where they came by none. */
  readonly key?: string;
}

/** A tool that the caller runs. */
export interface RemoteTool {
  /** The tool node that may call it; empty: every tool node. */
  readonly nodeName: string;
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parametersJson: Uint8Array;
  /** Whether an earlier request has set it up for later runs, whatever their agents. An agent that has no room for it runs without it. */
  readonly isSetUp?: boolean;
}

export interface CheckToolsRequest {
  readonly tools: readonly RemoteTool[];
  /** As in StartRequest; absent: the default. */
  readonly agent?: string;
  /** As in StartRequest: what is refused there is refused here. */
  readonly webhookJson?: string;
  readonly initialStateJson?: Uint8Array;
}

export type CheckToolsReply = Readonly<Record<string, never>>;

export interface StartReply {
  readonly runId: string;
  readonly threadId: string;
  readonly isNewThread: boolean;
  readonly status: RunStatus;
  /** The run's last event, where it ended within `await_end_ms`: `Wait` would reply with the same. */
  readonly end?: RunEvent;
  /** Whether the run was on record before: an earlier request, or an earlier attempt at this one, has started it. */
  readonly existed?: boolean;
  /** With `end`: whether no node of the run has reported progress. Absent: that is not known. */
  readonly isSilent?: boolean;
  /** When the run was accepted, in milliseconds since 1970. */
  readonly createdAt?: number;
}

export interface WaitRequest {
  readonly owner: string;
  readonly runId: string;
  /**
   * Whether this request has just started the run: then its owner and status are not read from the record. To be set for no other run:
   * the owner is not checked.
   */
  readonly justStarted?: boolean;
}

export interface FollowRequest {
  readonly owner: string;
  readonly runId: string;
  /** The number of the last event that the caller has; 0 for all events. */
  readonly after: number;
  /** As in WaitRequest. */
  readonly justStarted?: boolean;
}

export interface RunEvents {
  readonly events: readonly RunEvent[];
  /** The run of the events; only in the first reply of a stream. */
  readonly scope?: RunScope;
}

/** What all events of a run share. */
export interface RunScope {
  readonly runId: string;
  readonly threadId: string;
  /** The request that started the run. */
  readonly requestId: string;
  /** Whether the run made its thread. */
  readonly isNewThread: boolean;
}

/** An event in parts. The gateway makes from them the chunk that a caller reads. */
export interface RunEvent {
  /** 1 for the first event of a run, then one more each. */
  readonly seq: number;
  /** One of `eventKinds`. */
  readonly kind: string;
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  readonly node?: string;
  readonly step?: number;
  readonly messageId?: string;
  readonly role?: string;
  /** Set on a chunk that a node emitted. All other events of a step are published after its commit. */
  readonly emitted?: boolean;
  /** JSON on one line. */
  readonly data: Uint8Array;
  /** The part of `data` that occurs twice in what a caller reads. */
  readonly repeat?: Repeat;
  /** JSON on one line: the message that this event completes. */
  readonly message?: Uint8Array;
  /** JSON on one line: the fields that the step changed. */
  readonly state?: Uint8Array;
  /** JSON on one line: what the tasks of the step gave that ends with this event, where its graph has tasks: `protos/step-tasks.ts`. */
  readonly tasks?: string;
}

/**
 * A part of `data` that is stored once and occurs twice in what a caller reads: the `length` bytes at `offset` are inserted again
 * before the byte at `target`. `target` is not inside the part.
 */
export interface Repeat {
  readonly offset: number;
  readonly length: number;
  readonly target: number;
}

export interface StopRunRequest {
  readonly owner: string;
  readonly runId: string;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** Whether the text that the step under way has published stays, as messages of the thread. */
  readonly keepPartial?: boolean;
  /** As `keeps_questions` of EndRunRequest. */
  readonly keepsQuestions?: boolean;
  /** As `thread_id` of EndRunRequest. */
  readonly threadId?: string;
}

export interface StopRunReply {
  /** The status with which the run ended: `stopped`, or that of an earlier end. */
  readonly status: EndStatus;
  readonly stoppedNow: boolean;
  /** Set when text was kept. */
  readonly partial?: KeptPartial;
  /** The ids of the questions to others that were dropped with a run that waited for their answers. May be absent. */
  readonly droppedQuestions?: readonly string[];
}

export interface GetGraphRequest {
  /** Absent: the default. */
  readonly agent?: string;
}

export interface Graph {
  /** Nodes, edges and a Mermaid drawing: a JSON object. */
  readonly graphJson: Uint8Array;
  /** A JSON object: each field name with its type, description, schema and default, and whether it is required. */
  readonly fieldsJson: Uint8Array;
}

export type ListAgentsRequest = Readonly<Record<string, never>>;

export interface GetAgentRequest {
  readonly agent: string;
}

export interface ListAgentsReply {
  readonly agents: readonly Agent[];
}

export interface Agent {
  readonly name: string;
  readonly description?: string;
  /** Whether it serves new threads whose first run names no agent. */
  readonly isDefault: boolean;
  /** A JSON array: name, description and parameters of each tool, and whether the caller runs it (`remote`). */
  readonly toolsJson: Uint8Array;
  /** Not set in lists. */
  readonly graph?: Graph;
}

export type CountOpenRunsRequest = Readonly<Record<string, never>>;

export interface CountOpenRunsReply {
  /** Every agent and revision that one of the last two whole sweeps found a run of. */
  readonly counts: readonly OpenRuns[];
  /** When the earlier of the last two whole sweeps began, in milliseconds since 1970. Absent until there were two. */
  readonly twoSweepsSince?: number;
  /**
   * The workers of each registered revision that is not retired. One whose workers this replica does not know is not among them: it has just
   * been registered, or this replica has just started or does not receive heartbeats.
   */
  readonly workers: readonly RevisionWorkers[];
}

/** Runs that wait for a worker or are driven. */
export interface OpenRuns {
  readonly agent: string;
  /** Absent: runs that any worker of the agent may serve, or whose revision is not decided. */
  readonly revision?: string;
  /** What the last sweep found. */
  readonly runs: number;
}

/** The workers that hold an agent at a revision and were alive some seconds ago. */
export interface RevisionWorkers {
  readonly agent: string;
  readonly revision: string;
  /** Also 0. */
  readonly workers: number;
}

export type GetHealthRequest = Readonly<Record<string, never>>;

export interface ExecutionHealth {
  readonly degraded: readonly DegradedPart[];
}

/** A part that fails for now, and the reason, which names no host and no file. */
export interface DegradedPart {
  readonly name: string;
  readonly reason: string;
}

export interface UpdateStateRequest {
  readonly owner: string;
  readonly threadId: string;
  /** A JSON object. */
  readonly stateJson: Uint8Array;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The version that the state must have; another one is a conflict. Absent: any. */
  readonly expectedVersion?: number;
  /** Whether the fields are set past their reducers, and log and context stay as they are. */
  readonly replaces?: boolean;
  /** Ids of messages that leave the context, and stay in the log; `__remove_all__` stands for all that are there. May be absent. */
  readonly removedFromContext?: readonly string[];
  /** Whether the thread waits for nothing more: its open questions are dropped, and no node comes next. */
  readonly settles?: boolean;
}

export interface DeleteThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** The same in every attempt at this request: see threads.proto. */
  readonly attemptId?: string;
  /** The idempotency key of the request: the effect is made once. It is known for a day, and counts in place of `attempt_id`. */
  readonly onceKey?: string;
}

export type DeleteThreadReply = Readonly<Record<string, never>>;

/** The messages that have fields of a closed list. */
export const executionLists: MessageLists = {
  StartRequest: { granularity: 'Granularity', multitaskStrategy: 'MultitaskStrategy' },
  StartReply: { status: 'RunStatus' },
  StopRunReply: { status: 'EndStatus' },
};
