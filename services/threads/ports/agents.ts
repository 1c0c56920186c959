/** Which revision of an agent serves new runs. It is read far more often than the rest of an agent, and is small. */
export interface Routing {
  /** Rises by one with every change of `current` or `ramping`; 0 before the first. */
  readonly version: number;
  readonly current?: string;
  /** A second revision, which serves a share of the threads. */
  readonly ramping?: Ramping;
  /** Revisions that serve no run any more. */
  readonly retired: readonly string[];
}

interface Ramping {
  readonly revision: string;
  /** From 0 to 100, with at most two decimals. */
  readonly percent: number;
}

/** One immutable build of an agent. */
export interface RevisionRow {
  readonly revision: string;
  /** Milliseconds since 1970. */
  readonly registeredAt: number;
  /** Names the definition that was registered. */
  readonly schemaHash: string;
  /** Whether it is or was current or ramping. */
  readonly wasRouted: boolean;
  /** When it last ceased to be current or ramping, in milliseconds since 1970. */
  readonly unroutedAt?: number;
}

/** A registered agent. */
export interface AgentRow {
  readonly name: string;
  readonly description?: string;
  /** Counts the writes of this row, from 1. */
  readonly changes: number;
  readonly routing: Routing;
  /** The oldest first. */
  readonly revisions: readonly RevisionRow[];
}

/** What a revision of an agent looks like to callers. JSON texts, which the record does not read. */
export interface Definition {
  readonly graphJson: Uint8Array;
  readonly fieldsJson: Uint8Array;
  readonly toolsJson: Uint8Array;
  /** Names of the nodes; those of a sub-graph as `sub/node`. */
  readonly nodes: readonly string[];
  /** Names of the fields that only the agent's code can reduce or check. */
  readonly codeFields: { readonly reduced: readonly string[]; readonly checked: readonly string[] };
}

/** Names a definition. The hash is part of it, so that two builds that claim one revision never overwrite each other. */
export interface DefinitionKey {
  readonly agent: string;
  readonly revision: string;
  readonly schemaHash: string;
}

/** The port of the agents that are registered. They belong to no owner. */
export interface AgentRecords {
  readonly getAgent: (name: string) => Promise<AgentRow | undefined>;
  /** All agents, by name. The service bounds how many there are. */
  readonly listAgents: () => Promise<readonly AgentRow[]>;
  /** The routings of all agents, by the names of the agents. */
  readonly listRoutings: () => Promise<ReadonlyMap<string, Routing>>;
  /**
   * Writes the row if the stored one has one change less, or if there is none and `changes` is 1. Of several that write the same
   * change one succeeds. @returns whether the row was written.
   */
  readonly putAgent: (row: AgentRow) => Promise<boolean>;
  readonly getDefinition: (key: DefinitionKey) => Promise<Definition | undefined>;
  /** A second call with the same key changes nothing a reader could see: the hash names the content. */
  readonly putDefinition: (key: DefinitionKey, definition: Definition) => Promise<void>;
  readonly dropDefinition: (key: DefinitionKey) => Promise<void>;
}
