import { status } from '@grpc/grpc-js';
import { errorCodes, ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';

/** The status of gRPC for each of our codes. The exact code travels beside it. */
const statusOf: Readonly<Record<ErrorCode, status>> = {
  BadRequest: status.FAILED_PRECONDITION,
  Unauthenticated: status.UNAUTHENTICATED,
  PermissionDenied: status.PERMISSION_DENIED,
  NotFound: status.NOT_FOUND,
  Conflict: status.ABORTED,
  Stale: status.ABORTED,
  Invalid: status.INVALID_ARGUMENT,
  TooLarge: status.RESOURCE_EXHAUSTED,
  RateLimited: status.RESOURCE_EXHAUSTED,
  Unavailable: status.UNAVAILABLE,
  Timeout: status.DEADLINE_EXCEEDED,
  Cancelled: status.CANCELLED,
  NodeFailed: status.UNKNOWN,
  GraphFailed: status.UNKNOWN,
  StorageFailed: status.INTERNAL,
  Internal: status.INTERNAL,
};

/** What a status means that came without one of our errors: from gRPC itself or from a proxy. */
const foreign: Readonly<Partial<Record<status, readonly [ErrorCode, string]>>> = {
  [status.CANCELLED]: ['Cancelled', 'the caller went away'],
  [status.INVALID_ARGUMENT]: ['BadRequest', 'the request was refused'],
  [status.DEADLINE_EXCEEDED]: ['Timeout', 'the deadline passed before the answer was there'],
  [status.NOT_FOUND]: ['NotFound', 'not found'],
  [status.ALREADY_EXISTS]: ['Conflict', 'it exists already'],
  [status.PERMISSION_DENIED]: ['PermissionDenied', 'not allowed'],
  [status.RESOURCE_EXHAUSTED]: [
    'TooLarge',
    `the message has more than the ${String(sizes.rpc)} bytes that the wire carries`,
  ],
  [status.FAILED_PRECONDITION]: ['BadRequest', 'the request makes no sense in the present state'],
  [status.ABORTED]: ['Conflict', 'another write came first'],
  [status.OUT_OF_RANGE]: ['BadRequest', 'the request was refused'],
  [status.UNAVAILABLE]: ['Unavailable', 'a needed service is unavailable'],
  // Between services: it is this process that is not let in, and not its caller.
  [status.UNAUTHENTICATED]: ['Unavailable', 'a needed service is unavailable'],
};

/** The metadata key under which the whole error travels. */
export const errorKey = 'service-error-bin';

/** The metadata key that says of a refused call that nothing of it was begun: whatever it is, it may be made again. */
export const notBegunKey = 'not-begun';

interface WireStatus {
  readonly code: status;
  /** The message, for tools that know gRPC only. */
  readonly details: string;
  /** The value of {@link errorKey}. */
  readonly error: Buffer;
}

// Metadata travels in HTTP/2 headers, which both sides bound at 64 KiB in all; base64 adds a third.
const maxMessageChars = 2048;
const maxErrorBytes = 16 * 1024;

/** An error as gRPC carries it: its message shortened and its last details left out where they would not fit. */
export function toStatus(error: ServiceError): WireStatus {
  const message = error.message.slice(0, maxMessageChars);
  const { code, retryAfterMs } = error;
  const encode = (details: readonly ErrorDetail[]): Buffer =>
    Buffer.from(JSON.stringify({ code, message, details, retryAfterMs }));
  let { details } = error;
  let encoded = encode(details);
  while (encoded.length > maxErrorBytes && details.length > 0) {
    details = details.slice(0, Math.floor(details.length / 2));
    encoded = encode(details);
  }
  return { code: statusOf[code], details: message, error: encoded };
}

/** The error that a status stands for: the very one that was sent, or what a foreign status means. */
export function fromStatus(code: status, error: unknown, cause: unknown): ServiceError {
  const sent = readError(error);
  if (sent) return new ServiceError(sent.code, sent.message, { ...sent, cause });
  const [ourCode, message] = foreign[code] ?? ['Internal', 'something went wrong on our side'];
  const mayPass = ourCode === 'Unavailable' || ourCode === 'Timeout';
  return new ServiceError(ourCode, message, { cause, ...(mayPass && { retryAfterMs: 1000 }) });
}

interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
  readonly retryAfterMs?: number;
}

function readError(value: unknown): SentError | undefined {
  if (!Buffer.isBuffer(value)) return undefined;
  try {
    const sent = JSON.parse(value.toString()) as SentError;
    return errorCodes.includes(sent.code) ? sent : undefined;
  } catch {
    // Not written by us: the status alone has to do.
    return undefined;
  }
}
