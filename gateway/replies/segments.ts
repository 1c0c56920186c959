import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventJson, Framing, StreamEvent, ToEventJson } from '../http/framing.ts';

/** The offset of a reader in a run's event log: after event `after`, and `offset` bytes into the next encoded event. */
export interface ReadOffset {
  readonly after: number;
  readonly offset: number;
  /** The number of the partly sent event; absent while `offset` is 0. */
  readonly seq?: number;
}

/** Consecutive bytes of a run in one framing: several whole events, or a part of one large event. */
export interface Segment {
  /** In bytes. */
  readonly size: number;
  /** The encoded bytes, or a view of the event in memory from which they are encoded when they are needed. */
  content: Buffer | EventView;
  readonly from: ReadOffset;
  readonly to: ReadOffset;
  /** The numbers of the events in it, whole or in part, in order. */
  readonly seqs: readonly number[];
  /** Where each of these events ends in the bytes; the end of the bytes for an event that continues in the next segment. */
  readonly ends: readonly number[];
}

/** A part of a large event in memory, without a buffer of its own. */
interface EventView {
  /** Encodes the part. Later calls give the same buffer while it is in use. */
  readonly encode: () => Buffer;
}

interface SegmentOptions {
  readonly framing: Framing;
  /** Of this run, in this framing. */
  readonly toEventJson: ToEventJson;
  readonly runId: string;
  /** The number of the event before the first. */
  readonly after: number;
  /** The largest segment, in bytes. */
  readonly segmentBytes: number;
}

/** Encodes events into segments. */
export function toSegments(options: SegmentOptions, events: readonly StreamEvent[]): Segment[] {
  const { framing, toEventJson, runId, after, segmentBytes } = options;
  const segments: Segment[] = [];
  let before = after;
  let parts: Part[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (parts.length > 0) segments.push(join(framing, before, parts, bytes));
    before = parts.at(-1)?.event.seq ?? before;
    parts = [];
    bytes = 0;
  };
  for (const event of events) {
    const { head, body } = event.extras
      ? withExtras(options, event, event.extras)
      : { head: framing.head(runId, event), body: toEventJson(event) };
    const size = head.length + body.size + framing.tail.length;
    if (bytes > 0 && bytes + size > segmentBytes) flush();
    if (size > Math.min(segmentBytes, largeBytes)) {
      segments.push(...split(options, before, { event, head, body }));
      before = event.seq;
    } else {
      parts.push({ event, head, body });
      bytes += size;
    }
  }
  flush();
  return segments;
}

/** An event with what stands before it, as one event: its reader gets both or, after a cut within, both again. */
function withExtras(
  { framing, toEventJson, runId }: SegmentOptions,
  event: RunEvent,
  extras: readonly RunEvent[],
): Pick<Part, 'head' | 'body'> {
  const parts = extras.flatMap((extra) => [
    Buffer.from(framing.head(runId, extra)),
    ...toEventJson(extra).parts,
    Buffer.from(framing.tail),
  ]);
  parts.push(Buffer.from(framing.head(runId, event)), ...toEventJson(event).parts);
  return { head: '', body: { parts, size: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) } };
}

/** A larger event is not encoded as a whole. In bytes. */
const largeBytes = 64 * 1024;

interface Part {
  readonly event: RunEvent;
  /** ASCII, so that its length is its byte length. */
  readonly head: string;
  readonly body: EventJson;
}

function join({ tail }: Framing, after: number, parts: readonly Part[], size: number): Segment {
  const bytes = Buffer.allocUnsafe(size);
  const seqs: number[] = [];
  const ends: number[] = [];
  let end = 0;
  for (const { event, head, body } of parts) {
    end += bytes.write(head, end, 'latin1');
    for (const part of body.parts) {
      bytes.set(part, end);
      end += part.byteLength;
    }
    end += bytes.write(tail, end, 'latin1');
    seqs.push(event.seq);
    ends.push(end);
  }
  return {
    size,
    content: bytes,
    from: { after, offset: 0 },
    to: { after: seqs.at(-1) ?? after, offset: 0 },
    seqs,
    ends,
  };
}

/** One large event in several segments: a reader that does not read keeps one segment in memory, not the event. */
function split({ framing, segmentBytes }: SegmentOptions, after: number, { event, head, body }: Part): Segment[] {
  const { seq } = event;
  const sources = [Buffer.from(head, 'latin1'), ...body.parts, Buffer.from(framing.tail, 'latin1')];
  const size = sources.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const segments: Segment[] = [];
  let from: ReadOffset = { after, offset: 0 };
  for (let start = 0; start < size; start += segmentBytes) {
    const end = Math.min(start + segmentBytes, size);
    const to = end === size ? { after: seq, offset: 0 } : { after, offset: end, seq };
    const content = createView(sources, start, end);
    segments.push({ size: end - start, content, from, to, seqs: [seq], ends: [end - start] });
    from = to;
  }
  return segments;
}

/** The bytes from `start` to `end` of the joined sources. */
function createView(sources: readonly Uint8Array[], start: number, end: number): EventView {
  let made: WeakRef<Buffer> | undefined;
  return {
    encode: () => {
      const known = made?.deref();
      if (known) return known;
      const encoded = copyOf(sources, start, end);
      made = new WeakRef(encoded);
      return encoded;
    },
  };
}

function copyOf(sources: readonly Uint8Array[], start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  let sourceStart = 0;
  for (const source of sources) {
    const begin = Math.max(start, sourceStart);
    const stop = Math.min(end, sourceStart + source.byteLength);
    if (begin < stop) bytes.set(source.subarray(begin - sourceStart, stop - sourceStart), begin - start);
    sourceStart += source.byteLength;
  }
  return bytes;
}

/** The index in the segment's bytes from which a reader at this position continues; `undefined` when the segment does not contain it. */
export function locate({ size, from, seqs, ends }: Segment, position: ReadOffset): number | undefined {
  let start = 0;
  let after = from.after;
  let skipped = from.offset;
  for (const [index, seq] of seqs.entries()) {
    const end = ends[index] ?? size;
    if (after === position.after) {
      const at = start + position.offset - skipped;
      const isSame = position.offset === 0 || position.seq === seq;
      return isSame && at >= start && at < end ? at : undefined;
    }
    start = end;
    after = seq;
    skipped = 0;
  }
  return undefined;
}
