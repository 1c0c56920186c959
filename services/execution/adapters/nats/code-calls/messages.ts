import { headers as createHeaders, type MsgHdrs } from 'nats';

/** Bytes of a payload that headers may take. */
const headRoom = 4096;
const longestPart = 512 * 1024;

/** Bytes of a part of a call or a reply, by what the server takes. */
export const partBytesOf = (maxPayload = Infinity): number => Math.min(longestPart, maxPayload - headRoom);

/** How long a worker keeps a request for a reply that it does not have yet, in milliseconds: then it is there, and still at work. */
export const pollMs = 1000;

/** What a message of a caller is: a part of the call, a request for a part of the reply, or the end of the call. */
export type CallStep = 'part' | 'reply' | 'end';

/** What a worker answers: the part is here, it is at work, a part of the reply, it takes no more calls now, it does not know the call. */
export type WorkerStep = 'taken' | 'waits' | 'reply' | 'busy' | 'unknown';

export function toHeaders(values: Readonly<Record<string, string | number>>): MsgHdrs {
  const headers = createHeaders();
  for (const [name, value] of Object.entries(values)) headers.set(name, String(value));
  return headers;
}

/** A number of a header that is not negative; NaN when it is none. */
export function numberIn(headers: MsgHdrs | undefined, name: string): number {
  const text = headers?.get(name) ?? '';
  const value = Number(text === '' ? NaN : text);
  return Number.isSafeInteger(value) && value >= 0 ? value : NaN;
}
