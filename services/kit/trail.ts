import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work is under way: what each log line of it names, and what goes along to whoever goes on with it. */
export interface Trail {
  readonly requestId?: string | undefined;
  readonly runId?: string | undefined;
  readonly threadId?: string | undefined;
  /** W3C Trace Context: the span that is under way, here or at whoever asked. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

const current = new AsyncLocalStorage<Trail>();
const nowhere: Trail = {};

/** The trail of the code that runs just now; empty where the process works for itself. */
export const trail = (): Trail => current.getStore() ?? nowhere;

/** Does work that belongs to this trail and to no other, and with it whatever the work leaves behind. */
export const onTrail = <T>(own: Trail, work: () => T): T => current.run(own, work);

/** A trail as text beside a request, a run or a message: names in lower case, values in visible ASCII. */
export type Carried = Readonly<Record<string, string>>;

const names = {
  requestId: 'x-request-id',
  runId: 'x-run-id',
  threadId: 'x-thread-id',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const satisfies Record<keyof Trail, string>;

const keys = Object.keys(names) as (keyof Trail)[];

/** The names that {@link toCarried} uses. */
export const carriedNames: readonly string[] = Object.values(names);

export function toCarried(own: Trail): Carried {
  const carried: Record<string, string> = {};
  for (const key of keys) {
    const value = own[key];
    if (value !== undefined) carried[names[key]] = isOurs(key) ? encodeURIComponent(value.toWellFormed()) : value;
  }
  return carried;
}

/** Reads what {@link toCarried} wrote; what is no such text is left out. */
export function fromCarried(carried: Carried): Trail {
  const own: Record<string, string> = readTraceContext(carried);
  for (const key of keys) {
    const value = carried[names[key]];
    const text = value === undefined || !isOurs(key) ? undefined : decoded(value);
    if (text !== undefined) own[key] = text;
  }
  return own;
}

/** Ids are any text, those of a trace are written as the standard says. */
const isOurs = (key: keyof Trail): boolean => !key.startsWith('trace');

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

const validParent = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const validState = /^[\x20-\x7e]{1,512}$/;

/** The trace that headers name; nothing of it where `traceparent` is not valid, as the standard has it. */
export function readTraceContext({
  traceparent,
  tracestate,
}: Readonly<Record<string, unknown>>): Pick<Trail, 'traceparent' | 'tracestate'> & Record<string, string> {
  if (typeof traceparent !== 'string' || !validParent.test(traceparent)) return {};
  return { traceparent, ...(typeof tracestate === 'string' && validState.test(tracestate) && { tracestate }) };
}

/** The trail of a call: requests name what they are about in these two fields, whatever the service. */
export function withIds(own: Trail, request: { readonly runId?: unknown; readonly threadId?: unknown }): Trail {
  const runId = idOr(own.runId, request.runId);
  const threadId = idOr(own.threadId, request.threadId);
  return runId === own.runId && threadId === own.threadId ? own : { ...own, runId, threadId };
}

const idOr = (known: string | undefined, given: unknown): string | undefined =>
  typeof given === 'string' && given !== '' ? given : known;

const fieldOf: Readonly<Record<string, string>> = { runId: 'run_id', threadId: 'thread_id', workerId: 'worker_id' };

/** A log line with its ids under the names that they have there. */
export const toFields = (line: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(line).map(([name, value]) => [fieldOf[name] ?? name, value as unknown]));

/** The 32 digits that all spans of one trace share. */
export const traceIdOf = ({ traceparent }: Trail): string | undefined => traceparent?.slice(3, 35);
