import { notFound } from '@agent-workflow/kit/errors';
import type { Agent } from '@agent-workflow/protos/execution';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { agentCardPath } from '../../../http/access.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { toCard } from '../out/card.ts';
import { AgentParams } from '../schemas/common.ts';

/** The card of an agent; of the default one where none is named. @throws NotFound */
async function cardOf(
  { call, origin }: Pick<EndpointRequest, 'call' | 'origin'>,
  { name, isExtended }: { readonly name: string | undefined; readonly isExtended: boolean },
  { execution, secured }: Pick<Services, 'execution' | 'secured'>,
): Promise<string> {
  const { agents } = await execution.listAgents({}, call());
  const agent = agents.find((each: Agent) => (name === undefined ? each.isDefault : each.name === name));
  if (!agent) throw notFound(name === undefined ? 'there is no default agent' : `there is no agent "${name}"`);
  const url = `${origin()}/a2a/${encodeURIComponent(agent.name)}`;
  return JSON.stringify(toCard({ agent, url, secured, isExtended }));
}

const defaultCard = endpoint({
  name: 'a2aDefaultCard',
  method: 'GET',
  path: agentCardPath,
  answer: 'bare',
  access: 'every caller',
  handle: (request, services) => cardOf(request, { name: undefined, isExtended: false }, services),
});

const card = endpoint({
  name: 'a2aCard',
  method: 'GET',
  path: `/a2a/{agent}${agentCardPath}`,
  answer: 'bare',
  access: 'every caller',
  params: AgentParams,
  handle: (request, services) => cardOf(request, { name: request.params.agent, isExtended: false }, services),
});

const extendedCard = endpoint({
  name: 'a2aExtendedCard',
  method: 'GET',
  path: '/a2a/{agent}/extendedAgentCard',
  isOfAgent: true,
  access: { resource: 'graph', action: 'read' },
  params: AgentParams,
  handle: (request, services) => cardOf(request, { name: request.params.agent, isExtended: true }, services),
});

export const cardRows = [defaultCard, card, extendedCard];
