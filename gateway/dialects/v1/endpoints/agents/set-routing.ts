import type { Call } from '@agent-workflow/protos/call';
import { AgentParams, AgentRegistration, SetRoutingInput } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import { registrationText, unservedRevisions } from './registered.ts';
import * as examples from './examples.ts';

/** Says which revisions of an agent serve its threads. */
export const setAgentRouting = endpoint({
  name: 'setAgentRouting',
  tag: 'graph',
  summary: 'Say which revisions of an agent serve',
  description:
    'Makes a registered revision the current one, and may let another serve a share. 409 when the routing has another version than the one named, which the message names, or when a revision is retired; 404 when the agent or a revision is not registered. A revision may have no workers yet: `warnings` then says that its runs wait. Without an authorization backend it is 403, unless the service listens on this machine alone.',
  example: examples.setAgentRouting,
  method: 'PUT',
  path: '/v1/agents/{agent}/routing',
  access: { resource: 'agents', action: 'deploy' },
  params: AgentParams,
  input: SetRoutingInput,
  reply: AgentRegistration,
  handle: async ({ params, input: { version, current, ramping }, call }, { execution, threads, log }) => {
    const agent = await threads.routeAgent({ ...params, version, current, ...(ramping ? { ramping } : {}) }, call());
    // The routing is stored already, so where the count takes too long the reply comes without it.
    const counted = await execution.countOpenRuns({}, withinCount(call())).catch(() => undefined);
    const revisions = unservedRevisions(agent, counted);
    if (revisions.length > 0)
      log.warn({ agent: agent.agent, revisions }, 'runs are routed to revisions that have no worker');
    return registrationText(agent, counted);
  },
});

/** How long the reply waits for the count, in milliseconds. */
const countMs = 2000;

const withinCount = (call: Call): Call => ({ ...call, deadline: Math.min(call.deadline, Date.now() + countMs) });
