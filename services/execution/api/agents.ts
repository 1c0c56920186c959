import { invalid, notFound, ServiceError } from '@agent-workflow/kit/errors';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { allFields } from '@agent-workflow/graph/state/merge';
import { absentAgent, isAgentName, mustBeAgentName } from '@agent-workflow/kit/agents';
import type { Agent as DescribedAgent, Graph } from '@agent-workflow/protos/execution';
import type { Agent, Agents } from '../record/agents.ts';

/**
 * The agent that a request names in its `config`. Where agents have no names, that is none of the service's business.
 * @throws Invalid when it is no name, NotFound when there is no such agent.
 */
export function agentInConfig(agents: Agents, name: string | undefined): Agent {
  if (!agents.areNamed) return agentNamed(agents, undefined);
  if (name !== undefined) refuseNoName(name);
  return agentNamed(agents, name);
}

/** @throws Invalid when a `config` names what can be no agent. */
export function refuseNoName(name: string): void {
  if (!isAgentName(name)) throw invalid(['config', 'agent'], mustBeAgentName);
}

/**
 * The agent of a name; the default without one.
 * @throws NotFound when there is none.
 */
export function agentNamed(agents: Agents, name: string | undefined): Agent {
  const agent = agents.find(name);
  if (agent) return agent;
  throw notFound(absenceOf(agents, name));
}

/** The refusal of a run whose agent is not there. */
export function noAgent(agents: Agents, name: string | undefined): ServiceError {
  const msg = absenceOf(agents, name);
  return new ServiceError('NotFound', msg, { details: [{ field: ['config', 'agent'], msg, type: absentAgent }] });
}

function absenceOf(agents: Agents, name: string | undefined): string {
  if (agents.list.length === 0) return 'no agent is configured';
  return name === undefined ? 'no agent is the default: name one' : `there is no agent named "${name}"`;
}

export const describeGraph = ({ drawing, fields }: CompiledGraph): Graph => ({
  graphJson: toJson(drawing),
  fieldsJson: toJson(describeFields(fields)),
});

/** The agents without their graphs: the default first, the others by name. */
export const listAgents = (agents: Agents): DescribedAgent[] =>
  agents.list
    .map((agent) => describeAgent(agents, agent))
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || (a.name < b.name ? -1 : 1));

/** What callers may know of an agent beside its graph. */
export const describeAgent = (agents: Agents, { name, description, graph }: Agent): DescribedAgent => ({
  name,
  ...(description === undefined ? {} : { description }),
  isDefault: name === agents.find(undefined)?.name,
  toolsJson: describeTools(graph),
});

export const describeTools = ({ tools }: CompiledGraph): Uint8Array =>
  toJson(tools.map(({ name, description, parameters, run }) => ({ name, description, parameters, remote: !run })));

const describeFields = (fields: CompiledGraph['fields']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(allFields(fields)).map(([name, { type, description, schema, default: fallback, required }]) => [
      name,
      { type, description, schema, default: fallback, required },
    ]),
  );

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
