import { ServiceError } from '@agent-workflow/kit/errors';
import type { Access, Authorize } from '../http/access.ts';
import type { Middleware } from '../http/context.ts';

/**
 * Asks the authorization backend before the request is read. A caller with a ticket was authorized when the ticket was made.
 * @throws PermissionDenied when the backend refuses; what `authorize` throws.
 */
export function authorization(authorize: Authorize, { resource, action }: Access): Middleware {
  return async (ctx, next) => {
    if (!ctx.state.byTicket && !(await authorize(ctx.state.principal, resource, action))) {
      throw new ServiceError('PermissionDenied', `${action} on ${resource} is not allowed`);
    }
    await next();
  };
}
