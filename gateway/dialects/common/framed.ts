import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent, RunEvents, RunScope } from '@agent-workflow/protos/execution';
import type { StreamExtras } from '../../http/endpoint.ts';
import type { StreamEvent, StreamEvents } from '../../http/framing.ts';
import { createLateEnd, waitMs } from './late-end.ts';

/** After so many bytes what was made of a run is given to its readers. */
const partBytes = 256 * 1024;

/** Where a reader goes on: after an event that it has whole, and within the next, as `encode` counts. */
export interface FramePlace {
  readonly after: number;
  readonly skipped: number;
}

/** Gives the frames of an event: at once, except where it reads the record, so that most chunks of a model wait for nothing. */
export type ToFrames<F> = (event: RunEvent) => readonly F[] | Promise<readonly F[]>;

/** How the events of a run are put into frames. */
interface Framed<F> {
  /** Streams of one run, one name and one place have the same bytes. */
  readonly name: string;
  /** Begins a run: what it returns gets each of its events, from the first. */
  readonly begin: (scope: RunScope, call: Call) => ToFrames<F>;
  /** `skipped`: what the reader has of them already. */
  readonly encode: (frames: readonly F[], event: RunEvent, skipped: number) => readonly Uint8Array[];
  /** Where the reader goes on within the frames of one event. */
  readonly place?: FramePlace | undefined;
  /** Whether the end of a run that has just ended is held back for a moment. */
  readonly endsLate?: boolean;
}

/** The frames of a run in place of its events. */
export const framed = <F>(how: Framed<F>): StreamExtras => ({
  name: `${how.name}${placeName(how.place)}`,
  add: (open, after, call) => frame(how, { source: open(0), after, call }),
});

/** A stream that begins within an event has bytes of its own. */
const placeName = ({ after, skipped }: FramePlace = { after: 0, skipped: 0 }): string =>
  skipped === 0 ? '' : ` ${String(after)}.${String(skipped)}`;

interface Source {
  /** From the first event: what a frame holds depends on those before it. */
  readonly source: AsyncIterable<RunEvents>;
  /** The number of the last event that the reader has. */
  readonly after: number;
  readonly call: Call;
}

async function* frame<F>(
  { begin, encode, place, endsLate = false }: Framed<F>,
  { source, after, call }: Source,
): AsyncGenerator<StreamEvents> {
  const toFrames = createFramer(begin, call);
  const lateEnd = createLateEnd();
  for await (const batch of source) {
    let part: StreamEvent[] = [];
    let bytes = 0;
    let first = batch.scope && { scope: batch.scope };
    for (const event of batch.events) {
      const lateMs = endsLate ? lateEnd(event) : 0;
      if (lateMs > 0) {
        if (part.length > 0 || first) yield { events: part, ...first };
        part = [];
        bytes = 0;
        first = undefined;
        await waitMs(lateMs, call.signal);
      }
      const made = toFrames(event, batch.scope);
      const frames = made instanceof Promise ? await made : made;
      if (event.seq <= after || frames.length === 0) continue;
      const written = encode(frames, event, event.seq - 1 === place?.after ? place.skipped : 0);
      if (written.length === 0) continue;
      part.push({ seq: event.seq, kind: event.kind, at: event.at, data: nothing, written });
      for (const { byteLength } of written) bytes += byteLength;
      if (bytes < partBytes) continue;
      yield { events: part, ...first };
      part = [];
      bytes = 0;
      first = undefined;
    }
    if (part.length > 0 || first) yield { events: part, ...first };
  }
}

/** Puts the events of a run into frames, one after the other; a log that is made again while it is read begins anew. */
export function createFramer<F>(
  begin: Framed<F>['begin'],
  call: Call,
): (event: RunEvent, scope: RunScope | undefined) => ReturnType<ToFrames<F>> {
  let known: RunScope | undefined;
  let toFrames: ToFrames<F> | undefined;
  return (event, scope) => {
    known ??= scope;
    if (known && (event.kind === 'metadata' || !toFrames)) toFrames = begin(known, call);
    return toFrames?.(event) ?? [];
  };
}

const nothing = new Uint8Array();
