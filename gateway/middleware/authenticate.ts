import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Next } from 'koa';
import { openPaths, type Authenticate } from '../http/access.ts';
import type { Context, Middleware, Principal } from '../http/context.ts';

const anonymous: Principal = { owner: anonymousOwner };

/** Authenticates every request except those for `openPaths`. It runs before routing, so that no route can lack it. */
export function authentication(authenticate: Authenticate): Middleware {
  return (ctx, next) => {
    const principal = openPaths.has(ctx.path) ? anonymous : authenticate(ctx);
    if (principal instanceof Promise) return principal.then((known) => enter(ctx, known, next));
    return enter(ctx, principal, next);
  };
}

const enter = (ctx: Context, principal: Principal, next: Next): Promise<unknown> => {
  ctx.state.principal = principal;
  return next();
};
