import type { Framing } from './framing.ts';

/** Events as JSON objects, one a line. */
export const ndjson: Framing = {
  name: 'ndjson',
  type: 'application/x-ndjson; charset=utf-8',
  head: () => '',
  tail: '\n',
  comment: '',
};

/**
 * Whether an `Accept` header asks for NDJSON: names it, and does not give server-sent events more weight (`q`), or the same
 * and an earlier place.
 */
export function prefersNdjson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const kinds = accept.split(',').map(toKind);
  const ndjson = kinds.findIndex(({ type }) => type === 'application/x-ndjson');
  const sse = kinds.findIndex(({ type }) => type === 'text/event-stream');
  const weights = { ndjson: kinds[ndjson]?.weight ?? 0, sse: kinds[sse]?.weight ?? 0 };
  if (weights.ndjson === 0) return false;
  return weights.ndjson === weights.sse ? ndjson < sse : weights.ndjson > weights.sse;
}

/** One media range of an `Accept` header. A weight that cannot be read counts as none given. */
function toKind(range: string): { readonly type: string | undefined; readonly weight: number } {
  const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
  const weight = q === undefined || q === '' ? 1 : Number(q);
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 1 };
}
