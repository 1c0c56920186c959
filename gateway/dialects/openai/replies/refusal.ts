import { ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import type { Refusal, RefusalReply, Replied } from '../../../http/dialect.ts';
import { isLocated, type Loc } from '../../../http/fields.ts';

/** What OpenAI's clients read of an error. */
interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** The type of a detail that has a code of OpenAI's. */
const ownCode = 'openai:';

/** An error that is answered with this code of OpenAI's. `at`: the field of the body that it is about. */
export const refusalWith = (code: ErrorCode, own: string, message: string, at: Loc = []): ServiceError =>
  new ServiceError(code, message, { details: [{ field: at, msg: message, type: `${ownCode}${own}` }] });

/** A parameter that no agent here can serve. */
export const unsupported = (at: Loc, why: string): ServiceError =>
  refusalWith('Invalid', 'unsupported_parameter', `Unsupported parameter: '${pathOf(at)}': ${why}`, at);

/** Where a request has what a run has under another name. */
interface SentAs {
  /** The field with the messages. */
  readonly messages: 'messages' | 'input';
  /** Whether the name of a tool stands in its `function`. */
  readonly inFunction: boolean;
}

/** The refusal of a run with the names of the request. A message of the run stands for several of that, or for a part of one. */
export function asSent(error: unknown, { messages, inFunction }: SentAs): unknown {
  const [detail] = error instanceof ServiceError ? error.details : [];
  if (!(error instanceof ServiceError) || !detail) return error;
  const { msg, type } = detail;
  const [first, index, ...rest] = isLocated(detail) ? detail.loc.slice(1) : detail.field;
  const renamed = (at: Loc): ServiceError =>
    new ServiceError(error.code, `${pathOf(at)}: ${msg}`, { details: [{ field: at, msg, type }] });
  if (first === 'messages') return renamed([messages]);
  if (first === 'tools' && inFunction && index !== undefined) return renamed(['tools', index, 'function', ...rest]);
  return error;
}

/** A field as OpenAI names it: `messages[0].content`. */
const pathOf = (at: Loc): string =>
  at.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${String(step)}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

const codes: Readonly<Partial<Record<Refusal['code'], string>>> = {
  Unauthenticated: 'invalid_api_key',
  NotFound: 'not_found',
  Conflict: 'conflict',
  TooLarge: 'payload_too_large',
  RateLimited: 'rate_limit_exceeded',
  Invalid: 'invalid_value',
  Timeout: 'timeout',
};

/** In the metadata of a reply: the request has started its run, so that whatever is refused later must not be sent again. */
export const hasStarted = { started: true } as const;

/**
 * An error in OpenAI's shape. What its clients send again by themselves is only what may help: they repeat 409, so that a conflict is 400, and a run
 * that failed, takes long, or has begun before something else was refused is not started once more.
 */
export function refuse(refusal: Refusal, { replyMetadata = {} }: Pick<Replied, 'replyMetadata'>): RefusalReply {
  const status = refusal.code === 'Invalid' || refusal.status === 409 ? 400 : refusal.status;
  const isFinal = status === 500 || status === 504 || replyMetadata['started'] === hasStarted.started;
  return {
    status,
    headers: ['Content-Type', 'application/json', ...(isFinal ? ['x-should-retry', 'false'] : [])],
    body: JSON.stringify({ error: bodyOf(refusal, status) }),
  };
}

function bodyOf({ code, message, details = [] }: Refusal, status: number): ErrorBody {
  const [first] = details;
  const own = first?.type.startsWith(ownCode) === true ? first.type.slice(ownCode.length) : undefined;
  return {
    message,
    type: typeOf(status),
    param: first ? paramOf(first) : null,
    code: own ?? codes[code] ?? null,
  };
}

/** The type of an error with this status. */
const typeOf = (status: number): string => types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');

/** The field without the part of the request that it stands in. */
function paramOf(detail: ErrorDetail): string | null {
  const at = isLocated(detail) ? detail.loc.slice(1) : detail.field;
  return at.length === 0 ? null : pathOf(at);
}

/** Why a run failed, as its last event says. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly reason?: string;
  readonly node?: string;
}

const byReason: Readonly<Record<string, string>> = {
  context_too_long: 'context_length_exceeded',
  content_filtered: 'content_filter',
  rate_limited: 'rate_limit_exceeded',
};

/** A failed run as an error. */
export const failureBody = ({ code, message, reason = '' }: Failure): ErrorBody => ({
  message,
  type: badInput.has(code) ? 'invalid_request_error' : 'server_error',
  param: null,
  code: byReason[reason] ?? code.toLowerCase(),
});

/** Codes of runs whose input was at fault. */
const badInput: ReadonlySet<string> = new Set(['BAD_REQUEST', 'VALIDATION_ERROR', 'CONFLICT']);

/** A failed run as the error of the request that waits for it. */
export function failed(failure: Failure): ServiceError {
  const { message, code } = failureBody(failure);
  return refusalWith(badInput.has(failure.code) ? 'BadRequest' : 'NodeFailed', code ?? '', message);
}
