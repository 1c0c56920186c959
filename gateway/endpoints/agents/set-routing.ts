import { AgentParams, AgentRegistration, SetRoutingInput } from '../../schemas/graph.ts';
import { endpoint } from '../common/services.ts';
import { registrationText } from './registered.ts';
import * as examples from './examples.ts';

/** Says which revisions of an agent serve its threads. */
export const setAgentRouting = endpoint({
  name: 'setAgentRouting',
  tag: 'graph',
  summary: 'Say which revisions of an agent serve',
  description:
    'Makes a registered revision the current one, and may let another serve a share. 409 when the routing has another version than the one named, which the message names, or when a revision is retired; 404 when the agent or a revision is not registered. Without an authorization backend it is 403, unless the service listens on this machine alone.',
  example: examples.setAgentRouting,
  method: 'PUT',
  path: '/v1/agents/{agent}/routing',
  access: { resource: 'agents', action: 'deploy' },
  params: AgentParams,
  input: SetRoutingInput,
  reply: AgentRegistration,
  handle: async ({ params, input: { version, current, ramping }, call }, { threads }) =>
    registrationText(
      await threads.routeAgent({ ...params, version, current, ...(ramping ? { ramping } : {}) }, call()),
    ),
});
