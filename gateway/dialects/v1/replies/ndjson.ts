import type { Framing } from '../../../http/framing.ts';
import { createToEventJson } from './event-json.ts';

/** One JSON object per line for each event. */
export const ndjson: Framing = {
  name: 'ndjson',
  type: 'application/x-ndjson; charset=utf-8',
  head: () => '',
  toEventJson: createToEventJson,
  tail: '\n',
  comment: '',
};

/**
 * Whether an `Accept` header asks for NDJSON: it names it, and does not name server-sent events with a larger `q`, or with the
 * same and earlier.
 */
export function prefersNdjson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map(toRange);
  const ndjson = ranges.findIndex(({ type }) => type === 'application/x-ndjson');
  const sse = ranges.findIndex(({ type }) => type === 'text/event-stream');
  const qs = { ndjson: ranges[ndjson]?.q ?? 0, sse: ranges[sse]?.q ?? 0 };
  if (qs.ndjson === 0) return false;
  return qs.ndjson === qs.sse ? ndjson < sse : qs.ndjson > qs.sse;
}

/** One media range of an `Accept` header. A `q` that is not valid counts as 1. */
function toRange(range: string): { readonly type: string | undefined; readonly q: number } {
  const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
  const q = given === undefined || given === '' ? 1 : Number(given);
  return { type, q: q >= 0 && q <= 1 ? q : 1 };
}
