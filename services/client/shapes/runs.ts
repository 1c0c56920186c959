import type { Json, JsonObject } from './json.ts';
import type { Message, NewMessage, ToolDeclaration } from './messages.ts';
import type { EndStatus, Usage } from './results.ts';
import type { Checkpoint, PastState } from './threads.ts';
import type { RunWebhook } from './webhooks.ts';

/** `config` of a run; nodes see its other fields. */
export interface RunConfig {
  readonly thread_id?: string;
  /** The checkpoint of the thread that the run starts from. */
  readonly checkpoint_id?: string;
  /** The name of the agent, where the service has several: that of the thread, else the default, unless given. */
  readonly agent?: Json;
  /** The assistant whose agent, config and context the run has. */
  readonly assistant_id?: string;
  readonly thread_name?: string;
  readonly metadata?: JsonObject;
  /** For how many seconds a thread that the run makes is kept after its last change; `null`: as the service is set. */
  readonly ttl?: number | null;
  readonly multitask_strategy?: 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  readonly on_disconnect?: 'continue' | 'cancel';
  /** `delete`: the thread goes a minute or two after the end of the run. */
  readonly on_completion?: 'keep' | 'delete';
  /** Tools that the caller runs, as other servers of graphs take them; those of `tools` come first. */
  readonly remote_tools?: readonly (
    ToolDeclaration | { readonly type?: 'function'; readonly function: ToolDeclaration }
  )[];
  readonly [field: string]: Json;
}

/** The body of a run. */
export interface RunRequest {
  /** Empty or absent only together with `resume` or `initial_state`. */
  readonly messages?: readonly NewMessage[];
  readonly initial_state?: JsonObject;
  readonly config?: RunConfig;
  /** What nodes see as `ctx.context`, over that of the assistant. */
  readonly context?: JsonObject;
  /** 1 to 1000; 25 unless given. */
  readonly recursion_limit?: number;
  readonly response_granularity?: 'low' | 'partial' | 'full';
  /** Tools that the caller runs. */
  readonly tools?: readonly ToolDeclaration[];
  /** How early the run is taken among the waiting runs of its owner, from 0, the last and default, to 9. */
  readonly priority?: number;
  /** Nodes before which the run stops, or `*` for every node; any `resume` goes on from there. */
  readonly interrupt_before?: '*' | readonly string[];
  /** The same after nodes. */
  readonly interrupt_after?: '*' | readonly string[];
  /** Answers to the open interrupts by their ids, or one bare answer when one is open. */
  readonly resume?: Json;
  /** Where the end of this run is sent. */
  readonly webhook?: RunWebhook;
}

/** A run that is accepted, and at what time it starts: at once unless given. */
export interface NewRun extends RunRequest {
  readonly start_at?: string | number;
}

export type RunStatus = EndStatus | 'queued' | 'running' | 'sleeping';

/** A run that starts later. */
export type ShownRunStatus = RunStatus | 'scheduled';

/** Why code of an agent failed. */
export type FailureReason =
  | 'user_error'
  | 'context_too_long'
  | 'answer_too_long'
  | 'content_filtered'
  | 'refused_by_provider'
  | 'credentials_refused'
  | 'not_found'
  | 'rate_limited'
  | 'provider_error'
  | 'unreachable'
  | 'cut_off'
  | 'timed_out'
  | 'unreadable'
  | 'unexpected';

/** Why a run failed: `error` of the run, and `data` of the event `error` of its stream. */
export interface RunError<Text = string> {
  readonly code: string;
  readonly message: Text;
  /** The node that failed; absent when none did. */
  readonly node?: string;
  /** Absent where the service itself says why in `message`. */
  readonly reason?: FailureReason;
  /** The parameter that the provider of a model refused, as `temperature`. */
  readonly parameter?: string;
  /** The class of what code of the agent threw, as `TypeError`. */
  readonly thrown?: string;
}

