import type { StreamEvent } from '../../../http/framing.ts';
import type { FramePlace } from '../../common/framed.ts';
import { writtenSse } from '../../common/written-sse.ts';

/** What a client reads at once: an event of its stream. */
export interface Frame {
  readonly name: string;
  /** JSON, as text or as consecutive parts of its bytes. */
  readonly data: string | readonly Uint8Array[];
}

export interface TextFrame extends Frame {
  readonly data: string;
}

/** The id of an event: its time and its number. Clients give it back as `Last-Event-ID`. */
export const idOf = ({ at, seq }: Pick<StreamEvent, 'at' | 'seq'>): string => `${String(at)}-${String(seq)}`;

/** The place that an id names; `undefined` for a text that is no id. `-1` is the beginning. */
export function placeIn(id: string): FramePlace | undefined {
  if (id === '-1') return { after: 0, skipped: 0 };
  const [, seq, skipped] = /^\d{1,15}-(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id) ?? [];
  return seq === undefined ? undefined : framePlace(Number(seq), skipped);
}

/** The place after an event, or after a frame of it that is not its last. */
export const framePlace = (seq: number, skipped: string | undefined): FramePlace =>
  skipped === undefined ? { after: seq, skipped: 0 } : { after: seq - 1, skipped: Number(skipped) };

/** The frames of one event as their reader gets them, without the first ones. The last has the id; those before it have it with their number behind. */
export function encodeFrames(frames: readonly Frame[], id: string, skipped = 0): readonly Uint8Array[] {
  const written: Uint8Array[] = [];
  for (const [index, { name, data }] of frames.entries()) {
    if (index < skipped) continue;
    const after = `\nid: ${id}${index + 1 === frames.length ? '' : `.${String(index + 1)}`}\n\n`;
    if (typeof data === 'string') written.push(Buffer.from(`event: ${name}\ndata: ${data}${after}`));
    else written.push(beginningOf(name), ...data, Buffer.from(after));
  }
  return written;
}

let last = { name: '', beginning: Buffer.alloc(0) };

/** Most frames of a stream have the name of the one before. */
function beginningOf(name: string): Uint8Array {
  if (name !== last.name) last = { name, beginning: Buffer.from(`event: ${name}\ndata: `) };
  return last.beginning;
}

/** Server-sent events as LangGraph Server writes them. Clients take three times the distance of two comments for the longest silence, and half a minute at most. */
export const langgraphSse = writtenSse({ name: 'langgraph', mostCommentSeconds: 10 });
