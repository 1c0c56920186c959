import { inFlightBytes } from '@agent-workflow/runtime/budget';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/runtime/metrics';
import type { Spans } from '@agent-workflow/runtime/spans';
import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import { withRoles } from './access/roles.ts';
import { noRoles, type AccessRules } from './access/rules.ts';
import { withoutKeys, type KeyedAuth } from './api-keys/open.ts';
import type { GatewayConfig } from './config.ts';
import type { ServiceEndpoint, Services } from './dialects/common/services.ts';
import { dialectsOf } from './dialects/dialects.ts';
import { addressedFiles, addressRoute, createRunFiles, grantedFiles, runFilesRoute, byAddress } from './files/index.ts';
import { leastPace } from './http/arrival.ts';
import { withoutAuthentication, type Authenticate, type Authorize } from './http/access.ts';
import type { Context, Middleware, RequestState } from './http/context.ts';
import type { Dialects } from './http/dialect.ts';
import { lazily } from './http/lazily.ts';
import { oneHost, readablePath } from './http/target.ts';
import { routing } from './http/router.ts';
import { unmatched } from './http/unmatched.ts';
import { createIdempotency, type ReplyCache } from './idempotency/index.ts';
import {
  callerOf,
  type Counter,
  failureRate,
  requestRate,
  requestsOf,
  requestTaker,
  streamSlots,
  type TakeRequest,
} from './limits/index.ts';
import { createAdmission } from './middleware/admission.ts';
import { authentication } from './middleware/authenticate.ts';
import { cors, knownHosts, refuseCrossSite, refuseForeignPages, refuseForeignSockets } from './middleware/browsers.ts';
import { endpointSteps, runAuthorizer, touchAuthorizer } from './middleware/endpoint.ts';
import { countRefusals, gatewayMetrics } from './middleware/metrics.ts';
import { everyRequest } from './middleware/request.ts';
import { rpcRoute } from './middleware/rpc.ts';
import { tokenHeaders } from './middleware/token-header.ts';
import { pagesForPeople } from './pages/pages.ts';
import { writeContent } from './replies/content.ts';
import { createSubjectOf } from './middleware/subject.ts';
import { createFeeds } from './replies/feeds.ts';
import { holdShare } from './shares/index.ts';
import { withTickets } from './tickets/index.ts';

export type App = Koa<RequestState> & {
  /** Whether a request that asks for a WebSocket may get one: any other protocol is ignored, as it is elsewhere. */
  readonly takesSocket?: (request: IncomingMessage) => boolean;
};

type AppOptions = Omit<
  Services,
  'openApi' | 'access' | 'secured' | 'isLocal' | 'issuers' | 'config' | 'authorizeRun' | 'mayTouch'
> & {
  readonly config: GatewayConfig;
  /** In which callers may speak; absent: ours, and those that the settings name. */
  readonly dialects?: Dialects<ServiceEndpoint> | undefined;
  /** Counts what callers do. */
  readonly counter: Counter;
  /** Replies to idempotent requests. */
  readonly replyCache: ReplyCache;
  /** Absent: every caller is the anonymous owner. */
  readonly authenticate?: Authenticate;
  /** Absent: every caller may do everything. */
  readonly authorize?: Authorize;
  /** The same about what starts later in the name of a caller; absent: as `authorize` does. */
  readonly authorizeLater?: Authorize;
  /** Absent: nobody has a role. */
  readonly access?: AccessRules;
  /** Whether everyone on this machine is let in, and nobody else. */
  readonly isLocal?: boolean;
  /** Lets in by a ticket that was made with the API key of this id; absent: nobody has a key. */
  readonly enterByKey?: KeyedAuth['enterByKey'];
  /** The addresses of those whose tokens are taken; absent: none. */
  readonly issuers?: readonly string[];
  /** For the metrics of requests; absent: none. */
  readonly registry?: Registry | undefined;
  /** For the spans of requests; absent: none. */
  readonly spans?: Spans | undefined;
};

