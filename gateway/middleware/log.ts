import type { Log } from '@agent-workflow/kit/log';
import type { Context, Middleware } from '../http/context.ts';

/**
 * One line a request: method, path, status, time, id. Never a query, a body or a header: they may hold contents and
 * tokens. What went wrong inside stands here and nowhere else.
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
