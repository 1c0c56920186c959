import { AgentRegistration, RevisionParams } from '../../schemas/graph.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';
import { registrationText } from './registered.ts';

/** Takes a revision of an agent out of use. */
export const retireRevision = endpoint({
  name: 'retireRevision',
  tag: 'graph',
  summary: 'Retire a revision of an agent',
  description:
    'Takes a revision out of use for good. Its runs without a step move to the revision that new runs go to; those with steps fail and say why. 409 while it is the current or the ramping one; 404 when it is not registered. A second request changes nothing. Without an authorization backend it is 403, unless the service listens on this machine alone.',
  example: examples.retireRevision,
  method: 'POST',
  path: '/v1/agents/{agent}/revisions/{revision}/retire',
  access: { resource: 'agents', action: 'deploy' },
  params: RevisionParams,
  reply: AgentRegistration,
  handle: async ({ params, call }, { threads }) => registrationText(await threads.retireRevision(params, call())),
});