/** The HTTP interface of these services. The order of the steps is the order in which a request can be refused. */
export function createApp({
  authenticate = withoutAuthentication,
  authorize,
  authorizeLater = authorize,
  access = { ...noRoles, signsIn: authenticate !== withoutAuthentication },
  enterByKey = withoutKeys,
  isLocal = false,
  issuers = [],
  counter: uncounted,
  replyCache,
  registry,
  spans,
  ...deps
}: AppOptions): App {
  const dialects = deps.dialects ?? dialectsOf(deps.config);
  const rows = dialects.flatMap((dialect) => dialect.rows);
  const meters = registry?.make(gatewayMetrics([...rows, addressRoute, runFilesRoute]));
  const counter = meters ? countRefusals(uncounted, meters) : uncounted;
  const secured = authenticate !== withoutAuthentication;
  const signIn = withRoles(authenticate, access);
  const limits = limitsOf(deps.config, counter, secured);
  const admission = createAdmission({
    limit: inFlightBytes(deps.config),
    maxBody: deps.config.MAX_BODY_BYTES,
    callerOf: (ctx) => callerOf(ctx, deps.config.TRUST_PROXY_HOPS),
  });
  const { config, log, files, threads } = deps;
  const subjectOf = createSubjectOf(deps, { callTimeoutMs: config.CALL_TIMEOUT_MS, rules: access });
  const reached = { proxyHops: config.TRUST_PROXY_HOPS, publicUrl: config.PUBLIC_URL };
  const endpointOptions = {
    ...{ config, log, authorize, admission, meters },
    rules: access,
    subjectOf,
    takeRequest: limits.takeRequest,
    takeStreamSlot: limits.takeStreamSlot,
    forms: { ...files.limits, bufferBytes: files.bytes.bufferBytes, pace: leastPace },
    runIdempotently: createIdempotency(deps, replyCache),
    feeds: createFeeds(deps.execution),
    reached,
  };
  const mayTouch = touchAuthorizer(authorize);
  const describe = (dialect: Dialects<ServiceEndpoint>[number]): (() => string) =>
    lazily(() => JSON.stringify(dialect.openApi?.({ secured }) ?? null));
  const routes = dialects.flatMap((dialect) => {
    const authorizeRun = runAuthorizer({ authorize: authorizeLater, subjectOf, dialect });
    const openApi = describe(dialect);
    const services = { ...deps, access, secured, isLocal, issuers, openApi, authorizeRun, mayTouch };
    const options = { ...endpointOptions, dialect, services };
    const handled = dialect.rows.flatMap((row) =>
      [row, ...row.aliases].map((route) => ({ row, route, handle: endpointSteps(row, route, options) })),
    );
    return dialect.rpc ? [...handled, rpcRoute(dialect.rpc, handled, options)] : handled;
  });
  const app: App = Object.assign(new Koa<RequestState>(), { takesSocket: socketRoutes(rows) });
  app.setMaxListeners(0);
  const steps = [
    everyRequest({ dialects, config, reached, log, meters, spans }),
    oneHost,
    knownHosts({ ...config, isLocal }),
    cors(config, dialects),
    readablePath,
    pagesForPeople(config, { openApi: describe(dialects[0]), dialects: dialects.map(({ name }) => name) }),
    limits.failures,
    onlyFor(
      ({ path }) => path === runFilesRoute.path,
      grantedFiles({
        runFiles: createRunFiles({ threads, files, log, callTimeoutMs: config.CALL_TIMEOUT_MS }),
        readGrant: files.readGrant,
        reserve: (ctx) => admission.reserve(ctx, files.bytes.bufferBytes),
      }),
    ),
    socketRefusal(rows, config),
    secured ? refuseForeignPages(config, dialects) : refuseCrossSite(config),
    tokenHeaders(dialects),
    authentication({
      authenticate: signIn,
      byAddress: byAddress({ ...files, enterByKey }),
      byTicket: withTickets({ endpoints: rows, tickets: deps.tickets, authenticate: signIn, enterByKey }),
    }),
    limits.requests,
    onlyFor(
      ({ state }) => state.addressed !== undefined,
      addressedFiles({
        ...{ threads, files, log, write: writeContent },
        callTimeoutMs: config.CALL_TIMEOUT_MS,
        holdShare: holdShare(threads),
      }),
    ),
    routing(routes),
    unmatched,
  ];
  for (const step of steps) if (step) app.use(step);
  app.on('error', reportTo(log));
  return app;
}

/** Where a WebSocket is served: the parts of a path before and after its parameter. */
function socketRoutes(rows: readonly ServiceEndpoint[]): NonNullable<App['takesSocket']> {
  const paths = rows.filter(({ answer }) => answer === 'socket').map(({ path }) => path.split(/\{\w+\}/));
  return ({ url = '', headers }) => {
    if (headers.upgrade?.toLowerCase() !== 'websocket') return false;
    const [path = ''] = url.split('?', 1);
    return paths.some(([before = '', after = '']) => path.startsWith(before) && path.endsWith(after));
  };
}

/** Where there are WebSockets. */
const socketRefusal = (rows: readonly ServiceEndpoint[], config: GatewayConfig): Middleware | undefined =>
  rows.some(({ answer }) => answer === 'socket') ? refuseForeignSockets(config) : undefined;

/**
 * A step for the requests that are its own. All others pass it without an async function of their own, which would stand in memory
 * as long as the request: for each open stream.
 */
const onlyFor =
  (isOwn: (ctx: Context) => boolean, step: (ctx: Context) => Promise<unknown>): Middleware =>
  (ctx, next) =>
    isOwn(ctx) ? step(ctx) : next();

interface Limits {
  readonly failures: Middleware | undefined;
  readonly requests: Middleware | undefined;
  /** Counts a request whose principal is known late. */
  readonly takeRequest: TakeRequest | undefined;
  readonly takeStreamSlot: (ctx: Context) => Promise<void>;
}

/** The limits that are set; one that is not set has no step. `authenticates`: callers authenticate. */
function limitsOf(config: GatewayConfig, counter: Counter, authenticates: boolean): Limits {
  const windowMs = config.RATE_LIMIT_WINDOW_SECONDS * 1000;
  const hops = config.TRUST_PROXY_HOPS;
  const failures = authenticates ? config.RATE_LIMIT_AUTH_FAILURES : 0;
  const requests = requestsOf(config, authenticates);
  const takeRequest = requests === 0 ? undefined : requestTaker({ counter, hops, rate: { limit: requests, windowMs } });
  return {
    failures: failures === 0 ? undefined : failureRate({ counter, hops, rate: { limit: failures, windowMs } }),
    requests: takeRequest && requestRate(takeRequest),
    takeRequest,
    takeStreamSlot: streamSlots({ counter, hops, limit: config.MAX_STREAMS_PER_PRINCIPAL }),
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
