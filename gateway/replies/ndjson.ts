import type { Framing } from './framing.ts';

/** Events as JSON objects, one a line. */
export const ndjson: Framing = {
  name: 'ndjson',
  type: 'application/x-ndjson; charset=utf-8',
  head: () => '',
  tail: '\n',
  comment: '',
};

/** Whether an `Accept` header asks for NDJSON: names it, and does not name server-sent events before it. */
export function prefersNdjson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const kinds = accept.split(',').map((kind) => kind.split(';', 1)[0]?.trim().toLowerCase());
  const ndjson = kinds.indexOf('application/x-ndjson');
  const sse = kinds.indexOf('text/event-stream');
  return ndjson !== -1 && (sse === -1 || ndjson < sse);
}
