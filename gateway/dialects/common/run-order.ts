import type { Granularity, MultitaskStrategy } from '@agent-workflow/protos/lists';
import type { Block } from '@agent-workflow/protos/message';

type JsonObject = Readonly<Record<string, unknown>>;

/** A message as a caller sends it. Its fields are checked where it becomes one of the log. */
export interface NewMessage {
  readonly message_id?: unknown;
  readonly role: unknown;
  readonly content: string | readonly Block[];
  readonly [field: string]: unknown;
}

/** A tool that the caller runs. */
interface DeclaredTool {
  readonly node_name?: string;
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonObject;
}

/** What the service reads of the config of a run; nodes see all of it. */
interface OrderConfig {
  readonly thread_id?: string | number;
  readonly thread_name?: string;
  readonly metadata?: JsonObject;
  /** Seconds. */
  readonly ttl?: number | null;
  readonly checkpoint_id?: string | number;
  readonly assistant_id?: string | number;
  readonly agent?: unknown;
  readonly multitask_strategy?: MultitaskStrategy;
  readonly remote_tools?: readonly (DeclaredTool | { readonly function: DeclaredTool })[];
  readonly on_completion?: 'keep' | 'delete';
  readonly on_disconnect?: 'continue' | 'cancel';
  readonly [field: string]: unknown;
}

/** Where the end of a run is sent. */
export interface OrderWebhook {
  readonly url: string;
  readonly secret?: string;
  readonly events?: readonly string[];
}

/**
 * A run that a caller asks for, in whatever dialect. Schedules keep it as it stands here, so its fields have the names of the contract and
 * do not change.
 */
export interface RunOrder {
  readonly messages?: readonly NewMessage[];
  readonly initial_state?: JsonObject;
  readonly config?: OrderConfig;
  readonly context?: JsonObject;
  readonly recursion_limit: number;
  readonly response_granularity?: Granularity;
  readonly tools?: readonly DeclaredTool[];
  readonly priority?: number;
  readonly interrupt_before?: string | readonly string[];
  readonly interrupt_after?: string | readonly string[];
  readonly resume?: unknown;
  readonly webhook?: OrderWebhook;
}

/** A run that may start later. */
export interface LaterRunOrder extends RunOrder {
  /** When it starts: ISO text or a number. Absent: at once. */
  readonly start_at?: unknown;
}
