import { createRequire } from 'node:module';
import type KoaRouter from '@koa/router';
import type { Context, Middleware, RequestState } from './context.ts';
import type { Route } from './endpoint.ts';
import { refuseMethod } from './unmatched.ts';

// Its module for `import` imports node:http, which takes 30 ms of a start (see gateway/server.ts).
const { default: Router } = createRequire(import.meta.url)('@koa/router') as { readonly default: typeof KoaRouter };

/** A route, and what handles the requests that match it. */
interface HandledRoute {
  readonly route: Route;
  readonly handle: (ctx: Context) => Promise<void>;
}

/**
 * Finds the route of a request and handles it. A path without parameters is found in a map, with all its methods: `memories/forget` is never
 * a memory's id, whatever the method. The router, which tries every pattern, is for the others.
 */
export function routing(routes: readonly HandledRoute[]): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const plain = new Map<string, Map<string, Middleware>>();
  for (const { route, handle } of routes) {
    if (route.path.includes('{')) router.register(toPattern(route), [route.method], [handle]);
    else plain.set(route.path, (plain.get(route.path) ?? new Map<string, Middleware>()).set(route.method, handle));
  }
  for (const methods of plain.values()) {
    const get = methods.get('GET');
    if (get) methods.set('HEAD', get);
  }
  // The router types its middleware by its own context; ours has what it needs.
  const routed = router.routes() as unknown as Middleware;
  return (ctx, next): unknown => {
    const methods = plain.get(ctx.path) ?? plain.get(withoutSlash(ctx.path));
    if (!methods) return routed(ctx, next);
    const handle = methods.get(ctx.method);
    if (handle) return handle(ctx, next);
    refuseMethod(ctx, [...methods.keys()]);
    return undefined;
  };
}

/** One slash at the end of a path changes nothing. */
const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

/** The path in the router's syntax, where a colon begins a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
