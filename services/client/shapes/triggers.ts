import type { JsonObject } from './json.ts';
import type { RunConfig } from './runs.ts';

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
