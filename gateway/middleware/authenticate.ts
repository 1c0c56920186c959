import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Next } from 'koa';
import { openPaths, type Authenticate } from '../http/access.ts';
import type { Context, Middleware } from '../http/context.ts';
import type { Principal } from '../http/principal.ts';

const nobody: Principal = { owner: anonymousOwner };

/** Runs before any path is matched, so that no route can be without it. */
export function authentication(authenticate: Authenticate): Middleware {
  return (ctx, next) => {
    const principal = openPaths.has(ctx.path) ? nobody : authenticate(ctx);
    if (principal instanceof Promise) return principal.then((known) => enter(ctx, known, next));
    return enter(ctx, principal, next);
  };
}

const enter = (ctx: Context, principal: Principal, next: Next): Promise<unknown> => {
  ctx.state.principal = principal;
  return next();
};
