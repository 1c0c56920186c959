import Router from '@koa/router';
import compose from 'koa-compose';
import type { Endpoint, Route, Services } from '../endpoints/endpoint.ts';
import { answer } from './answer.ts';
import type { OnceCache } from '../once/port.ts';
import { authorization, type Authorize } from './authorize.ts';
import { jsonBody } from './body.ts';
import type { Middleware, RequestState } from './context.ts';
import { createOnce, type DoOnce } from './once.ts';
import { validation } from './validate.ts';

export interface Routing {
  readonly endpoints: readonly Endpoint[];
  readonly services: Services;
  readonly authorize: Authorize | undefined;
  /** Bounds the streams of a principal. */
  readonly streams: Middleware;
  /** Replies to requests that are done once. */
  readonly onceCache: OnceCache;
}

/**
 * Finds the row of a request and takes it through the row's own steps. Where two paths match, the one with fewer
 * parameters is meant: `memories/forget` is never a memory's id. So a path without parameters is looked up as it
 * stands; the router, which tries every pattern, has the rest.
 */
export function routing({ endpoints, services, authorize, streams, onceCache }: Routing): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const direct = new Map<string, Middleware>();
  const body = jsonBody(services.config.MAX_BODY_BYTES);
  const doOnce = createOnce(services.threads, onceCache);
  for (const row of endpoints) {
    for (const route of [row, ...row.aliases]) {
      const steps = stepsOf({ row, route, services, authorize, streams, body, doOnce });
      router.register(toPattern(route), [route.method], steps);
      if (!route.path.includes('{')) direct.set(`${route.method} ${route.path}`, compose(steps));
    }
  }
  const routed = router.routes() as unknown as Middleware;
  return (ctx, next): unknown => (direct.get(`${ctx.method} ${ctx.path}`) ?? routed)(ctx, next);
}

interface StepsOptions extends Omit<Routing, 'endpoints' | 'onceCache'> {
  readonly row: Endpoint;
  readonly route: Route;
  readonly body: Middleware;
  readonly doOnce: DoOnce;
}

/** What a request passes once its row is known; steps that the row does not need are not there. */
function stepsOf({ row, route, services, authorize, streams, body, doOnce }: StepsOptions): Middleware[] {
  const { access, params, input } = row;
  return [
    ...(authorize && access ? [authorization(authorize, access)] : []),
    ...(input && route.method !== 'GET' ? [body] : []),
    ...((params ?? input) ? [validation(row, route.method)] : []),
    ...(row.answer === 'events' ? [streams] : []),
    answer(row, services, doOnce),
  ];
}

/** A path of the table as the router writes it: a colon is its sign for a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
