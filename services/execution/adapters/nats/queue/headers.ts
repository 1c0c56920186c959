import { headers as createHeaders, type Msg, type MsgHdrs } from 'nats';
import type { RunnableRun } from '../../../ports/port.ts';

const ownerHeader = 'agent-owner';
/** Names of trace headers begin with it on the wire, so that none is taken for one of the server's. */
const tracePrefix = 'trace-';

/**
 * What stands beside a run for whoever watches the bus: the owner and the trace. The payload decides; a reader who knows no
 * headers misses nothing.
 */
export function toRunHeaders({ owner, trace = {} }: RunnableRun): MsgHdrs {
  const headers = createHeaders();
  // Owners and traces come from outside: a header holds no line break.
  headers.set(ownerHeader, encodeURIComponent(owner));
  for (const [name, value] of Object.entries(trace)) headers.set(`${tracePrefix}${name}`, encodeURIComponent(value));
  return headers;
}

/** The trace that came with a message; `undefined` when there is none. */
export function readTrace({ headers }: Pick<Msg, 'headers'>): Readonly<Record<string, string>> | undefined {
  const names = headers?.keys().filter((name) => name.startsWith(tracePrefix)) ?? [];
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
