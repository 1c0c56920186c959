import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Framing } from './framing.ts';
import type { StreamChunk, ToStreamChunk } from './stream-chunk.ts';

/** How far a reader of a run has come: behind event `after`, and `offset` bytes into the encoded event behind it. */
export interface Position {
  readonly after: number;
  readonly offset: number;
  /** The event that was sent in part; absent while `offset` is 0. */
  readonly seq?: number;
}

/** The next bytes of a run in one framing: several whole events, or a part of one that is larger. */
export interface Chunk {
  /** How many bytes it is. */
  readonly size: number;
  /** A part of a large event is encoded when it is asked for: whoever has it at the same time has the same bytes. */
  readonly bytes: () => Buffer;
  /** Whether it keeps the event in memory, of which it is a part, and no bytes of its own. */
  readonly isView: () => boolean;
  /** Encodes it and lets go of the event. */
  readonly detach: () => void;
  readonly from: Position;
  readonly to: Position;
  /** The events of which it holds at least a part, in order. */
  readonly seqs: readonly number[];
  /** Where each of those events ends in the bytes; of one that goes on behind it, their end. */
  readonly ends: readonly number[];
}

export interface ChunkOptions {
  readonly framing: Framing;
  /** Puts the envelope around the events of this run. */
  readonly toStreamChunk: ToStreamChunk;
  readonly runId: string;
  /** The number of the event that stands before the first. */
  readonly after: number;
  /** What one chunk may hold. */
  readonly chunkBytes: number;
}

/** Encodes events into chunks. */
export function toChunks(options: ChunkOptions, events: readonly RunEvent[]): Chunk[] {
  const { framing, toStreamChunk, runId, after, chunkBytes } = options;
  const chunks: Chunk[] = [];
  let before = after;
  let parts: Part[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (parts.length > 0) chunks.push(join(framing, before, parts, bytes));
    before = parts.at(-1)?.event.seq ?? before;
    parts = [];
    bytes = 0;
  };
  for (const event of events) {
    const head = framing.head(runId, event);
    const body = toStreamChunk(event);
    const size = head.length + body.size + framing.tail.length;
    if (bytes > 0 && bytes + size > chunkBytes) flush();
    if (size > Math.min(chunkBytes, largeBytes)) {
      chunks.push(...split(options, before, { event, head, body }));
      before = event.seq;
    } else {
      parts.push({ event, head, body });
      bytes += size;
    }
  }
  flush();
  return chunks;
}

/** From here on an event is not encoded as a whole. */
const largeBytes = 64 * 1024;

interface Part {
  readonly event: RunEvent;
  /** ASCII, so that its length is its byte length. */
  readonly head: string;
  readonly body: StreamChunk;
}

function join({ tail }: Framing, after: number, parts: readonly Part[], size: number): Chunk {
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
    ...{ size, bytes: () => bytes, isView: () => false, detach: () => undefined },
    ...{ from: { after, offset: 0 }, to: { after: seqs.at(-1) ?? after, offset: 0 }, seqs, ends },
  };
}

/** One large event in several chunks: a reader that stands still holds one of them, not the event. */
function split({ framing, chunkBytes }: ChunkOptions, after: number, { event, head, body }: Part): Chunk[] {
  const { seq } = event;
  const sources = [Buffer.from(head, 'latin1'), ...body.parts, Buffer.from(framing.tail, 'latin1')];
  const size = sources.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const chunks: Chunk[] = [];
  let from: Position = { after, offset: 0 };
  for (let start = 0; start < size; start += chunkBytes) {
    const end = Math.min(start + chunkBytes, size);
    const to = end === size ? { after: seq, offset: 0 } : { after, offset: end, seq };
    chunks.push({ ...createView(sources, start, end), from, to, seqs: [seq], ends: [end - start] });
    from = to;
  }
  return chunks;
}

/** The bytes between two places of these sources, encoded when they are asked for and as long as somebody has them. */
function createView(
  sources: readonly Uint8Array[],
  start: number,
  end: number,
): Pick<Chunk, 'size' | 'bytes' | 'isView' | 'detach'> {
  let from: readonly Uint8Array[] | undefined = sources;
  let made: WeakRef<Buffer> | undefined;
  let own: Buffer | undefined;
  const bytes = (): Buffer => {
    const known = own ?? made?.deref();
    if (known) return known;
    const encoded = copyOf(from ?? [], start, end);
    made = new WeakRef(encoded);
    return encoded;
  };
  return {
    size: end - start,
    bytes,
    isView: () => own === undefined,
    detach: () => {
      own = bytes();
      from = undefined;
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

/** Where in its bytes a chunk goes on for a reader at this position; `undefined` when it holds nothing of what comes next. */
export function locate({ size, from, seqs, ends }: Chunk, position: Position): number | undefined {
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
