// Written by `npm run proto` from execution.proto: change that.
import type { Call } from './call.ts';
import type { EndStatus, Granularity, MessageLists, MultitaskStrategy, RunStatus } from './lists.ts';
import type { RetryRule } from './retry.ts';
import type { MessageEntry, State } from './threads.ts';

/**
 * Runs the graph. A request never runs it itself: `Start` says yes once the run is on record, and whoever wants to see it
 * follows its numbered event log, from any replica. The lines `retry` are as in threads.proto.
 */
export interface Execution {
  /**
   * NotFound when no graph is configured; Invalid, naming the field, when the input does not fit the graph.
   * `run_id` settles it: a run that is on record is not started again.
   */
  readonly start: (request: StartRequest, call: Call) => Promise<StartReply>;
  /** The run's last event, as soon as there is one. */
  readonly wait: (request: WaitRequest, call: Call) => Promise<RunEvent>;
  /** Every event after `after`, in order, each once, until the run's last one. */
  readonly follow: (request: FollowRequest, call: Call) => AsyncIterable<RunEvents>;
  /**
   * Ends a run at once, also in the middle of a node: from this reply on nothing of it commits. A run that has ended stays as
   * it ended, and so says the reply.
   */
  readonly stopRun: (request: StopRunRequest, call: Call) => Promise<StopRunReply>;
  /** Invalid, naming the tool, when runs could not be given these tools; NotFound when no graph is configured. */
  readonly checkTools: (request: CheckToolsRequest, call: Call) => Promise<CheckToolsReply>;
  /** NotFound when no graph is configured. */
  readonly getGraph: (request: GetGraphRequest, call: Call) => Promise<Graph>;
  /** What fails for now of the parts that the replica stands on. It answers also while they do. */
  readonly getHealth: (request: GetHealthRequest, call: Call) => Promise<ExecutionHealth>;
  /** Passes each given field through its reducer, as a node's update would, and gives the whole state. */
  readonly updateState: (request: UpdateStateRequest, call: Call) => Promise<State>;
  /**
   * Ends the thread's run, forgets its memories and removes its rows, in this order. A failure leaves the thread absent to
   * every reader; calling again, or the sweeper, goes on where it stopped.
   */
  readonly deleteThread: (request: DeleteThreadRequest, call: Call) => Promise<DeleteThreadReply>;
}

/** Which calls of {@link Execution} may be made again. */
export const executionRetries: Readonly<Record<keyof Execution, RetryRule>> = {
  start: { retry: 'safe', takesLong: false },
  wait: { retry: 'safe', takesLong: false },
  follow: { retry: 'safe', takesLong: true },
  stopRun: { retry: 'attempt', takesLong: false },
  checkTools: { retry: 'safe', takesLong: false },
  getGraph: { retry: 'safe', takesLong: false },
  getHealth: { retry: 'safe', takesLong: false },
  updateState: { retry: 'attempt', takesLong: false },
  deleteThread: { retry: 'attempt', takesLong: true },
};

export interface StartRequest {
  readonly owner: string;
  readonly requestId: string;
  /** Made by the caller, so that a repeated request can name the same run. */
  readonly runId: string;
  /** Whether it was made for this request alone, which may be sent again as it is and is the only one that names the run. */
  readonly runIdIsNew?: boolean;
  /** Absent: a new thread, whose id is made where the request arrives: sent again, it would make another. */
  readonly threadId?: string;
  /** Whether this id, too, was made for this request alone. */
  readonly threadIdIsNew?: boolean;
  readonly threadName?: string;
  /** A JSON object: the metadata of a thread that is made by this run. */
  readonly threadMetadataJson?: Uint8Array;
  readonly messages: readonly MessageEntry[];
  /** A JSON object: fields that pass their reducers before the first step. */
  readonly initialStateJson?: Uint8Array;
  /** A JSON object: handed to the nodes as it came. */
  readonly configJson?: Uint8Array;
  /** A JSON object: who calls, handed to the nodes. Never a token. */
  readonly userJson?: Uint8Array;
  readonly tools: readonly RemoteTool[];
  readonly recursionLimit: number;
  readonly granularity: Granularity;
  readonly multitaskStrategy: MultitaskStrategy;
  /** Any JSON: answers what the thread's interrupted run asked. */
  readonly resumeJson?: Uint8Array;
}

/** A tool that the caller runs. */
export interface RemoteTool {
  /** The tool node it belongs to; empty: every one. */
  readonly nodeName: string;
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parametersJson: Uint8Array;
}

