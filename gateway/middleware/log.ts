import type { Log } from '@agent-workflow/kit/log';
import type { Context, Middleware } from '../http/context.ts';

/**
 * Logs one line per request: method, path, status, duration, request id, and the cause of an error. Queries, bodies and headers
 * are never logged: they may hold message contents and tokens.
 */
export function accessLog(log: Log): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    await next();
    const level = levelOf(ctx.status);
    if (log.isLevelEnabled(level)) log[level](lineOf(ctx, performance.now() - start), 'request');
  };
}

const levelOf = (status: number): 'debug' | 'info' | 'error' => {
  if (status >= 500) return 'error';
  return status >= 400 ? 'info' : 'debug';
};

function lineOf(ctx: Context, ms: number): Record<string, unknown> {
  const { error, requestId } = ctx.state;
  return {
    request_id: requestId,
    method: ctx.method,
    path: ctx.path,
    status: ctx.status,
    ms: Math.round(ms * 100) / 100,
    ...(error && { code: error.code }),
    ...(error?.code === 'Unauthenticated' && error.cause instanceof Error && { reason: error.cause.message }),
    ...(error && ctx.status >= 500 && { err: error.cause ?? error }),
  };
}
