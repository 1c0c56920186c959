import { unavailable } from '@agent-workflow/kit/errors';
import type { ThreadKey } from '@agent-workflow/protos/threads';
import { shapeOf, type AgentShape } from './agent-shape.ts';
import type { Agents } from './agents.ts';

/** Which revision of an agent is meant: this one, or the one that the next new run of a thread goes to. Neither: the current one. */
export interface RevisionMeant {
  /** Empty: none. */
  readonly revision?: string | undefined;
  readonly thread?: ThreadKey;
}

/** The agents that requests may be for, whether their code is here or not. */
export interface KnownAgents {
  /** Whether requests name them. */
  readonly areNamed: boolean;
  /** The name of the agent of new threads whose first run names none. There need be no agent of this name. */
  readonly defaultName: string | undefined;
  /** The revision of the code that is here, where builds have names. */
  readonly heldRevision?: string;
  readonly list: () => Promise<readonly AgentShape[]>;
  /**
   * The agent of this name; the default without one. `undefined`: there is none.
   * @throws an error of {@link unreadableDefinition} when the revision is registered with what no reader can use.
   */
  readonly find: (name: string | undefined, meant?: RevisionMeant) => Promise<AgentShape | undefined>;
  /** Why there is no agent of this name, for callers. */
  readonly absence: (name: string | undefined) => string;
}

/** The agents whose code this process holds: whatever their revisions, they are what the code says. */
export function heldAgents(agents: Agents): KnownAgents {
  const shapes = new Map(agents.list.map((agent) => [agent.name, shapeOf(agent)]));
  return {
    areNamed: agents.areNamed,
    defaultName: agents.defaultName,
    ...(agents.revision === undefined ? {} : { heldRevision: agents.revision }),
    list: () => Promise.resolve([...shapes.values()]),
    find: (name) => Promise.resolve(shapes.get(agents.find(name)?.name ?? '')),
    absence: (name) => {
      if (shapes.size === 0) return 'no agent is configured';
      return name === undefined ? noDefault : noneNamed(name);
    },
  };
}

export const noDefault = 'no agent is the default: name one';

export const noneNamed = (name: string): string => `there is no agent named "${name}"`;

/** When a caller may try again an agent that cannot be read, in milliseconds: somebody has to register it first. */
const unreadableRetryMs = 60_000;
const unreadable = new WeakSet<Error>();

/** What callers of an agent get whose revision no reader can use. The revision keeps what it was registered with: only another one mends it. */
export function unreadableDefinition(agent: string, revision: string): Error {
  const why = `the registered definition of agent "${agent}" at revision "${revision}" cannot be read: register the agent at another revision`;
  const error = unavailable(why, undefined, unreadableRetryMs);
  unreadable.add(error);
  return error;
}

/** Whether an error is one of {@link unreadableDefinition}: no further attempt helps, though it is Unavailable to callers. */
export const isUnreadableDefinition = (error: unknown): boolean => error instanceof Error && unreadable.has(error);
