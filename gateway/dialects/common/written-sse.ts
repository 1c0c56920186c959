import type { Framing } from '../../http/framing.ts';

/** Server-sent events that a dialect has written as they are sent (`written`), with comments while nothing happens. */
export const writtenSse = (own: Pick<Framing, 'name' | 'mostCommentSeconds'>): Framing => ({
  type: 'text/event-stream; charset=utf-8',
  head: () => '',
  toEventJson:
    () =>
    ({ written = [] }) => ({ parts: written, size: written.reduce((sum, { byteLength }) => sum + byteLength, 0) }),
  tail: '',
  comment: ': heartbeat\n\n',
  ...own,
});
