import { notFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { knownAgents } from '../../common/known-agents.ts';
import type { Services } from '../../common/services.ts';

/** @throws NotFound */
export async function requireAgent(
  { params, call }: Pick<EndpointRequest<{ readonly agent: string }>, 'params' | 'call'>,
  { execution }: Pick<Services, 'execution'>,
): Promise<void> {
  const { names } = await knownAgents(execution, call());
  if (!names.includes(params.agent)) throw notFound(`there is no agent "${params.agent}"`);
}
