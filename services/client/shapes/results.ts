import type { Json, JsonObject } from './json.ts';
import type { Message } from './messages.ts';

/** A question of a node, which a `resume` under its id answers. */
export interface Interrupt {
  readonly id: string;
  readonly node: string;
  readonly value: Json;
  /** When the run goes on without an answer. */
  readonly deadline?: string;
  /** The answer that counts then. */
  readonly default?: Json;
  /** The roles whose callers answer it (`questions`); absent: the owner of the thread does. */
  readonly to?: readonly string[];
  /** Whether the owner may not answer it. */
  readonly not_owner?: boolean;
  /** How many callers must give the same answer; absent: one. */
  readonly quorum?: number;
}

export type EndStatus = 'interrupted' | 'completed' | 'failed' | 'stopped';

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
  | 'error'
  | 'tasks'
  | 'values';

/** What a stream may have beside the events: `debug` is both others. */
export type StreamMode = 'tasks' | 'values' | 'debug';

/** An event of a run's stream, with the id after which a stream can be resumed. */
export interface RunEvent {
  /** `{run_id}:{seq}`; of `tasks` and `values`, which have no number, that of the event before. */
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
