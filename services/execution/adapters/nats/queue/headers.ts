import { headers as createHeaders, type Msg, type MsgHdrs } from 'nats';
import type { RunnableRun } from '../../../ports/queue.ts';

const ownerHeader = 'agent-owner';
/** Names of trace headers begin with it, so that none is mistaken for a header of the server. */
const tracePrefix = 'trace-';

/**
 * The owner and the trace of a run, for operators who watch the bus. Only the payload counts for the queue, apart from the trace,
 * which only spans and logs use.
 */
export function toRunHeaders({ owner, trace = {} }: RunnableRun): MsgHdrs {
  const headers = createHeaders();
  // Owners and traces come from outside, and a header must not hold a line break.
  headers.set(ownerHeader, encodeURIComponent(owner));
  for (const [name, value] of Object.entries(trace)) headers.set(`${tracePrefix}${name}`, encodeURIComponent(value));
  return headers;
}

/** A run has a trace and a request id. What is more, or longer, a worker of another team may have sent; it is left out. */
const maxTraces = 8;
const maxTraceLength = 1024;

const isTrace = (name: string, value: string): boolean =>
  name.startsWith(tracePrefix) && name.length + value.length <= maxTraceLength;

/** The trace of a message; `undefined` when there is none. */
export function readTrace({ headers }: Pick<Msg, 'headers'>): Readonly<Record<string, string>> | undefined {
  const names =
    headers
      ?.keys()
      .filter((name) => isTrace(name, headers.get(name)))
      .slice(0, maxTraces) ?? [];
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name.slice(tracePrefix.length), decoded(headers?.get(name) ?? '')]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
