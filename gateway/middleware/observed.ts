import type { Span, Spans } from '@agent-workflow/runtime/spans';
import { inRequestContext, readTraceContext } from '@agent-workflow/kit/request-context';
import type { Route, Row } from '../http/endpoint.ts';
import type { GatewayMeters } from './metrics.ts';
import { openPaths } from '../http/access.ts';
import type { Context, Middleware } from '../http/context.ts';

/** Runs the request in a request context: its id, and the trace that its caller names. */
export const trailed: Middleware = (ctx, next) =>
  inRequestContext({ requestId: ctx.state.requestId, ...readTraceContext(ctx.req.headers) }, next);

export interface Observers {
  readonly meters: GatewayMeters | undefined;
  readonly spans: Spans | undefined;
}

/** Counts each request and makes it a span, under the row that it is for. Of the address only the row's pattern is told. */
export function observed({ meters, spans }: Observers): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    // Probes come every few seconds and say nothing.
    const span = openPaths.has(ctx.path) ? undefined : spans?.enter(ctx.method, { kind: 'server' });
    try {
      await (span ? span.run(next) : next());
    } finally {
      if (meters) count(ctx, meters, (performance.now() - start) / 1000);
      if (span) endSpan(ctx, span);
    }
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
  // By the standard a refusal is no error of the server's.
  span.end(status >= 500 ? state.error?.code : undefined);
}

/** The first step of a row: says which it is. */
export function named({ name, answer }: Row, { path }: Route): Middleware {
  const route = { name, path, isStream: answer === 'events' };
  return (ctx, next) => {
    ctx.state.route = route;
    return next();
  };
}

/** The last step before a stream: it counts as open until its connection is done with it. */
export function countOpen({ streamsOpen }: GatewayMeters): Middleware {
  return async (_ctx, next) => {
    streamsOpen.add({}, 1);
    try {
      await next();
    } finally {
      streamsOpen.add({}, -1);
    }
  };
}
