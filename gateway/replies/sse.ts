import type { Framing } from './framing.ts';

/** Server-sent events: numbered so that a reader who was cut off can name the last one it saw. */
export const sse: Framing = {
  name: 'sse',
  type: 'text/event-stream; charset=utf-8',
  head: (runId, { seq, kind }) => `id: ${runId}:${String(seq)}\nevent: ${kind}\ndata: `,
  tail: '\n\n',
  // Keeps proxies from closing a stream on which nothing happens; readers skip it.
  comment: ': waiting\n\n',
};
