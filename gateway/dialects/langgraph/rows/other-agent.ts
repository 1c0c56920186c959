import { ServiceError } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';

interface Followed {
  readonly threadId: string;
  /** The agent of the run whose events come next. */
  readonly agent: string;
}

/**
 * Refuses the events of an agent that the caller may not follow: a stream may be opened before its thread is there, and by a ticket, so the agent is
 * known only with the run.
 * @throws PermissionDenied
 */
export async function refuseOtherAgent(
  { owner, user, agent: allowed }: Pick<EndpointRequest, 'owner' | 'user' | 'agent'>,
  { threadId, agent }: Followed,
  { mayTouch }: Pick<Services, 'mayTouch'>,
): Promise<void> {
  if (!mayTouch || agent === allowed) return;
  const principal = { owner, ...(user && { user }) };
  const about = { agent, thread_id: threadId };
  if (!(await mayTouch(principal, { resource: 'graph', action: 'stream' }, about)))
    throw new ServiceError('PermissionDenied', `the thread belongs to another agent, "${agent}"`);
}
