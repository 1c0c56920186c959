import type { StreamEvent } from '../../../http/framing.ts';
import { writtenSse } from '../../common/written-sse.ts';

/** What a client reads at once: an event of its stream. */
export interface Frame {
  readonly name: string;
  /** JSON. */
  readonly data: string | Uint8Array;
}

/** The id of an event: its time and its number. Clients give it back as `Last-Event-ID`. */
export const idOf = ({ at, seq }: Pick<StreamEvent, 'at' | 'seq'>): string => `${String(at)}-${String(seq)}`;

/** The number in an id; `undefined` for a text that is no id. `-1` is the beginning. */
export function seqIn(id: string): number | undefined {
  if (id === '-1') return 0;
  const [time = '', seq = '', ...more] = id.split('-');
  return more.length === 0 && /^\d{1,15}$/.test(time) && /^\d{1,15}$/.test(seq) ? Number(seq) : undefined;
}

/** The frames of one event as their reader gets them. The last has the id: a reader that is cut before it gets all of them again. */
export function encodeFrames(frames: readonly Frame[], id: string): readonly Uint8Array[] {
  return frames.flatMap(({ name, data }, index) => [
    Buffer.from(`event: ${name}\ndata: `),
    typeof data === 'string' ? Buffer.from(data) : data,
    Buffer.from(index === frames.length - 1 ? `\nid: ${id}\n\n` : '\n\n'),
  ]);
}

/** Server-sent events as LangGraph Server writes them. Clients take three times the distance of two comments for the longest silence, and half a minute at most. */
export const langgraphSse = writtenSse({ name: 'langgraph', mostCommentSeconds: 10 });
