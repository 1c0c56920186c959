import type { ServiceError } from '@agent-workflow/kit/errors';
import { newUnorderedId } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { readTraceContext, requestContexts } from '@agent-workflow/kit/request-context';
import { hideInherited } from '@agent-workflow/runtime/built-ins';
import type { Span, Spans } from '@agent-workflow/runtime/spans';
import type { Next } from 'koa';
import { openPaths } from '../http/access.ts';
import type { Context, Middleware } from '../http/context.ts';
import type { Dialect, Dialects } from '../http/dialect.ts';
import { refuse } from '../http/errors.ts';
import { safeHeaders, setHead } from '../http/reply.ts';
import type { Reached } from '../http/target.ts';
import type { GatewayMeters } from './metrics.ts';
import type { BrowserConfig } from './settings.ts';

interface RequestOptions {
  readonly dialects: Dialects;
  readonly config: Pick<BrowserConfig, 'HSTS_SECONDS'>;
  readonly reached: Reached;
  readonly log: Log;
  /** Absent: nothing is measured. */
  readonly meters: GatewayMeters | undefined;
  /** Absent: no spans are made. */
  readonly spans: Spans | undefined;
}

/**
 * The first step: what every request gets, also one that is refused. A request has an id, a request context, headers for its reply,
 * an answer to whatever a later step throws, a log line, metrics and a span. Metrics and span name the row that it matched, and
 * never its URL.
 */
export function everyRequest({ dialects, config, reached, log, meters, spans }: RequestOptions): Middleware {
  const headers = headersOfReplies(config);
  const dialectAt = dialectOf(dialects);

  const answer = async (ctx: Context, next: Next): Promise<void> => {
    const start = performance.now();
    hideInherited();
    try {
      await next();
    } catch (thrown) {
      refuse(ctx, thrown, reached);
    }
    logRequest(log, ctx, performance.now() - start);
    if (!ctx.res.headersSent && ctx.respond !== false) setHead(ctx);
  };

  const measure = async (ctx: Context, next: Next): Promise<void> => {
    const start = performance.now();
    // Probes come every few seconds; spans of them have no use.
    const span = openPaths.has(ctx.path) ? undefined : spans?.enter(ctx.method, { kind: 'server' });
    try {
      await (span ? span.run(() => answer(ctx, next)) : answer(ctx, next));
    } finally {
      if (meters) count(ctx, meters, (performance.now() - start) / 1000);
      if (span) endSpan(ctx, span);
    }
  };

  const step = meters || spans ? measure : answer;
  return (ctx, next) => {
    const requestId = requestIdOf(ctx);
    ctx.state.requestId = requestId;
    ctx.state.dialect = dialectAt(ctx.path);
    ctx.state.headers = [...headers, 'X-Request-Id', requestId];
    return requestContexts.run({ requestId, ...readTraceContext(ctx.req.headers) }, () => step(ctx, next));
  };
}

/** Finds the dialect of a path. */
function dialectOf([first, ...others]: Dialects): (path: string) => Dialect {
  return (path) => others.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`)) ?? first;
}

/** `Strict-Transport-Security` is sent only when `HSTS_SECONDS` is set: TLS ends in front of the gateway. */
const headersOfReplies = ({ HSTS_SECONDS: maxAge }: RequestOptions['config']): readonly string[] => [
  ...safeHeaders,
  ...(maxAge === 0 ? [] : ['Strict-Transport-Security', `max-age=${String(maxAge)}`]),
];

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** The caller's `X-Request-Id` when it is 1 to 128 visible ASCII characters, else a new UUIDv7. */
function requestIdOf({ req }: Context): string {
  const given = req.headers['x-request-id'];
  return typeof given === 'string' && visibleAscii.test(given) ? given : newUnorderedId();
}

/**
 * Logs one line per request: method, path, status, duration, request id, and the cause of an error. Queries, bodies and headers
 * are never logged: they may hold message contents and tokens.
 */
function logRequest(log: Log, ctx: Context, ms: number): void {
  const level = levelOf(ctx);
  if (log.isLevelEnabled(level)) log[level](lineOf(ctx, ms), 'request');
}

/** Whether something is unavailable or slow around this process: its cause is of use only with what it is the cause of. */
const isPassing = (error: ServiceError): boolean => error.code === 'Unavailable' || error.code === 'Timeout';

/**
 * Too much load is a warning: nothing has failed, and the callers come back. What a probe finds unavailable is in the log once a minute as a part
 * that fails, and not with each probe.
 */
const levelOf = ({ status, state }: Context): 'debug' | 'info' | 'warn' | 'error' => {
  if (state.isOverload) return 'warn';
  if (state.route?.name === 'readyz' && state.error?.code === 'Unavailable') return 'debug';
  if (status >= 500) return 'error';
  return status >= 400 ? 'info' : 'debug';
};

function lineOf(ctx: Context, ms: number): Record<string, unknown> {
  const { error, requestId, isOverload } = ctx.state;
  return {
    request_id: requestId,
    method: ctx.method,
    path: ctx.path,
    status: ctx.status,
    ms: Math.round(ms * 100) / 100,
    ...(error && { code: error.code }),
    ...(error?.code === 'Unauthenticated' && error.cause instanceof Error && { reason: error.cause.message }),
    ...(error && isOverload && { reason: error.message }),
    ...(error && !isOverload && ctx.status >= 500 && { err: isPassing(error) ? error : (error.cause ?? error) }),
  };
}

function count({ method, status, state }: Context, meters: GatewayMeters, seconds: number): void {
  const route = state.route?.name ?? 'none';
  meters.requests.add({ route, method, status: String(status) });
  const isStream = state.route?.isStream === true && state.error === undefined;
  if (isStream) meters.streamSeconds.observe({}, seconds);
  else meters.seconds.observe({ route, class: `${String(status).charAt(0)}xx` }, seconds);
}

function endSpan({ method, status, state }: Context, span: Span): void {
  const path = state.route?.path;
  if (path !== undefined) span.rename(`${method} ${path}`);
  const route = path === undefined ? {} : { 'http.route': path };
  span.set({ 'http.request.method': method, 'http.response.status_code': status, ...route });
  // By the OpenTelemetry conventions a 4xx is no error of a server span.
  span.end(status >= 500 ? state.error?.code : undefined);
}
