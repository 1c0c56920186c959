import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Next } from 'koa';
import type { Context, Middleware, Principal } from './context.ts';

/** Tells who calls, or throws `Unauthenticated`. */
export type Authenticate = (ctx: Context) => Principal | Promise<Principal>;

/** The paths that anyone may read: they say nothing of any owner. */
export const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json']);

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
