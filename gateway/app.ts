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
import { createIdempotency, type ReplyCache } from './idempotency/index.ts';
import { boundedStreams, callerOf, type Counter, failureRate, requestRate, requestsOf } from './limits/index.ts';
import { createAdmission } from './middleware/admission.ts';
import { answer, type AnswerOptions } from './middleware/answer.ts';
import { authentication } from './middleware/authenticate.ts';
import { authorization } from './middleware/authorize.ts';
import { cors } from './middleware/cors.ts';
import { accessLog } from './middleware/log.ts';
import { countRefusals, gatewayMetrics } from './middleware/metrics.ts';
import { countOpen, noteRoute, observed, withRequestContext, type Observers } from './middleware/observed.ts';
import { requestId } from './middleware/request-id.ts';
import { security } from './middleware/security.ts';
import { validation } from './middleware/validate.ts';
import { createFeeds } from './replies/feeds.ts';
import { toOpenApi } from './replies/openapi.ts';
import { withTickets } from './tickets/index.ts';

export type App = Koa<RequestState>;

type AppOptions = Omit<Services, 'openApi' | 'secured' | 'config'> & {
  readonly config: GatewayConfig;
  /** Counts what callers do. */
  readonly counter: Counter;
  /** Replies to idempotent requests. */
  readonly replyCache: ReplyCache;
  /** Absent: every caller is the anonymous owner. */
  readonly authenticate?: Authenticate;
  /** Absent: every caller may do everything. */
  readonly authorize?: Authorize;
  /** For the metrics of requests; absent: none. */
  readonly registry?: Registry | undefined;
  /** For the spans of requests; absent: none. */
  readonly spans?: Spans | undefined;
};

/** The HTTP interface of these services. The order of the steps is the order in which a request can be refused. */
export function createApp({
  authenticate = withoutAuthentication,
  authorize,
  counter: uncounted,
  replyCache,
  registry,
  spans,
  ...deps
}: AppOptions): App {
  const meters = registry?.make(gatewayMetrics(endpoints));
  const counter = meters ? countRefusals(uncounted, meters) : uncounted;
  const observers = meters || spans ? { meters, spans } : undefined;
  const secured = authenticate !== withoutAuthentication;
  const services: Services = {
    ...deps,
    secured,
    openApi: lazily(() => JSON.stringify(toOpenApi(endpoints, { secured }))),
  };
  const limits = limitsOf(deps.config, counter, secured);
  const admission = createAdmission({
    limit: inFlightBytes(deps.config),
    maxBody: deps.config.MAX_BODY_BYTES,
    callerOf: (ctx) => callerOf(ctx, deps.config.TRUST_PROXY_HOPS),
  });
  const stepsOf = rowSteps({
    ...{ config: deps.config, log: deps.log, services, authorize, streams: limits.streams, admission, observers },
    ...{ runIdempotently: createIdempotency(deps.threads, replyCache), feeds: createFeeds(deps.execution) },
  });
  const app: App = new Koa<RequestState>();
  app.setMaxListeners(0);
  const steps = [
    requestId,
    withRequestContext,
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
  /** What measures requests by row; absent: nothing. */
  readonly observers: Observers | undefined;
}

/** The steps of each row, without those that it does not need. */
function rowSteps(options: RowStepsOptions): (row: ServiceEndpoint, route: Route) => readonly Middleware[] {
  const { services, authorize, streams, admission, observers } = options;
  const body = compose([admission.body, jsonBody(options.config.MAX_BODY_BYTES)]);
  return (row, route) => {
    const { access, params, input } = row;
    const isStream = row.answer === 'events';
    return [
      ...(observers ? [noteRoute(row, route)] : []),
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

/** The limits that are set; one that is not set has no step. `authenticates`: callers authenticate. */
function limitsOf(config: GatewayConfig, counter: Counter, authenticates: boolean): Limits {
  const windowMs = config.RATE_LIMIT_WINDOW_SECONDS * 1000;
  const hops = config.TRUST_PROXY_HOPS;
  const failures = authenticates ? config.RATE_LIMIT_AUTH_FAILURES : 0;
  const requests = requestsOf(config, authenticates);
  return {
    failures: failures === 0 ? undefined : failureRate({ counter, hops, rate: { limit: failures, windowMs } }),
    requests: requests === 0 ? undefined : requestRate({ counter, hops, rate: { limit: requests, windowMs } }),
    streams: boundedStreams({ counter, hops, limit: config.MAX_STREAMS_PER_PRINCIPAL }),
  };
}

/** Logs errors outside of the middleware, but not broken connections. */
const reportTo =
  (log: Log) =>
  (error: unknown): void => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (brokenConnection.has(code) || isServiceError(error, 'Cancelled')) return;
    log.error({ err: error }, 'a reply failed');
  };

const brokenConnection = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);

function lazily(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
