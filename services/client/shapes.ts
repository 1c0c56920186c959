/** What `/v1` takes and gives, by the names of its JSON. Replies may hold more than is named here. */

export type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;

/** A part of a message's content. Blocks of other types than these are kept as they came. */
export interface Block {
  readonly type: string;
  readonly [field: string]: Json;
}

/** A message that is sent: its id and time are given by the service unless they are there. */
export interface NewMessage {
  readonly role: 'user' | 'assistant' | 'system' | 'tool';
  readonly content: string | readonly Block[];
  readonly message_id?: string;
  readonly metadata?: JsonObject;
  readonly timestamp?: string;
}

export interface Message {
  readonly message_id: string;
  readonly role: NewMessage['role'];
  readonly content: readonly Block[];
  readonly metadata?: JsonObject;
  readonly timestamp: string;
  /** In lists and of a single message: where a fork begins after what came with it. Absent when it is not known, as in forks. */
  readonly checkpoint_id?: string;
}

/** `config` of a run; nodes see its other fields. */
export interface RunConfig {
  readonly thread_id?: string;
  /** The name of the agent, where the service has several: that of the thread, else the default, unless given. */
  readonly agent?: Json;
  /** The assistant whose agent, config and context the run has. */
  readonly assistant_id?: string;
  readonly thread_name?: string;
  readonly metadata?: JsonObject;
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
  /** Nodes before which the run stops, or `*` for every node; any `resume` goes on from there. */
  readonly interrupt_before?: '*' | readonly string[];
  /** The same after nodes. */
  readonly interrupt_after?: '*' | readonly string[];
  /** Answers to the open interrupts by their ids, or one bare answer when one is open. */
  readonly resume?: Json;
  /** Where the end of this run is sent. */
  readonly webhook?: RunWebhook;
}

/** How a run ended. */
export type WebhookEvent = 'run.completed' | 'run.failed' | 'run.interrupted' | 'run.stopped';

export interface RunWebhook {
  readonly url: string;
  /** `whsec_` and base64; without it events are not signed. */
  readonly secret?: string;
  /** All unless given. */
  readonly events?: readonly WebhookEvent[];
}

export interface NewWebhook extends RunWebhook {
  readonly description?: string;
  /** `true` unless given. */
  readonly enabled?: boolean;
}

export type WebhookChange = Partial<Omit<NewWebhook, 'secret'>>;

/** An address to which the ends of its owner's runs are sent. */
export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  /** Empty: all. */
  readonly events: readonly WebhookEvent[];
  readonly description: string | null;
  readonly enabled: boolean;
  /** Why the service has disabled it. */
  readonly disabled_because?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface WebhookSecret {
  readonly secret: string;
  /** Signs beside its successor until `old_secret_until`. */
  readonly old_secret?: string;
  readonly old_secret_until?: string;
}

export interface DeliveriesQuery extends Pick<Page, 'limit' | 'cursor'> {
  /** `pending` unless given. */
  readonly state?: Delivery['state'];
}

/** An event that its receiver has not taken. */
export interface Delivery {
  /** `webhook-id` of its requests. */
  readonly delivery_id: string;
  /** `null`: that of the run. */
  readonly webhook_id: string | null;
  /** Of the webhook of a run. */
  readonly url?: string;
  readonly state: 'pending' | 'dead';
  readonly event: WebhookEvent | 'webhook.test';
  readonly run_id: string | null;
  readonly thread_id: string | null;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_failure: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
}

export interface ToolDeclaration {
  readonly name: string;
  readonly node_name?: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly parameters?: JsonObject;
}

/** What an assistant holds: an agent, and what its runs have beside what their requests give. */
export interface NewAssistant {
  /** Absent: the service makes one. */
  readonly assistant_id?: string;
  readonly agent?: string;
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  readonly config?: JsonObject;
  readonly context?: JsonObject;
}

/** The fields to replace, and the version that was read, where the change depends on it. */
export interface AssistantChange extends Omit<NewAssistant, 'assistant_id'> {
  readonly version?: number;
}

interface AssistantContent {
  readonly assistant_id: string;
  readonly version: number;
  readonly agent: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly created_at: string;
}

/** An assistant with the version that runs have. */
export interface Assistant extends AssistantContent {
  readonly newest_version: number;
  readonly updated_at: string;
}

/** One version of an assistant. It never changes. */
export type AssistantVersion = AssistantContent;

