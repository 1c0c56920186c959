import { Type } from '../../common/builders.ts';
import { knownAgents } from '../../common/known-agents.ts';
import { endpoint } from '../../common/services.ts';
import { Model } from '../schemas/common.ts';
import { refuseUnknownModel } from './known-model.ts';

const read = { resource: 'graph', action: 'read' } as const;

/** An agent as a model. The record keeps no time at which agents came about. */
const toModel = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'agent-workflow-service' });

const listModels = endpoint({
  name: 'oaListModels',
  method: 'GET',
  path: '/openai/v1/models',
  access: read,
  handle: async ({ call }, { execution }) => {
    const { names } = await knownAgents(execution, call());
    return JSON.stringify({ object: 'list', data: names.map(toModel) });
  },
});

const getModel = endpoint({
  name: 'oaGetModel',
  method: 'GET',
  path: '/openai/v1/models/{agent}',
  isOfAgent: true,
  access: read,
  params: Type.Object({ agent: Model }),
  handle: async (request, services) => {
    const { agent } = request.params;
    await refuseUnknownModel(agent, request, services);
    return JSON.stringify(toModel(agent));
  },
});

export const modelRows = [listModels, getModel];
