import { ServiceError } from '@agent-workflow/kit/errors';
import type { Access, Authorize, Subject } from '../http/access.ts';
import type { Context } from '../http/context.ts';

/**
 * Asks the authorization backend. A caller with a ticket was authorized when the ticket was made.
 * @throws PermissionDenied when the backend refuses; what `authorize` throws.
 */
export async function checkAccess(
  { state }: Context,
  authorize: Authorize,
  { resource, action }: Access,
  subject?: Subject,
): Promise<void> {
  if (state.byTicket || (await authorize(state.principal, resource, action, subject))) return;
  throw new ServiceError('PermissionDenied', `${action} on ${resource} is not allowed`);
}
