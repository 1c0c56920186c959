import type { Framing } from '../../../http/framing.ts';
import { createToEventJson } from './event-json.ts';

/** Server-sent events, with ids by which a disconnected reader names the last event that it got. */
export const sse: Framing = {
  name: 'sse',
  type: 'text/event-stream; charset=utf-8',
  head: (runId, { seq, kind }) => `${seq === 0 ? '' : `id: ${runId}:${String(seq)}\n`}event: ${kind}\ndata: `,
  toEventJson: createToEventJson,
  tail: '\n\n',
  // Keeps proxies from closing an idle stream; readers ignore comments.
  comment: ': waiting\n\n',
};
