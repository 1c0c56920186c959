import { inFlightBytes } from '@agent-workflow/kit/budget';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/kit/metrics';
import type { Spans } from '@agent-workflow/kit/spans';
import Koa from 'koa';
import { withoutAuthentication } from './auth/none.ts';
import type { GatewayConfig } from './config.ts';
import type { Services } from './endpoints/endpoint.ts';
import { endpoints } from './endpoints/table.ts';
import type { Counter } from './limits/port.ts';
import { callerOf, failureRate, requestRate } from './limits/rates.ts';
import { requestsOf } from './limits/settings.ts';
import { boundedStreams } from './limits/streams.ts';
import { createAdmission } from './middleware/admission.ts';
import { authentication, type Authenticate } from './middleware/authenticate.ts';
import type { Authorize } from './middleware/authorize.ts';
import type { Middleware, RequestState } from './middleware/context.ts';
import { cors } from './middleware/cors.ts';
import { errors } from './middleware/errors.ts';
import { countRefusals, gatewayMetrics } from './metrics.ts';
import { accessLog } from './middleware/log.ts';
import { observed, trailed } from './middleware/observed.ts';
import { readablePath } from './middleware/path.ts';
import { requestId } from './middleware/request-id.ts';
import { routing } from './middleware/router.ts';
import { security } from './middleware/security.ts';
import { unmatched } from './middleware/unmatched.ts';
import type { OnceCache } from './once/port.ts';
import { toOpenApi } from './replies/openapi.ts';
import { withTickets } from './tickets/holders.ts';

export type App = Koa<RequestState>;

export type AppOptions = Omit<Services, 'openApi' | 'secured'> & {
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
  const meters = registry?.make(gatewayMetrics);
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
    routing({ endpoints, services, authorize, streams: limits.streams, admission, onceCache, observers }),
    unmatched,
  ];
  for (const step of steps) if (step) app.use(step);
  app.on('error', reportTo(deps.log));
  return app;
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
