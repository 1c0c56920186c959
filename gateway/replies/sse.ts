import type { RunEvent } from '@agent-workflow/protos/execution';
import { jsonText } from './json.ts';

export const sseType = 'text/event-stream; charset=utf-8';

/** Keeps proxies from closing a stream that has nothing to say; readers skip it. */
export const sseComment = ': waiting\n\n';

/** Events as server-sent events: numbered so that a reader who was cut off can name the last one it saw. */
export function toSse(runId: string, events: readonly RunEvent[]): string {
  let text = '';
  for (const { seq, event, json } of events) {
    text += `id: ${runId}:${String(seq)}\nevent: ${event}\ndata: ${jsonText(json)}\n\n`;
  }
  return text;
}
