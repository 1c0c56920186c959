import { inFlightBytes } from '@agent-workflow/runtime/budget';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/runtime/metrics';
import type { Spans } from '@agent-workflow/runtime/spans';
import Koa from 'koa';
import compose from 'koa-compose';
import { withoutAuthentication } from './auth/none.ts';
import type { GatewayConfig } from './config.ts';
import type { ServiceEndpoint, Services } from './endpoints/common/services.ts';
import { endpoints } from './endpoints/table.ts';
import type { Authenticate, Authorize } from './http/access.ts';
import { jsonBody } from './http/body.ts';
import type { Middleware, RequestState } from './http/context.ts';
import type { Route } from './http/endpoint.ts';
import { errors } from './http/errors.ts';
import { readablePath } from './http/path.ts';
import { routing } from './http/router.ts';
import type { RequestConfig } from './http/settings.ts';
import { unmatched } from './http/unmatched.ts';
import { createOnce, type OnceCache } from './idempotency/index.ts';
import { boundedStreams, callerOf, type Counter, failureRate, requestRate, requestsOf } from './limits/index.ts';
import { createAdmission } from './middleware/admission.ts';
import { answer, type AnswerOptions } from './middleware/answer.ts';
import { authentication } from './middleware/authenticate.ts';
import { authorization } from './middleware/authorize.ts';
import { cors } from './middleware/cors.ts';
import { accessLog } from './middleware/log.ts';
import { countRefusals, gatewayMetrics } from './middleware/metrics.ts';
import { countOpen, named, observed, trailed, type Observers } from './middleware/observed.ts';
import { requestId } from './middleware/request-id.ts';
import { security } from './middleware/security.ts';
import { validation } from './middleware/validate.ts';
import { createFeeds } from './replies/feeds.ts';
import { toOpenApi } from './replies/openapi.ts';
import { withTickets } from './tickets/index.ts';

export type App = Koa<RequestState>;

export type AppOptions = Omit<Services, 'openApi' | 'secured' | 'config'> & {
  readonly config: GatewayConfig;
  /** Counts what callers do. */
  readonly counter: Counter;
  /** Replies to requests that are done once. */
  readonly onceCache: OnceCache;
  /** Who calls; without it everybody is the anonymous owner. */
  readonly authenticate?: Authenticate;
  /** What a caller may; without it, everything. */
  readonly authorize?: Authorize;
  /** What requests are measured by; absent, nothing is. */
  readonly registry?: Registry | undefined;
  /** What makes a span of each request; absent, nothing does. */
  readonly spans?: Spans | undefined;
};

/** The HTTP interface on these services. The order of the steps is the order in which a request can be refused. */
export function createApp({
  authenticate = withoutAuthentication,
  authorize,
  counter: bounds,
  onceCache,
  registry,
  spans,
  ...deps
}: AppOptions): App {
  const meters = registry?.make(gatewayMetrics(endpoints));
  const counter = meters ? countRefusals(bounds, meters) : bounds;
  const observers = meters || spans ? { meters, spans } : undefined;
  const secured = authenticate !== withoutAuthentication;
  const services: Services = {
    ...deps,
    secured,
    openApi: once(() => JSON.stringify(toOpenApi(endpoints, { secured }))),
  };
  const limits = limitsOf(deps.config, counter, secured);
  const admission = createAdmission({
    limit: inFlightBytes(deps.config),
    maxBody: deps.config.MAX_BODY_BYTES,
    callerOf: (ctx) => callerOf(ctx, deps.config.TRUST_PROXY_HOPS),
  });
  const stepsOf = rowSteps({
    ...{ config: deps.config, log: deps.log, services, authorize, streams: limits.streams, admission, observers },
    ...{ doOnce: createOnce(deps.threads, onceCache), feeds: createFeeds(deps.execution) },
  });
  const app: App = new Koa<RequestState>();
  app.setMaxListeners(0);
  const steps = [
    requestId,
    trailed,
    observers && observed(observers),
    security(deps.config),
    accessLog(deps.log),
    errors,
    cors(deps.config),
    readablePath,
    limits.failures,
    authentication(withTickets({ endpoints, tickets: deps.tickets, authenticate })),
    limits.requests,
    routing(endpoints.flatMap((row) => [row, ...row.aliases].map((route) => ({ route, steps: stepsOf(row, route) })))),
    unmatched,
  ];
  for (const step of steps) if (step) app.use(step);
  app.on('error', reportTo(deps.log));
  return app;
}

interface RowStepsOptions extends AnswerOptions {
  readonly config: RequestConfig;
  readonly services: Services;
  readonly authorize: Authorize | undefined;
  /** Bounds the streams of a principal. */
  readonly streams: Middleware;
  /** Whoever wants to know which row a request is for; absent, nobody does. */
  readonly observers: Observers | undefined;
}

/** What a request passes once its row is known; steps that the row does not need are not there. */
function rowSteps(options: RowStepsOptions): (row: ServiceEndpoint, route: Route) => readonly Middleware[] {
  const { services, authorize, streams, admission, observers } = options;
  const body = compose([admission.body, jsonBody(options.config.MAX_BODY_BYTES)]);
  return (row, route) => {
    const { access, params, input } = row;
    const isStream = row.answer === 'events';
    return [
      ...(observers ? [named(row, route)] : []),
      ...(authorize && access ? [authorization(authorize, access)] : []),
      ...(input && route.method !== 'GET' ? [body] : []),
      ...((params ?? input) ? [validation(row, route.method)] : []),
      ...(isStream ? [streams] : []),
      ...(isStream && observers?.meters ? [countOpen(observers.meters)] : []),
      answer(row, services, options),
    ];
  };
}

interface Limits {
  readonly failures: Middleware | undefined;
  readonly requests: Middleware | undefined;
  readonly streams: Middleware;
}

/** The bounds that are set; one that is not costs nothing. `signIn`: callers say who they are. */
function limitsOf(config: GatewayConfig, counter: Counter, signIn: boolean): Limits {
  const windowMs = config.RATE_LIMIT_WINDOW_SECONDS * 1000;
  const hops = config.TRUST_PROXY_HOPS;
  const failures = signIn ? config.RATE_LIMIT_AUTH_FAILURES : 0;
  const requests = requestsOf(config, signIn);
  return {
    failures: failures === 0 ? undefined : failureRate({ counter, hops, rate: { limit: failures, windowMs } }),
    requests: requests === 0 ? undefined : requestRate({ counter, hops, rate: { limit: requests, windowMs } }),
    streams: boundedStreams({ counter, hops, limit: config.MAX_STREAMS_PER_PRINCIPAL }),
  };
}

/** What fails outside the middleware: a connection that broke is its caller's business. */
const reportTo =
  (log: Log) =>
  (error: unknown): void => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (brokenConnection.has(code) || isServiceError(error, 'Cancelled')) return;
    log.error({ err: error }, 'reply failed');
  };

const brokenConnection = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
