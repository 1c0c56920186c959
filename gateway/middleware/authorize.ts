import { ServiceError } from '@agent-workflow/kit/errors';
import type { Access, Authorize } from '../http/access.ts';
import type { Middleware } from '../http/context.ts';

/** Asks before anything of the request is read; of whoever holds a ticket it was asked before. */
export function authorization(authorize: Authorize, { resource, action }: Access): Middleware {
  return async (ctx, next) => {
    if (!ctx.state.byTicket && !(await authorize(ctx.state.principal, resource, action))) {
      throw new ServiceError('PermissionDenied', `${action} on ${resource} is not allowed`);
    }
    await next();
  };
}
