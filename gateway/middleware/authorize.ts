import { ServiceError } from '@agent-workflow/kit/errors';
import type { Access } from '../endpoints/endpoint.ts';
import type { Middleware, Principal } from './context.ts';

/** Whether this principal may do `action` on `resource`. */
export type Authorize = (principal: Principal, resource: string, action: string) => Promise<boolean>;

/** Asks before anything of the request is read; of whoever holds a ticket it was asked before. */
export function authorization(authorize: Authorize, { resource, action }: Access): Middleware {
  return async (ctx, next) => {
    if (!ctx.state.byTicket && !(await authorize(ctx.state.principal, resource, action))) {
      throw new ServiceError('PermissionDenied', `${action} on ${resource} is not allowed`);
    }
    await next();
  };
}