export interface AssistantsQuery {
  readonly agent?: string;
  /** A part of the name. */
  readonly name?: string;
  /** Values at the top of the metadata. */
  readonly metadata?: JsonObject;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

/** What a trigger does with an event. */
export interface TriggerChange {
  readonly name?: string;
  readonly enabled?: boolean;
  /** The types of events that start a run; empty: all. */
  readonly events?: readonly string[];
  /** The text of the message that a run begins with; empty: the body of the event. */
  readonly message?: string;
  readonly config?: RunConfig;
  readonly context?: JsonObject;
}

export interface NewTrigger extends TriggerChange {
  readonly format: 'standard' | 'github' | 'slack';
  /** That of the sender, where it makes one. */
  readonly secret?: string;
}

/** An address whose signed events start runs of its owner. */
export interface Trigger {
  readonly trigger_id: string;
  readonly name: string | null;
  readonly format: 'standard' | 'github' | 'slack';
  readonly enabled: boolean;
  readonly events: readonly string[];
  readonly message: string | null;
  readonly config: JsonObject;
  readonly context: JsonObject;
  /** Where events are sent, below the address of the service. */
  readonly path: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface TriggerWithSecret extends Trigger {
  readonly secret: string;
}

/** A run that is accepted, and at what time it starts: at once unless given. */
export interface NewRun extends RunRequest {
  readonly start_at?: string | number;
}

/** When a schedule starts runs: one of `cron`, `every_seconds` and `at`, and how. */
interface ScheduleFields {
  readonly name?: string;
  /** Five fields, or `@daily` and its like. */
  readonly cron?: string;
  /** The time zone of `cron`; `UTC` unless given. */
  readonly timezone?: string;
  readonly every_seconds?: number;
  readonly at?: string | number;
  readonly starts_at?: string | number;
  readonly ends_at?: string | number;
  readonly jitter_seconds?: number;
  /** `skip` unless given. */
  readonly overlap?: 'skip' | 'queue' | 'cancel_other' | 'allow';
  /** `one` unless given. */
  readonly catch_up?: 'none' | 'one' | 'all';
  readonly catch_up_seconds?: number;
  readonly thread?: 'one' | 'new';
  readonly keep_threads?: boolean;
  readonly metadata?: JsonObject;
}

export interface NewSchedule extends ScheduleFields {
  readonly paused?: boolean;
  /** What each run is started with. */
  readonly run: RunRequest;
}

export interface ScheduleChange extends ScheduleFields {
  readonly run?: RunRequest;
}

/** A schedule as lists show it. */
export interface ScheduleItem extends ScheduleFields {
  readonly schedule_id: string;
  readonly status: 'active' | 'paused' | 'disabled' | 'ended';
  readonly disabled_reason?: string;
  readonly run: JsonObject;
  readonly next_at?: string;
  /** How many slots are due and were not fired yet. */
  readonly pending: number;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** What became of a slot. */
export interface PastSlot {
  readonly slot: string;
  readonly cause: 'slot' | 'manual' | 'backfill';
  readonly outcome: 'started' | 'skipped' | 'missed' | 'refused';
  readonly at: string;
  readonly run_id?: string;
  readonly thread_id?: string;
  readonly reason?: string;
}

export interface Schedule extends ScheduleItem {
  readonly next_times: readonly string[];
  readonly last_runs: readonly PastSlot[];
}

/** Slots that are fired within moments. */
export interface FiredSlots {
  readonly schedule_id: string;
  readonly runs: readonly { readonly slot: string; readonly run_id: string; readonly thread_id: string }[];
}

/** An agent as lists show it. */
export interface AgentItem {
  /** For `config.agent`; `default` where the service has one agent without a name. */
  readonly name: string;
  readonly description: string | null;
  /** Whether it serves new threads whose first run names no agent. */
  readonly is_default: boolean;
  /** The names of its tools. */
  readonly tools: readonly string[];
  /** Where new runs go; absent where the agent has no revisions. */
  readonly routing?: AgentRouting;
  /** Its builds, the oldest first; absent where it has none. */
  readonly revisions?: readonly AgentRevision[];
}

/** Which revisions of an agent serve new runs. */
interface AgentRouting {
  /** Rises by one with every change. */
  readonly version: number;
  readonly current: string | null;
  /** A second revision, which serves a share of the threads. */
  readonly ramping?: { readonly revision: string; readonly percent: number };
}

/** A change of a routing, made from the version that was read. */
export interface NewRouting {
  readonly version: number;
  readonly current: string;
  readonly ramping?: AgentRouting['ramping'] | null;
}

/** An agent as it is registered. */
export interface AgentRegistration {
  readonly name: string;
  readonly routing: AgentRouting;
  readonly revisions: readonly AgentRevision[];
  /** Of a change: runs wait for workers that are not there. */
  readonly warnings?: readonly string[];
}

/** One immutable build of an agent. */
interface AgentRevision {
  readonly revision: string;
  readonly state: 'registered' | 'current' | 'ramping' | 'draining' | 'drained' | 'retired';
  /** Runs that wait for a worker of it or are driven, some seconds ago; absent where they are not counted. */
  readonly open_runs?: number;
  /** Workers that hold it and were alive some seconds ago; absent where they are not known, or it is retired. */
  readonly workers?: number;
  /** The share of the threads whose new runs it serves. */
  readonly percent: number;
  readonly registered_at: string;
}

/** An agent: a graph under a name. */
export interface Agent extends Omit<AgentItem, 'tools'> {
  readonly tools: readonly AgentTool[];
  /** As it is drawn. */
  readonly graph: JsonObject;
  /** The fields of the state of its threads. */
  readonly state_schema: JsonObject;
}

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** Whether the caller runs it. */
  readonly remote: boolean;
}

/** A question of a node, which a `resume` under its id answers. */
export interface Interrupt {
  readonly id: string;
  readonly node: string;
  readonly value: Json;
  /** When the run goes on without an answer. */
  readonly deadline?: string;
  /** The answer that counts then. */
  readonly default?: Json;
}

export type EndStatus = 'interrupted' | 'completed' | 'failed' | 'stopped';
export type RunStatus = EndStatus | 'queued' | 'running' | 'sleeping';
/** A run that starts later. */
export type ShownRunStatus = RunStatus | 'scheduled';

/** A count of tokens. */
export interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** Why an answer of a model ended. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'error' | 'unknown';

/** The tokens of one model, and how often its answers ended for which reason. */
export interface ModelUsage extends Tokens {
  readonly finish_reasons?: Readonly<Partial<Record<FinishReason, number>>>;
}

/** The tokens that a run has taken: of each model by its name, and of all together. */
export interface Usage extends Tokens {
  readonly models: Readonly<Record<string, ModelUsage>>;
}

/** What a run gave. */
export interface RunResult {
  /** The last reply of the assistant, or the message that asks for remote tools. */
  readonly messages: readonly Message[];
  /** All that the run added. */
  readonly all_messages: readonly Message[];
  readonly all_messages_truncated?: boolean;
  readonly state?: JsonObject;
  readonly context?: Json;
  readonly summary?: string;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly metadata: {
    readonly message: string;
    readonly request_id: string;
    readonly timestamp: string;
    /** Absent when no node reported any. */
    readonly usage?: Usage;
  };
  readonly meta: {
    readonly thread_id: string;
    readonly run_id: string;
    readonly is_new_thread: boolean;
    readonly status: EndStatus;
    readonly resumes?: string;
    readonly interrupts?: readonly Interrupt[];
  };
}

export type EventKind =
  | 'metadata'
  | 'on_chain_start'
  | 'on_chain_stream'
  | 'on_chain_end'
  | 'messages_chunk'
  | 'state_chunk'
  | 'context_chunk'
  | 'summary_chunk'
  | 'error';

/** An event of a run's stream, with the id after which a stream can be resumed. */
export interface RunEvent {
  /** `{run_id}:{seq}`. */
  readonly id: string;
  readonly event: EventKind;
  readonly data: Json;
  readonly thread_id: string;
  readonly run_id: string;
  readonly message?: Message;
  readonly state?: JsonObject;
  readonly metadata: JsonObject;
  readonly timestamp: string;
}

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
export interface RunError {
  readonly code: string;
  readonly message: string;
  /** The node that failed; absent when none did. */
  readonly node?: string;
  /** Absent where the service itself says why in `message`. */
  readonly reason?: FailureReason;
  /** The parameter that the provider of a model refused, as `temperature`. */
  readonly parameter?: string;
}

/** A run that was accepted, or what is known of one. */
export interface Run {
  readonly run_id: string;
  readonly thread_id: string;
  /** The agent that runs it: `default` where agents have no names. A reply that accepts a run leaves it out. */
  readonly agent?: string;
  /** The revision of the agent that serves it, where the agent has revisions. */
  readonly revision?: string;
  readonly status: ShownRunStatus;
  /** When a scheduled run starts. */
  readonly start_at?: string;
  /** The interrupted run that this one continues, or the failed one that it tries again. */
  readonly resumes?: string;
  /** Of an interrupted run: the first deadline of its questions, while that counts. */
  readonly deadline?: string;
  /** When a sleeping run continues. */
  readonly wake_at?: string;
  readonly usage?: Usage;
  /** Of a run that has failed. */
  readonly error?: RunError;
  readonly [field: string]: Json;
}

/** A run of a batch that is on record, or why it was refused. */
export type BatchRun =
  | { readonly run_id: string; readonly thread_id: string; readonly status: RunStatus; readonly error?: undefined }
  | { readonly run_id?: undefined; readonly error: { readonly code: string; readonly message: string } };

/** What became of a run that was to be stopped. */
export interface StoppedRun {
  /** Whether this request stopped it. */
  readonly success: boolean;
  readonly run_id: string | null;
  /** Of the run: `stopped`, or that of an earlier end. */
  readonly status: RunStatus | 'idle';
  readonly message: string;
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

export interface Thread {
  readonly thread_id: string;
  readonly thread_name: string | null;
  readonly user_id: string | null;
  readonly metadata: JsonObject | null;
  readonly updated_at: string | null;
  readonly run_id?: string | null;
  /** The agent of its runs; `null` before the first. */
  readonly agent: string | null;
  /** Absent in lists that are no search. */
  readonly status?: ThreadStatus;
  /** What an interrupted thread waits for. */
  readonly waits_for?: WaitsFor;
  readonly [field: string]: Json;
}

export type ThreadStatus = 'queued' | 'running' | 'sleeping' | 'interrupted' | 'failed' | 'idle';
export type WaitsFor = 'answer' | 'tool_results';

/** What is absent stays, and `null` removes: the name, all metadata, or one key of it. */
export interface ThreadChange {
  readonly thread_name?: string | null;
  readonly metadata?: JsonObject | null;
}

export interface ThreadFilter {
  readonly thread_ids?: readonly string[];
  readonly search?: string;
  readonly agent?: string;
  readonly status?: ThreadStatus | readonly ThreadStatus[];
  readonly waits_for?: WaitsFor;
  /** Each key of the metadata with an equal value. */
  readonly metadata?: JsonObject;
  /** Each field of the state with this value. */
  readonly values?: Readonly<Record<string, string | number | boolean | null>>;
}

export interface ThreadSearch extends ThreadFilter, Page {
  readonly sort_by?: 'updated_at' | 'created_at' | 'thread_name' | 'thread_id';
  readonly sort_order?: 'asc' | 'desc';
  /** The fields to show; `interrupts` are the open questions. */
  readonly select?: readonly string[];
}

export interface FoundThreads extends Paged {
  readonly threads: readonly Partial<Thread>[];
  /** The owner has more threads, and older ones were not looked at. */
  readonly at_least?: true;
}

export interface ThreadCount {
  readonly count: number;
  readonly at_least?: true;
}

export interface InboxQuery extends Omit<Page, 'search'> {
  readonly agent?: string;
}

/** A thread with the questions that wait for an answer: a run of it with `resume`. */
export interface InboxItem {
  readonly thread_id: string;
  readonly thread_name: string | null;
  readonly agent: string | null;
  readonly metadata: JsonObject | null;
  readonly run_id: string | null;
  readonly waiting_since: string;
  readonly interrupts: readonly Interrupt[];
}

export interface Inbox extends Paged {
  readonly items: readonly InboxItem[];
  readonly at_least?: true;
}

export interface ThreadState {
  readonly state: JsonObject;
  /** The checkpoint that the thread is at, for a write and for a fork. */
  readonly checkpoint_id: string;
  /** The agent that the thread belongs to; absent before its first run. */
  readonly agent?: string;
  /** `state.context` holds only the newest messages, as many as fit the reply. */
  readonly context_truncated?: boolean;
}

/** How fields of a state are written. */
export interface StateWriting {
  /** `merge`, unless given: each field through its reducer. `replace`: past it, at `checkpoint_id` alone, and without `context`. */
  readonly mode?: 'merge' | 'replace';
  /** The checkpoint that was read; a conflict when the thread has moved on. */
  readonly checkpoint_id?: string;
}

/** A checkpoint with the state at that point. */
export interface PastState extends Omit<ThreadState, 'agent' | 'checkpoint_id'> {
  readonly checkpoint: Checkpoint;
}

/** A version of a thread that can be read again and forked. */
export interface Checkpoint {
  readonly checkpoint_id: string;
  readonly thread_id: string;
  readonly source: 'input' | 'step' | 'update' | 'fork' | 'rollback' | 'restore';
  readonly run_id: string | null;
  /** The number of the step in its run, from 0. */
  readonly step: number | null;
  /** The nodes that ran in the step. */
  readonly nodes: readonly string[];
  /** The nodes that were to run next. */
  readonly next: readonly string[];
  readonly metadata: JsonObject | null;
  readonly created_at: string;
  /** How the step ran; `null` for another checkpoint, and where it is not known. */
  readonly started_at?: string | null;
  readonly ended_at?: string | null;
  /** The attempt at the step that was committed, from 1. */
  readonly attempt?: number | null;
  /** How often its nodes began again after an error. */
  readonly retries?: number | null;
  readonly usage?: Tokens | null;
  readonly [field: string]: Json;
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

/** Where a list begins and how long it is. `cursor` of a reply continues after it. */
export interface Page {
  readonly search?: string;
  readonly offset?: number;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

/** What a page of a list says of the next one. */
export interface Paged {
  readonly has_more: boolean;
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Which messages of a thread are listed, and whether the oldest (`asc`, the default) or the newest come first. */
export interface MessagesQuery extends Page {
  readonly order?: 'asc' | 'desc';
}

/** Which of the caller's runs are listed: those of one status, of any of several, or of all. */
export interface RunsQuery {
  readonly status?: RunStatus | readonly RunStatus[];
  readonly agent?: string;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export type MemoryType = 'episodic' | 'semantic' | 'procedural' | 'entity' | 'relationship' | 'custom' | 'declarative';

export interface NewMemory {
  readonly content: string;
  readonly memory_type: MemoryType;
  readonly category: string;
  readonly metadata?: JsonObject;
  /** The time of what it describes. */
  readonly timestamp?: string | number;
  /** From when on it is found by nothing. */
  readonly expires_at?: string | number;
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

export interface MemoryQuery {
  readonly query: string;
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly limit?: number;
  readonly score_threshold?: number;
  readonly filters?: JsonObject;
  readonly retrieval_strategy?: 'similarity' | 'temporal' | 'relevance' | 'hybrid' | 'graph_traversal';
  readonly distance_metric?: 'cosine' | 'euclidean' | 'dot_product' | 'manhattan';
  readonly max_tokens?: number;
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

export interface Memory {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly memory_type: MemoryType;
  readonly category?: string;
  readonly metadata: JsonObject;
  readonly vector: readonly number[];
  readonly user_id: string;
  readonly thread_id: string;
  readonly timestamp: string;
  readonly expires_at?: string;
}

/** What memories are forgotten; without any of these none. */
export interface MemorySelection {
  readonly memory_type?: MemoryType;
  readonly category?: string;
  readonly filters?: JsonObject;
  readonly config?: JsonObject;
  readonly options?: JsonObject;
}

/** The memories that were forgotten. */
export interface Forgotten {
  readonly deleted_count: number;
  /** As many as fit the reply; `has_more` says whether there were others. */
  readonly memory_ids: readonly string[];
  readonly has_more: boolean;
  /** Where nothing was selected: how memories are selected. */
  readonly message?: string;
}

/** A stored file. */
export interface FileInfo {
  readonly file_id: string;
  /** What its bytes show, else what was declared. */
  readonly mime_type: string;
  readonly size_bytes: number;
  readonly filename: string;
  readonly sha256: string;
  readonly created_at: string;
  /** When it is removed unless a message of a thread names it by then. */
  readonly expires_at?: string;
  readonly extracted_text: string | null;
}

export interface UploadedFile extends FileInfo {
  /** The path at which its owner reads the bytes. */
  readonly url: string;
}

/** An address that gives the bytes without credentials. */
export interface FileUrl {
  readonly file_id: string;
  readonly url: string;
  /** In seconds since 1970. */
  readonly expires_at: number;
  readonly mime_type: string;
}

/** What files the service takes. */
export interface MultimodalConfig {
  /** `local`, `s3` or `none`. */
  readonly media_storage_type: string;
  readonly media_storage_path: string;
  readonly media_max_size_mb: number;
  readonly media_max_files: number;
  readonly media_quota_mb: number;
  readonly document_handling: string;
}
