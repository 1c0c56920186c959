import type { Next } from 'koa';
import { anonymous, isOfCard, isOfEvents, isOfResource, openPaths, type Authenticate } from '../http/access.ts';
import type { Context, Middleware, Principal } from '../http/context.ts';

interface Ways {
  /** By credentials. */
  readonly authenticate: Authenticate;
  /** By the address of a file. */
  readonly byAddress: Authenticate;
  /** By the ticket in a query, else by credentials. */
  readonly byTicket: Authenticate;
}

/** Authenticates every request except those for `openPaths`. It runs before routing, so that no route can lack it. */
export function authentication({ authenticate, byAddress, byTicket }: Ways): Middleware {
  const principalOf = (ctx: Context): Principal | Promise<Principal> => {
    if (openPaths.has(ctx.path) || isOfEvents(ctx.path) || isOfCard(ctx.path) || isOfResource(ctx.path))
      return anonymous;
    if (ctx.state.fileToken !== undefined) return byAddress(ctx);
    return ctx.querystring === '' ? authenticate(ctx) : byTicket(ctx);
  };
  return (ctx, next) => {
    const principal = principalOf(ctx);
    if (principal instanceof Promise) return principal.then((known) => enter(ctx, known, next));
    return enter(ctx, principal, next);
  };
}

const enter = (ctx: Context, principal: Principal, next: Next): Promise<unknown> => {
  ctx.state.principal = principal;
  return next();
};
