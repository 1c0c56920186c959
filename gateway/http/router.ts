import Router from '@koa/router';
import compose from 'koa-compose';
import type { Middleware, RequestState } from './context.ts';
import type { Route } from './endpoint.ts';

/** A route, and the middleware of the requests that match it. */
interface RoutedSteps {
  readonly route: Route;
  readonly steps: readonly Middleware[];
}

/**
 * Finds the route of a request and runs the route's steps. Of two paths that match, the one with fewer parameters wins:
 * `memories/forget` is never a memory's id. So paths without parameters are looked up in a map first; the router, which tries
 * every pattern, is for the others.
 */
export function routing(routes: readonly RoutedSteps[]): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const direct = new Map<string, Middleware>();
  for (const { route, steps } of routes) {
    router.register(toPattern(route), [route.method], [...steps]);
    if (!route.path.includes('{')) direct.set(`${route.method} ${route.path}`, compose([...steps]));
  }
  // The router types its middleware by its own context; ours has what it needs.
  const routed = router.routes() as unknown as Middleware;
  return (ctx, next): unknown => (direct.get(`${ctx.method} ${ctx.path}`) ?? routed)(ctx, next);
}

/** The path in the router's syntax, where a colon begins a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
