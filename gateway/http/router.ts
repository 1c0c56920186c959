import Router from '@koa/router';
import compose from 'koa-compose';
import type { Middleware, RequestState } from './context.ts';
import type { Route } from './endpoint.ts';

/** A route with what a request passes once it is known to be for it. */
export interface RoutedSteps {
  readonly route: Route;
  readonly steps: readonly Middleware[];
}

/**
 * Finds the route of a request and takes it through the route's own steps. Where two paths match, the one with fewer
 * parameters is meant: `memories/forget` is never a memory's id. So a path without parameters is looked up as it
 * stands; the router, which tries every pattern, has the rest.
 */
export function routing(routes: readonly RoutedSteps[]): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const direct = new Map<string, Middleware>();
  for (const { route, steps } of routes) {
    router.register(toPattern(route), [route.method], [...steps]);
    if (!route.path.includes('{')) direct.set(`${route.method} ${route.path}`, compose([...steps]));
  }
  const routed = router.routes() as unknown as Middleware;
  return (ctx, next): unknown => (direct.get(`${ctx.method} ${ctx.path}`) ?? routed)(ctx, next);
}

/** A path of the table as the router writes it: a colon is its sign for a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
