import Router from '@koa/router';
import compose from 'koa-compose';
import type { Endpoint, Route, Services } from '../endpoints/endpoint.ts';
import { createFeeds, type Feeds } from '../replies/feeds.ts';
import type { Admission } from './admission.ts';
import { answer } from './answer.ts';
import type { OnceCache } from '../once/port.ts';
import { authorization, type Authorize } from './authorize.ts';
import { jsonBody } from './body.ts';
import type { Middleware, RequestState } from './context.ts';
import { named, countOpen, type Observers } from './observed.ts';
import { createOnce, type DoOnce } from './once.ts';
import { validation } from './validate.ts';

export interface Routing {
  readonly endpoints: readonly Endpoint[];
  readonly services: Services;
  readonly authorize: Authorize | undefined;
  /** Bounds the streams of a principal. */
  readonly streams: Middleware;
  /** Bounds the bytes of bodies and large replies. */
  readonly admission: Admission;
  /** Replies to requests that are done once. */
  readonly onceCache: OnceCache;
  /** Whoever wants to know which row a request is for; absent, nobody does. */
  readonly observers?: Observers | undefined;
}

/**
 * Finds the row of a request and takes it through the row's own steps. Where two paths match, the one with fewer
 * parameters is meant: `memories/forget` is never a memory's id. So a path without parameters is looked up as it
 * stands; the router, which tries every pattern, has the rest.
 */
export function routing({
  endpoints,
  services,
  authorize,
  streams,
  admission,
  onceCache,
  observers,
}: Routing): Middleware {
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true });
  const direct = new Map<string, Middleware>();
  const body = compose([admission.body, jsonBody(services.config.MAX_BODY_BYTES)]);
  const doOnce = createOnce(services.threads, onceCache);
  const feeds = createFeeds(services.execution);
  for (const row of endpoints) {
    for (const route of [row, ...row.aliases]) {
      const steps = stepsOf({ row, route, services, authorize, streams, admission, body, doOnce, feeds, observers });
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
  /** What streams read their runs by. */
  readonly feeds: Feeds;
}

/** What a request passes once its row is known; steps that the row does not need are not there. */
function stepsOf(options: StepsOptions): Middleware[] {
  const { row, route, services, authorize, streams, admission, body, doOnce, feeds, observers } = options;
  const { access, params, input } = row;
  const isStream = row.answer === 'events';
  return [
    ...(observers ? [named(row, route)] : []),
    ...(authorize && access ? [authorization(authorize, access)] : []),
    ...(input && route.method !== 'GET' ? [body] : []),
    ...((params ?? input) ? [validation(row, route.method)] : []),
    ...(isStream ? [streams] : []),
    ...(isStream && observers?.meters ? [countOpen(observers.meters)] : []),
    answer(row, services, { doOnce, feeds, admission }),
  ];
}

/** A path of the table as the router writes it: a colon is its sign for a parameter. */
const toPattern = ({ path }: Route): string => path.replaceAll(':', '\\:').replaceAll(/\{(\w+)\}/g, ':$1');
