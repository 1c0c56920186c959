import { fromUnknown, ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { writeRefusal } from './envelope.ts';
import type { Context } from './context.ts';
import { toWireError } from './fields.ts';
import { HttpRefusal } from './http-refusal.ts';

/** The HTTP status of each error code, and its name in the error envelope. */
const answers = {
  BadRequest: [400, 'BAD_REQUEST'],
  Unauthenticated: [401, 'AUTHENTICATION_FAILED'],
  PermissionDenied: [403, 'PERMISSION_DENIED'],
  NotFound: [404, 'RESOURCE_NOT_FOUND'],
  Conflict: [409, 'CONFLICT'],
  Stale: [409, 'CONFLICT'],
  TooLarge: [413, 'PAYLOAD_TOO_LARGE'],
  Invalid: [422, 'VALIDATION_ERROR'],
  RateLimited: [429, 'RATE_LIMITED'],
  // The caller has disconnected and reads no reply; the status is for the log.
  Cancelled: [499, 'CANCELLED'],
  Internal: [500, 'INTERNAL_ERROR'],
  NodeFailed: [500, 'NODE_ERROR'],
  GraphFailed: [500, 'GRAPH_ERROR'],
  StorageFailed: [500, 'STORAGE_ERROR'],
  Unavailable: [503, 'SERVICE_UNAVAILABLE'],
  Timeout: [504, 'TIMEOUT'],
} as const satisfies Readonly<Record<ErrorCode, readonly [status: number, code: string]>>;

/** The names of error codes that services have. */
type ServiceWireCode = (typeof answers)[ErrorCode][1];

/** The name of an error code in the error envelope. */
export const wireCodeOf = (code: ErrorCode): ServiceWireCode => answers[code][1];

/** The HTTP status of an error code. */
export const statusOf = (code: ErrorCode): number => answers[code][0];

const byHttpCode = new Map<string, ErrorCode>(
  Object.entries(answers).map(([code, [, httpCode]]) => [httpCode, code as ErrorCode]),
);

/** The error code of a name in the error envelope; `Internal` for an unknown name. */
export const errorOf = (httpCode: string): ErrorCode => byHttpCode.get(httpCode) ?? 'Internal';

/** The statuses of requests that may be sent again. A 504 has a time for that only where something needed did not answer: a run that takes long goes on. */
const repeatable: ReadonlySet<number> = new Set([429, 503, 504]);

/** Answers what a step of the request threw with the error envelope. Causes are only logged. */
export function refuse(ctx: Context, thrown: unknown): void {
  const error = ctx.res.destroyed ? new ServiceError('Cancelled', 'the caller disconnected') : toError(thrown);
  ctx.state.error = error;
  if (ctx.headerSent) return;
  const [usual, code] = answers[error.code];
  const status = error instanceof HttpRefusal ? error.status : usual;
  if (status === 401 && !ctx.res.hasHeader('WWW-Authenticate')) ctx.set('WWW-Authenticate', challengeTo(ctx));
  const retryAfterMs = error.retryAfterMs ?? (status === 429 || status === 503 ? 1000 : undefined);
  if (retryAfterMs !== undefined && repeatable.has(status))
    ctx.set('Retry-After', String(Math.ceil(retryAfterMs / 1000)));
  writeRefusal(ctx, { status, code, ...toWireError(error, ctx.method) });
}

/** RFC 6750: `invalid_token` when a token was sent, without saying why it was refused. */
const challengeTo = ({ req }: Context): string =>
  req.headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"';

/** Koa and its libraries throw errors with a `status`; those of 4xx are the caller's fault. */
function toError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const status = thrown instanceof Error && 'status' in thrown ? Number(thrown.status) : 500;
  if (status >= 400 && status < 500)
    return new ServiceError('BadRequest', 'the request is not valid HTTP', { cause: thrown });
  return fromUnknown(thrown);
}
