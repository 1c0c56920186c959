import type { RunEvent } from '@agent-workflow/protos/execution';
import { jsonText } from './json.ts';

export const ndjsonType = 'application/x-ndjson; charset=utf-8';

/** Events as JSON objects, one a line. */
export function toNdjson(_runId: string, events: readonly RunEvent[]): string {
  let text = '';
  for (const { json } of events) text += `${jsonText(json)}\n`;
  return text;
}

/** Whether an `Accept` header asks for NDJSON: names it, and does not name server-sent events before it. */
export function prefersNdjson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const kinds = accept.split(',').map((kind) => kind.split(';', 1)[0]?.trim().toLowerCase());
  const ndjson = kinds.indexOf('application/x-ndjson');
  const sse = kinds.indexOf('text/event-stream');
  return ndjson !== -1 && (sse === -1 || ndjson < sse);
}
