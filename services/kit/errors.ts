/**
 * The closed list of ways a call can fail, in the words of the domain. Each is mapped once to a gRPC status
 * (`protos/wire/status.ts`) and once to HTTP (`gateway/http/errors.ts`).
 */
export const errorCodes = [
  'BadRequest',
  'Unauthenticated',
  'PermissionDenied',
  'NotFound',
  'Conflict',
  'Stale',
  'Invalid',
  'TooLarge',
  'RateLimited',
  'Unavailable',
  'Timeout',
  'Cancelled',
  'NodeFailed',
  'GraphFailed',
  'StorageFailed',
  'Internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** The codes that a run can fail with. */
export const failureCodes = [
  'NodeFailed',
  'GraphFailed',
  'BadRequest',
  'Conflict',
  'Invalid',
  'Internal',
] as const satisfies readonly ErrorCode[];
export type FailureCode = (typeof failureCodes)[number];

/** Why code of an agent failed, in the words that callers get. What a server or a library wrote is in the log alone. */
export const failureReasons = [
  'user_error',
  'context_too_long',
  'answer_too_long',
  'content_filtered',
  'refused_by_provider',
  'credentials_refused',
  'not_found',
  'rate_limited',
  'provider_error',
  'unreachable',
  'cut_off',
  'timed_out',
  'unreadable',
  'unexpected',
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** The parameters of a request to a model that a failure may name. */
export const modelParameters = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'stop',
  'seed',
  'n',
  'stream',
  'stream_options',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'reasoning',
  'reasoning_effort',
  'thinking',
  'verbosity',
  'service_tier',
  'user',
  'metadata',
] as const;
export type ModelParameter = (typeof modelParameters)[number];

/**
 * One fault of a request. `field` is the path of the field in the request of the service, for example `["messages", 0, "role"]`; it is
 * empty for the request as a whole. The gateway translates it to the place in the caller's HTTP request.
 */
export interface ErrorDetail {
  readonly field: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** The optional parts of an error beside its message. */
interface ErrorExtras {
  readonly details?: readonly ErrorDetail[];
  /** Milliseconds after which another attempt may succeed. */
  readonly retryAfterMs?: number;
  /** It is logged where the request is answered, and never sent. */
  readonly cause?: unknown;
}

/**
 * The one error that crosses a port or a service. Callers distinguish errors by `code`, never by class, because only
 * the code is the same in process and over gRPC. The message is for the caller: it contains no stack, host or query text.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = code;
    this.code = code;
    this.details = extras.details ?? [];
    this.retryAfterMs = extras.retryAfterMs;
  }
}

/** The request makes no sense in the present state. */
export const badRequest = (message: string): ServiceError => new ServiceError('BadRequest', message);

/** The object does not exist, or belongs to another owner: the error is the same for both. */
export const notFound = (message: string): ServiceError => new ServiceError('NotFound', message);

/** A concurrent write came first, or a run holds the thread. */
export const conflict = (message: string): ServiceError => new ServiceError('Conflict', message);

/** The fence refused the write: another worker holds the run, or the run has ended. The caller must stop without another write. */
export const stale = (message: string): ServiceError => new ServiceError('Stale', message);

/** A field has the wrong type, range or value. */
export const invalid = (field: ErrorDetail['field'], msg: string, type = 'value_error'): ServiceError =>
  new ServiceError('Invalid', faultText(field, msg), { details: [{ field, msg, type }] });

/** A field and its fault as one text. */
export const faultText = (field: ErrorDetail['field'], msg: string): string =>
  field.length === 0 ? msg : `${field.join('.')}: ${msg}`;

/** A store or service that the call needs is unavailable for now. */
export const unavailable = (message: string, cause?: unknown, retryAfterMs = 1000): ServiceError =>
  new ServiceError('Unavailable', message, { cause, retryAfterMs });

/** The deadline passed before there was an answer, and the work goes on, such as a run: the caller is not asked to try again. */
export const timeout = (message: string): ServiceError => new ServiceError('Timeout', message);

/** The deadline passed because what the call needs did not answer: a later attempt may succeed. */
export const unanswered = (message: string): ServiceError =>
  new ServiceError('Timeout', message, { retryAfterMs: 1000 });

/** Whether `error` is a {@link ServiceError}, with the given code when one is named. */
export function isServiceError(error: unknown, code?: ErrorCode): error is ServiceError {
  return error instanceof ServiceError && (code === undefined || error.code === code);
}

/** Whether a later attempt may succeed, in the words of who failed. */
export const canBeRetried = (error: unknown): boolean =>
  isServiceError(error) &&
  (error.code === 'Unavailable' || error.code === 'RateLimited' || error.retryAfterMs !== undefined);

/** What the call resolves with; `undefined` where it fails with NotFound. */
export async function undefinedIfNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Any thrown value as a {@link ServiceError}; what is not one already becomes `Internal`, its text kept as the cause. */
export function fromUnknown(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('Internal', 'something went wrong on our side', { cause: error });
}
