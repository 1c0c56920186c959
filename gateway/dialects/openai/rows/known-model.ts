import type { EndpointRequest } from '../../../http/endpoint.ts';
import { knownAgents } from '../../common/known-agents.ts';
import type { Services } from '../../common/services.ts';
import { refusalWith } from '../replies/refusal.ts';

/** @throws NotFound for a model that is no agent of the service */
export async function refuseUnknownModel(
  model: string,
  { call }: Pick<EndpointRequest, 'call'>,
  { execution }: Pick<Services, 'execution'>,
): Promise<void> {
  const { names } = await knownAgents(execution, call());
  if (names.includes(model)) return;
  const shown = model.slice(0, 100);
  throw refusalWith('NotFound', 'model_not_found', `The model '${shown}' does not exist: models are the agents here.`, [
    'model',
  ]);
}