export interface CheckToolsRequest {
  readonly tools: readonly RemoteTool[];
}

export type CheckToolsReply = Readonly<Record<string, never>>;

export interface StartReply {
  readonly runId: string;
  readonly threadId: string;
  readonly isNewThread: boolean;
  readonly status: RunStatus;
}

export interface WaitRequest {
  readonly owner: string;
  readonly runId: string;
  /** Whether the caller has only just started it: then the record need not be asked whose it is, and how it stands. */
  readonly justStarted?: boolean;
  /** Set by a gateway that reads events in parts; one of the version before is sent whole chunks: old-events.ts. */
  readonly eventParts?: boolean;
}

export interface FollowRequest {
  readonly owner: string;
  readonly runId: string;
  /** The number of the last event already seen; 0 for all. */
  readonly after: number;
  /** As in WaitRequest. */
  readonly justStarted?: boolean;
  /** As in WaitRequest. */
  readonly eventParts?: boolean;
}

export interface RunEvents {
  readonly events: readonly RunEvent[];
  /** Whose events they are: in the first reply of a stream. */
  readonly scope?: RunScope;
}

/** What all events of a run share. */
export interface RunScope {
  readonly runId: string;
  readonly threadId: string;
  /** Of the request that started the run. */
  readonly requestId: string;
  /** Whether the run made its thread. */
  readonly isNewThread: boolean;
}

/** An event in parts, which are stored and sent beside each other; the gateway puts them into the chunk that a caller reads. */
export interface RunEvent {
  /** 1 for the first event of a run, then one more each. */
  readonly seq: number;
  /** One of `eventKinds`. */
  readonly kind: string;
  /** The whole chunk, as the version before this one wrote it. Only between processes of the two versions: old-events.ts. */
  readonly json?: Uint8Array;
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  readonly node?: string;
  readonly step?: number;
  readonly messageId?: string;
  readonly role?: string;
  /** Set on a chunk of a message that its node emitted while it ran; everything else is published after the step's commit. */
  readonly emitted?: boolean;
  /** JSON on one line. */
  readonly data: Uint8Array;
  /** Which part of the data a caller reads a second time. */
  readonly repeat?: Repeat;
  /** JSON on one line: the message that is whole with this event. */
  readonly message?: Uint8Array;
  /** JSON on one line: the fields that the step changed. */
  readonly state?: Uint8Array;
}

/**
 * A part of some data that belongs at a second place, and stands in it once: the `length` bytes at `offset` are read again
 * before the byte at `target`, which is never inside of the part.
 */
export interface Repeat {
  readonly offset: number;
  readonly length: number;
  readonly target: number;
}

export interface StopRunRequest {
  readonly owner: string;
  readonly runId: string;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export interface StopRunReply {
  /** How the run ended: stopped, or as it had ended before. */
  readonly status: EndStatus;
  readonly stoppedNow: boolean;
}

export type GetGraphRequest = Readonly<Record<string, never>>;

export interface Graph {
  /** Nodes, edges and a Mermaid drawing: a JSON object. */
  readonly graphJson: Uint8Array;
  /** Field name to its type, description, default and whether it is required: a JSON object. */
  readonly fieldsJson: Uint8Array;
}

export type GetHealthRequest = Readonly<Record<string, never>>;

export interface ExecutionHealth {
  readonly degraded: readonly DegradedPart[];
}

/** A part that fails for now, and why; the reason names no host and no file. */
export interface DegradedPart {
  readonly name: string;
  readonly reason: string;
}

export interface UpdateStateRequest {
  readonly owner: string;
  readonly threadId: string;
  /** A JSON object. */
  readonly stateJson: Uint8Array;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
}

export interface DeleteThreadRequest {
  readonly owner: string;
  readonly threadId: string;
  /** Of this request, however often it is sent: as in threads.proto. */
  readonly attemptId?: string;
  /** Of a request that is to be done once: known for a day, and stronger than `attempt_id`. */
  readonly onceKey?: string;
}

export type DeleteThreadReply = Readonly<Record<string, never>>;

/** The messages that have fields of a closed list. */
export const executionLists: MessageLists = {
  StartRequest: { granularity: 'Granularity', multitaskStrategy: 'MultitaskStrategy' },
  StartReply: { status: 'RunStatus' },
  StopRunReply: { status: 'EndStatus' },
};
