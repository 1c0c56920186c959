import type { Json } from './shapes/json.ts';
import type { FailureReason } from './shapes/runs.ts';

/** What is wrong with a request, and where in it. */
export interface ErrorDetail {
  /** The place: `["body","messages",0,"role"]`. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
  /** Of a run that failed in a node: why, where code of the agent failed, and the parameter that the provider of a model refused. */
  readonly reason?: FailureReason;
  readonly parameter?: string;
}

/** The service refused a request, or could not be reached. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** The HTTP status; 0 when there was no reply, or one that was cut, and for a redirect in a browser, which hides its status. */
  readonly status: number;
  /** `VALIDATION_ERROR`, `CONFLICT`, …; `UNREACHABLE` when there was no reply, or one that was cut; `REDIRECTED` for one that names another address. */
  readonly code: string;
  readonly details: readonly ErrorDetail[];
  /** Names the request in the service's log. */
  readonly requestId: string | undefined;
  /** Milliseconds after which the service asks to be tried again. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, code, details, requestId, retryAfterMs, cause }: RequestErrorOptions) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.details = details ?? [];
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

interface RequestErrorOptions {
  readonly status: number;
  readonly code: string;
  readonly details?: readonly ErrorDetail[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The error of a reply that is no success, whatever its body is. */
export async function toRequestError(response: Response, read: () => Promise<unknown>): Promise<RequestError> {
  const body = (await read().catch(() => undefined)) as ErrorBody | undefined;
  return new RequestError(body?.error?.message ?? `the service answered ${String(response.status)}`, {
    status: response.status,
    code: body?.error?.code ?? 'UNKNOWN',
    details: body?.error?.details,
    requestId: requestIdOf(response),
    retryAfterMs: readRetryAfter(response.headers.get('retry-after')),
  });
}

/** The error of a success that does not come from the service: of a proxy, or of another server at this address. */
export const toForeign = (response: Response, why = 'its JSON has no `data`'): RequestError =>
  new RequestError(
    `the answer ${String(response.status)} is not of the service: ${why}. Is \`url\` the address of a gateway?`,
    { status: response.status, code: 'UNKNOWN', requestId: requestIdOf(response) },
  );

/** Whether a reply is a page for people, as a proxy gives one. The endpoints that a client calls give none; files that are pages come as bytes. */
export const isPage = (response: Response): boolean => hasType(response, 'text/html');

/** Whether a reply says that it is JSON. */
export const isJson = (response: Response): boolean => hasType(response, 'application/json');

const hasType = ({ headers }: Response, type: string): boolean =>
  headers.get('content-type')?.toLowerCase().startsWith(type) === true;

/** Whether a success says that nothing follows. Every success of the service has something. */
export const isEmpty = ({ status }: Response): boolean => status === 204 || status === 205;

/** Whether a reply only names another address. A browser hides its status. */
export const isRedirect = ({ status, type, headers }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'));

/** The error of a redirect: its target would get the token and the headers of the request. */
export const toRedirected = (response: Response): RequestError =>
  new RequestError('the answer is a redirect, which is not followed: `url` must be the address of the gateway itself', {
    status: response.status,
    code: redirected,
    requestId: requestIdOf(response),
  });

/** The code of the error of a redirect. */
export const redirected = 'REDIRECTED';

const requestIdOf = ({ headers }: Response): string | undefined => headers.get('x-request-id') ?? undefined;

/** Milliseconds from now on, of seconds or of a date: 0 for what is over. */
function readRetryAfter(text: string | null): number | undefined {
  const seconds = Number(text ?? NaN);
  const ms = Number.isNaN(seconds) ? Date.parse(text ?? '') - Date.now() : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string; readonly details?: readonly ErrorDetail[] };
  readonly metadata?: Json;
}

/** The error of a request without a reply: refused, cut, or a name that nobody knows. */
export const toUnreachable = (cause: unknown): RequestError =>
  new RequestError(`the service cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`, {
    ...{ status: 0, code: 'UNREACHABLE', cause },
  });

/** The error of a reply that the service began, and that came to no end. */
export const toCut = (what: string, cause?: unknown): RequestError => {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new RequestError(`the service answered, but ${what}${why}`, {
    ...{ status: 0, code: 'UNREACHABLE', cause },
  });
};
