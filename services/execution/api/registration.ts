import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { ConfigError } from '@agent-workflow/kit/env';
import { nodeNames } from '@agent-workflow/graph/build/graph';
import { within } from '@agent-workflow/protos/call';
import { UnknownCaller } from '@agent-workflow/protos/unknown-caller';
import { hashOfDefinition } from '@agent-workflow/protos/definition-checks';
import type { RevisionState } from '@agent-workflow/protos/lists';
import type {
  AgentCalls,
  AgentRouting,
  CodeFields,
  RegisterRevisionRequest,
  RegisteredAgent,
} from '@agent-workflow/protos/threads';
import { describeGraph, describeTools } from '../record/agent-shape.ts';
import type { Agent, Agents } from '../record/agents.ts';

const callTimeoutMs = 30_000;

/** What is registered of an agent. */
function definitionOf({ graph }: Agent): Pick<RegisterRevisionRequest, 'definition' | 'schemaHash'> {
  const { graphJson, fieldsJson } = describeGraph(graph);
  const toolsJson = describeTools(graph);
  const nodes = nodeNames(graph).names;
  const codeFields = codeFieldsOf(graph);
  const definition = { graphJson, fieldsJson, toolsJson, nodes, codeFields };
  return { definition, schemaHash: hashOfDefinition(definition) };
}

/** The fields that a process without the code of the agent can neither reduce nor check whole. */
function codeFieldsOf({ fields }: Agent['graph']): CodeFields {
  const having = (key: 'reducer' | 'check'): string[] =>
    Object.entries(fields).flatMap(([name, spec]) => (spec[key] ? [name] : []));
  return { reduced: having('reducer'), checked: having('check') };
}

/** Who serves new runs after a registration: the revision that is registered, or the one that does now. */
export type RoutingChoice = 'auto' | 'none';

/**
 * Registers each agent of this process at its revision. With `auto` new runs go to it, unless another process has changed the routing
 * since this call began. A second call changes nothing.
 * @throws Conflict when the revision is registered with another schema, or the routing has changed meanwhile.
 */
export async function registerAgents(
  { list, revision }: Pick<Agents, 'list'> & { readonly revision: string },
  threads: AgentCalls,
  choice: RoutingChoice,
): Promise<readonly RegisteredAgent[]> {
  const routings = new Map<string, AgentRouting>();
  for (const { name } of list) {
    const known = await registered(threads, name);
    if (known) routings.set(name, known.routing);
  }
  const all: RegisteredAgent[] = [];
  for (const agent of list) {
    const { name, description } = agent;
    const request: RegisterRevisionRequest = {
      ...{ agent: name, revision, ...definitionOf(agent) },
      ...(description === undefined ? {} : { description }),
      ...(choice === 'auto' ? { makeCurrent: { version: routings.get(name)?.version ?? 0 } } : {}),
    };
    all.push(await threads.registerRevision(request, within(callTimeoutMs)));
  }
  return all;
}

const registered = (threads: AgentCalls, agent: string): Promise<RegisteredAgent | undefined> =>
  undefinedIfNotFound(threads.getRegisteredAgent({ agent }, within(callTimeoutMs)));

/** Why a call failed whose server does not know this process; `undefined` for any other failure. */
export const unknownCallerOf = (error: unknown): UnknownCaller | undefined =>
  isServiceError(error) && error.cause instanceof UnknownCaller ? error.cause : undefined;

/** @throws ConfigError when a call failed because its server does not know this process. */
export function refuseUnknownCaller(error: unknown): void {
  const unknown = unknownCallerOf(error);
  if (unknown) throw new ConfigError(unknown.message, { cause: error });
}

/**
 * Compares the agents of this process with what is registered.
 * @returns the names of the agents whose revision is not registered yet.
 * @throws ConfigError when a revision is registered with another schema: two different builds have one name.
 */
export async function unregisteredAgents(
  { list, revision }: Pick<Agents, 'list'> & { readonly revision: string },
  threads: AgentCalls,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const agent of list) {
    const known = await registered(threads, agent.name);
    const same = known?.revisions.find((one) => one.revision === revision);
    if (!same) missing.push(agent.name);
    else if (same.schemaHash !== definitionOf(agent).schemaHash)
      throw new ConfigError(
        `AGENT_REVISION: revision "${revision}" of agent "${agent.name}" is registered with another schema: name this build by another revision`,
      );
  }
  return missing;
}

/** What is registered of these agents. */
export async function registeredAmong(list: Agents['list'], threads: AgentCalls): Promise<readonly RegisteredAgent[]> {
  const found: RegisteredAgent[] = [];
  for (const { name } of list) {
    const known = await registered(threads, name);
    if (known) found.push(known);
  }
  return found;
}

/** The revisions that have served runs and get no more: only a process that holds them continues those runs. */
export const leftBehind = (agents: readonly RegisteredAgent[]): readonly string[] => revisionsIn(agents, ['draining']);

/** The revisions whose runs wait for a process that holds them. */
export const servingRevisions = (agents: readonly RegisteredAgent[]): readonly string[] =>
  revisionsIn(agents, ['current', 'ramping', 'draining']);

const revisionsIn = (agents: readonly RegisteredAgent[], states: readonly RevisionState[]): readonly string[] =>
  agents.flatMap(({ agent, revisions }) =>
    revisions.filter(({ state }) => states.includes(state)).map(({ revision }) => `${agent} ${revision}`),
  );
