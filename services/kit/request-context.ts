import { AsyncLocalStorage } from 'node:async_hooks';

/** The ids and the trace of the request for which the running code works. Each log line has these ids, and each call to another service sends them. */
export interface RequestContext {
  readonly requestId?: string | undefined;
  readonly runId?: string | undefined;
  readonly threadId?: string | undefined;
  /** W3C Trace Context: the current span, of this process or of the caller. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/**
 * `requestContexts.run(context, work)` runs work in a context, which replaces the one around it. Timers and promises that the work
 * leaves behind keep it.
 */
export const requestContexts = new AsyncLocalStorage<RequestContext>();
const empty: RequestContext = {};

/** The context of the running code; empty in the background loops of the process. */
export const requestContext = (): RequestContext => requestContexts.getStore() ?? empty;

/** A context as headers of a request, a run or a message: names in lower case, values in visible ASCII. */
type ContextHeaders = Readonly<Record<string, string>>;

const names = {
  requestId: 'x-request-id',
  runId: 'x-run-id',
  threadId: 'x-thread-id',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const satisfies Record<keyof RequestContext, string>;

const keys = Object.keys(names) as (keyof RequestContext)[];

/** The names that {@link toContextHeaders} uses. */
export const contextHeaderNames: readonly string[] = Object.values(names);

export function toContextHeaders(own: RequestContext): ContextHeaders {
  const headers: Record<string, string> = {};
  for (const key of keys) {
    const value = own[key];
    if (value !== undefined) headers[names[key]] = isOurs(key) ? encodeURIComponent(value.toWellFormed()) : value;
  }
  return headers;
}

/** Reads what {@link toContextHeaders} wrote; a value that cannot be read is left out. */
export function fromContextHeaders(headers: ContextHeaders): RequestContext {
  const own: Record<string, string> = readTraceContext(headers);
  for (const key of keys) {
    const value = headers[names[key]];
    const text = value === undefined || !isOurs(key) ? undefined : decoded(value);
    if (text !== undefined) own[key] = text;
  }
  return own;
}

/** Our ids may be any text and are encoded; the ids of a trace have the form of the standard. */
const isOurs = (key: keyof RequestContext): boolean => !key.startsWith('trace');

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

const validParent = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const validState = /^[\x20-\x7e]{1,512}$/;

/** The trace that headers name. It is empty when `traceparent` is not valid, as the standard requires. */
export function readTraceContext({
  traceparent,
  tracestate,
}: Readonly<Record<string, unknown>>): Pick<RequestContext, 'traceparent' | 'tracestate'> & Record<string, string> {
  if (typeof traceparent !== 'string' || !validParent.test(traceparent)) return {};
  return { traceparent, ...(typeof tracestate === 'string' && validState.test(tracestate) && { tracestate }) };
}

/** The context with the run and thread that a request names. Requests of all services have these two fields. */
export function withIds(
  own: RequestContext,
  request: { readonly runId?: unknown; readonly threadId?: unknown },
): RequestContext {
  const runId = idOr(own.runId, request.runId);
  const threadId = idOr(own.threadId, request.threadId);
  return runId === own.runId && threadId === own.threadId ? own : { ...own, runId, threadId };
}

const idOr = (known: string | undefined, given: unknown): string | undefined =>
  typeof given === 'string' && given !== '' ? given : known;

const fieldOf: Readonly<Record<string, string>> = { runId: 'run_id', threadId: 'thread_id', workerId: 'worker_id' };

/** The fields of a log line, ids under their names in the log. */
export const toFields = (line: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(line).map(([name, value]) => [fieldOf[name] ?? name, value as unknown]));

/** The 32 digits that all spans of one trace share. */
export const traceIdOf = ({ traceparent }: RequestContext): string | undefined => traceparent?.slice(3, 35);
