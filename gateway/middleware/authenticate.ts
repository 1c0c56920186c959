import { anonymousOwner } from '@agent-workflow/kit/ids';
import type { Context, Middleware, Principal } from './context.ts';

/** Tells who calls, or throws `Unauthenticated`. */
export type Authenticate = (ctx: Context) => Principal | Promise<Principal>;

/** The paths that anyone may read: they say nothing of any owner. */
export const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json']);

const nobody: Principal = { owner: anonymousOwner };

/** Runs before any path is matched, so that no route can be without it. */
export function authentication(authenticate: Authenticate): Middleware {
  return async (ctx, next) => {
    ctx.state.principal = openPaths.has(ctx.path) ? nobody : await authenticate(ctx);
    await next();
  };
}
