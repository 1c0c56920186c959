import { fromUnknown, ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import type { Context } from './context.ts';
import { HttpRefusal } from './http-refusal.ts';
import { writeRefusal } from './reply.ts';
import { originOf, type Reached } from './target.ts';

const statuses: Readonly<Record<ErrorCode, number>> = {
  BadRequest: 400,
  Unauthenticated: 401,
  PermissionDenied: 403,
  NotFound: 404,
  Conflict: 409,
  Stale: 409,
  TooLarge: 413,
  Invalid: 422,
  RateLimited: 429,
  // The caller has disconnected and reads no reply; the status is for the log.
  Cancelled: 499,
  Internal: 500,
  NodeFailed: 500,
  GraphFailed: 500,
  StorageFailed: 500,
  Unavailable: 503,
  Timeout: 504,
};

/** The HTTP status of an error code. */
export const statusOf = (code: ErrorCode): number => statuses[code];

/** The statuses of requests that may be sent again. A 504 has a time for that only where something needed did not answer: a run that takes long goes on. */
const repeatable: ReadonlySet<number> = new Set([429, 503, 504]);

const directly: Reached = { proxyHops: 0, publicUrl: undefined };

/** Answers what a step of the request threw, in the words of the dialect. Causes are only logged. */
export function refuse(ctx: Context, thrown: unknown, reached: Reached = directly): void {
  const error = ctx.res.destroyed ? new ServiceError('Cancelled', 'the caller disconnected') : toError(thrown);
  ctx.state.error = error;
  if (ctx.headerSent) return;
  const { code, message, details } = error;
  const status = error instanceof HttpRefusal ? error.status : statusOf(code);
  if (status === 401 && !ctx.res.hasHeader('WWW-Authenticate')) ctx.set('WWW-Authenticate', challengeTo(ctx, reached));
  const retryAfterMs = error.retryAfterMs ?? (status === 429 || status === 503 ? 1000 : undefined);
  if (retryAfterMs !== undefined && repeatable.has(status))
    ctx.set('Retry-After', String(Math.ceil(retryAfterMs / 1000)));
  writeRefusal(ctx, { status, code, message, details, method: ctx.method });
}
/** RFC 6750: `invalid_token` when a token was sent, without saying why it was refused. RFC 9728: where it says how to get one. */
function challengeTo(ctx: Context, reached: Reached): string {
  const { resourceMetadata } = ctx.state.dialect;
  const parts = [
    ...(ctx.req.headers.authorization === undefined ? [] : ['error="invalid_token"']),
    ...(resourceMetadata === undefined
      ? []
      : [`resource_metadata="${originOf(ctx, reached).replaceAll('"', '')}${resourceMetadata}"`]),
  ];
  return ['Bearer', parts.join(', ')].join(' ').trimEnd();
}

/** Koa and its libraries throw errors with a `status`; those of 4xx are the caller's fault. */
function toError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const status = thrown instanceof Error && 'status' in thrown ? Number(thrown.status) : 500;
  if (status >= 400 && status < 500)
    return new ServiceError('BadRequest', 'the request is not valid HTTP', { cause: thrown });
  return fromUnknown(thrown);
}
