import { invalid, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { absentAgent, isAgentName, mustBeAgentName } from '@agent-workflow/kit/agents';
import type { Agent as DescribedAgent } from '@agent-workflow/protos/execution';
import type { AgentShape } from '../record/agent-shape.ts';
import type { KnownAgents, RevisionMeant } from '../record/known-agents.ts';

/**
 * The agent that a request names in its `config`. Where agents have no names, that is none of the service's business.
 * @throws Invalid when it is no name, NotFound, with the place, when there is no such agent.
 */
export async function agentInConfig(known: KnownAgents, name: string | undefined): Promise<AgentShape> {
  const named = known.areNamed ? name : undefined;
  if (named !== undefined) requireName(named);
  const agent = await known.find(named);
  if (!agent) throw noAgent(known, named);
  return agent;
}

/** @throws Invalid when a `config` names what can be no agent. */
export function requireName(name: string): void {
  if (!isAgentName(name)) throw invalid(['config', 'agent'], mustBeAgentName);
}

/**
 * The agent of a name; the default without one.
 * @throws NotFound when there is none.
 */
export async function agentNamed(
  known: KnownAgents,
  name: string | undefined,
  meant?: RevisionMeant,
): Promise<AgentShape> {
  const agent = await known.find(name, meant);
  if (agent) return agent;
  throw notFound(known.absence(name));
}

/** The refusal of a request whose `config` means an agent that is not there. */
export function noAgent(known: Pick<KnownAgents, 'absence'>, name: string | undefined): ServiceError {
  const msg = known.absence(name);
  return new ServiceError('NotFound', msg, { details: [{ field: ['config', 'agent'], msg, type: absentAgent }] });
}

/** The agents without their graphs: the default first, the others by name. */
export const listAgents = async (known: KnownAgents): Promise<DescribedAgent[]> =>
  (await known.list())
    .map((agent) => describeAgent(known, agent))
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || (a.name < b.name ? -1 : 1));

/** What callers may know of an agent beside its graph. */
export const describeAgent = (
  { defaultName }: Pick<KnownAgents, 'defaultName'>,
  { name, description, toolsJson }: AgentShape,
): DescribedAgent => ({
  name,
  ...(description === undefined ? {} : { description }),
  isDefault: name === defaultName,
  toolsJson,
});