/** A run that was accepted, or what is known of one. */
export interface Run<Text = string> {
  readonly run_id: string;
  readonly thread_id: string;
  /** What to call its thread; absent in a reply that accepts a run. */
  readonly thread_title?: string | null;
  /** The agent that runs it: `default` where agents have no names. A reply that accepts a run leaves it out. */
  readonly agent?: string;
  /** The revision of the agent that serves it, where the agent has revisions. */
  readonly revision?: string;
  readonly status: ShownRunStatus;
  /** When a scheduled run starts. */
  readonly start_at?: string;
  readonly created_at?: string;
  readonly updated_at?: string;
  /** When a worker began with it; absent before that. */
  readonly started_at?: string;
  /** When it ended. */
  readonly ended_at?: string;
  /** The interrupted run that this one continues, or the failed one that it tries again. */
  readonly resumes?: string;
  /** Of an interrupted run: the run that answers what this one asked. */
  readonly resumed_by?: string;
  /** Who gave the answers that it brings, in their order; absent in lists, and where it brings none. `key`: the id of their API key. */
  readonly answered_by?: readonly {
    readonly by: string;
    readonly at: string;
    readonly client: string;
    readonly key?: string;
  }[];
  /** Of an interrupted run: the first deadline of its questions, while that counts. */
  readonly deadline?: string;
  /** When a sleeping run continues. */
  readonly wake_at?: string;
  /** How early it is taken among the waiting runs of its owner, where that is not 0. */
  readonly priority?: number;
  readonly usage?: Usage;
  /** Where it stands: the nodes that run or come next, or at which its thread waits. */
  readonly nodes?: readonly string[];
  /** The first question that its thread waits to be answered, on one line. */
  readonly question?: string;
  /** Of a run that has failed. */
  readonly error?: RunError<Text>;
  readonly [field: string]: Json;
}

/** A run of a batch that is on record, or why it was refused. */
export type BatchRun =
  | (Pick<Run, 'run_id' | 'thread_id' | 'status' | 'start_at'> & { readonly error?: undefined })
  | { readonly run_id?: undefined; readonly error: { readonly code: string; readonly message: string } };

/** What became of a run that was to be stopped. */
export interface StoppedRun {
  /** Whether this request stopped it, or dropped what it asked others. */
  readonly success: boolean;
  readonly run_id: string | null;
  /** Of the run: `stopped`, or that of an earlier end. */
  readonly status: RunStatus | 'idle';
  readonly message: string;
  /** The questions to others that nobody answers any more, by `question_id`. */
  readonly dropped_questions?: readonly string[];
  /** With `keepPartial`: whether text was kept. */
  readonly partial?: boolean;
  /** The number of the last event whose text was kept. */
  readonly partial_seq?: number;
  /** The messages that hold it. */
  readonly partial_message_ids?: readonly string[];
  readonly [field: string]: Json;
}

/** The same, of the run of a thread. */
export interface StoppedThread extends StoppedRun {
  readonly thread_id: string;
}

/** A step of a run that is on record. */
export interface Step extends Pick<
  Checkpoint,
  'checkpoint_id' | 'nodes' | 'next' | 'started_at' | 'attempt' | 'retries' | 'usage'
> {
  /** From 0; `metadata.step` of events. */
  readonly step: number;
  /** The fields that it changed. */
  readonly changed: JsonObject;
  /** The messages that it added or replaced. */
  readonly messages: readonly Message[];
  /** The ids of messages that left the context. */
  readonly removed: readonly string[];
  readonly ended_at: string;
}

/** A step with the state after it. */
export interface PastStep extends Omit<PastState, 'checkpoint'> {
  readonly step: Step;
}

/** Which of the caller's runs are listed and counted: those that pass all that is given. Times are ISO 8601. */
export interface RunFilter {
  /** One status, or any of several. */
  readonly status?: RunStatus | readonly RunStatus[];
  readonly agent?: string;
  readonly revision?: string;
  /** Accepted at this time or later, and before that one. */
  readonly from?: string;
  readonly to?: string;
  /** The node that failed, or at which the run stands. */
  readonly node?: string;
  /** A text of the error; case does not count. */
  readonly error?: string;
  /** A text of the error, of the title of the thread, or of an id. */
  readonly search?: string;
  /** How long they took, or have taken so far. */
  readonly min_duration_ms?: number;
  readonly max_duration_ms?: number;
}

export interface RunsQuery extends RunFilter {
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export interface RunCountsQuery extends RunFilter {
  /** Whose days are counted, as `Europe/Berlin`; UTC unless given. */
  readonly timezone?: string;
}

/** How many runs there are by status; one without any is absent. */
export type RunsByStatus = Readonly<Partial<Record<RunStatus, number>>>;

export interface RunCounts {
  readonly total: number;
  readonly counts: RunsByStatus;
  /** The days on which runs were accepted, as `2026-11-28`, the oldest first. */
  readonly days: readonly { readonly day: string; readonly total: number; readonly counts: RunsByStatus }[];
  readonly timezone: string;
  /** Of the runs that have ended. */
  readonly duration_ms?: { readonly median: number; readonly p95: number };
  /** There are more than 10,000, and older ones were not looked at. */
  readonly at_least?: true;
}
