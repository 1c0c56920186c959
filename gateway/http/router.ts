import { createRequire } from 'node:module';
import type KoaRouter from '@koa/router';
import type { Context, Middleware, RequestState } from './context.ts';
import type { Route } from './endpoint.ts';

// Its module for `import` imports node:http, which takes 30 ms of a start (see gateway/server.ts).
const { default: Router } = createRequire(import.meta.url)('@koa/router') as { readonly default: typeof KoaRouter };

/** A route, and what handles the requests that match it. */
interface HandledRoute {
  readonly route: Route;
  readonly handle: (ctx: Context) => Promise<void>;
}

/**
 * Finds the route of a request and handles it. Of two paths that match, the one with fewer parameters wins:
 * `memories/forget` is never a memory's id. So paths without parameters are looked up in a map first; the router, which tries
 * every pattern, is for the others.
 */
export function routing(routes: readonly HandledRoute[]): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const direct = new Map<string, Middleware>();
  for (const { route, handle } of routes) {
    router.register(toPattern(route), [route.method], [handle]);
    if (!route.path.includes('{')) direct.set(`${route.method} ${route.path}`, handle);
  }
  // The router types its middleware by its own context; ours has what it needs.
  const routed = router.routes() as unknown as Middleware;
  return (ctx, next): unknown => (direct.get(`${ctx.method} ${ctx.path}`) ?? routed)(ctx, next);
}

/** The path in the router's syntax, where a colon begins a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
