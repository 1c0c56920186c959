import type { JsonObject } from './json.ts';

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
