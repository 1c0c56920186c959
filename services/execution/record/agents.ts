import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { defaultAgent } from '@agent-workflow/kit/agents';

/** A graph under the name that callers know. */
export interface Agent {
  readonly name: string;
  readonly description?: string;
  readonly graph: CompiledGraph;
}

/** The agents that a process serves. */
export interface Agents {
  /** In the order of the configuration. */
  readonly list: readonly Agent[];
  /** The build that this process holds of each of them. Absent: builds have no names here, and every run without a revision is served. */
  readonly revision?: string;
  /** Whether requests name them. A single agent that is configured without a name serves every thread, and requests name none. */
  readonly areNamed: boolean;
  /** Whether the agents of requests are those that are registered, with the code of none here. Then `list` is empty. */
  readonly areRegistered?: boolean;
  /** Of new threads whose first run names none, the name of the agent; there need be no such agent. */
  readonly defaultName: string | undefined;
  /** The agent of this name; without a name that of new threads whose first run names none. `undefined`: there is none. */
  readonly find: (name: string | undefined) => Agent | undefined;
}

/** The agent of a run as a property, where its name is known. */
export const named = (
  agent: string | undefined,
  revision?: string,
): { readonly agent?: string; readonly revision?: string } => ({
  ...(agent === undefined ? {} : { agent }),
  ...(revision === undefined ? {} : { revision }),
});

/** The one agent that is configured without a name; none without a graph. */
export const unnamedAgent = (graph: CompiledGraph | undefined): Agents =>
  createAgents(graph ? [{ name: defaultAgent, graph }] : [], { areNamed: false, defaultName: defaultAgent });

/** Several agents, by name. `defaultName` need not be one of them: then a new thread has to name its agent. */
export const namedAgents = (list: readonly Agent[], defaultName: string | undefined): Agents =>
  createAgents(list, { areNamed: true, defaultName });

/** For a process without code of agents: requests are for those that are registered. */
export const agentsElsewhere = (defaultName: string | undefined): Agents => ({
  ...namedAgents([], defaultName),
  areRegistered: true,
});

/** The same agents at a revision; without one, as they are. */
export const atRevision = (agents: Agents, revision: string | undefined): Agents =>
  revision === undefined ? agents : { ...agents, revision };

function createAgents(
  list: readonly Agent[],
  { areNamed, defaultName }: Pick<Agents, 'areNamed'> & { readonly defaultName: string | undefined },
): Agents {
  const byName = new Map(list.map((agent) => [agent.name, agent]));
  return {
    list,
    areNamed,
    defaultName,
    find: (name = defaultName) => (name === undefined ? undefined : byName.get(name)),
  };
}
