import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent, RunEvents, RunScope } from '@agent-workflow/protos/execution';
import type { StreamExtras } from '../../http/endpoint.ts';
import type { StreamEvent, StreamEvents } from '../../http/framing.ts';
import { createLateEnd, waitMs } from './late-end.ts';

/** After so many bytes what was made of a run is given to its readers. */
const partBytes = 256 * 1024;

/** Where a reader goes on: after an event that it has whole, and after so many frames of the next. */
export interface FramePlace {
  readonly after: number;
  readonly skipped: number;
}

/** Gives the frames of an event: at once, except where it reads the record, so that most chunks of a model wait for nothing. */
export type ToFrames<F> = (event: RunEvent) => readonly F[] | Promise<readonly F[]>;

/** How the events of a run are put into frames. */
interface Framed<F> {
  /** Streams of one run and one name have the same bytes. */
  readonly name: string;
  /** Begins a run: what it returns gets each of its events, from the first. */
  readonly begin: (scope: RunScope, call: Call) => ToFrames<F>;
  /** `skipped`: how many of them the reader has already. */
  readonly encode: (frames: readonly F[], event: RunEvent, skipped: number) => readonly Uint8Array[];
  /** Where the reader goes on within the frames of one event. */
  readonly place?: FramePlace | undefined;
  /** Whether the end of a run that has just ended is held back for a moment. */
  readonly endsLate?: boolean;
}

/** The frames of a run in place of its events. */
export const framed = <F>(how: Framed<F>): StreamExtras => ({
  name: how.name,
  add: (open, after, call) => frame(how, { source: open(0), after, call }),
});

interface Source {
  /** From the first event: what a frame holds depends on those before it. */
  readonly source: AsyncIterable<RunEvents>;
  /** The number of the last event that the reader has. */
  readonly after: number;
  readonly call: Call;
}

/** An iterator and no generator, in which every batch would wait more often. */
function frame<F>(
  { begin, encode, place, endsLate = false }: Framed<F>,
  { source, after, call }: Source,
): AsyncIterable<StreamEvents> {
  const batches = source[Symbol.asyncIterator]();
  const toFrames = createFramer(begin, call);
  const lateEnd = endsLate ? createLateEnd() : undefined;
  /** What is read. Its first `at` events are in frames. */
  let batch: RunEvents = { events: [] };
  let at = 0;
  /** The scope of the batch, until it is given. */
  let scope: RunScope | undefined;

  const next = async (): Promise<IteratorResult<StreamEvents, undefined>> => {
    const part: StreamEvent[] = [];
    for (let bytes = 0; ;) {
      const event = batch.events[at];
      const lateMs = event && lateEnd ? lateEnd(event) : 0;
      if ((!event || lateMs > 0 || bytes >= partBytes) && (part.length > 0 || scope)) {
        const value = { events: part, ...(scope && { scope }) };
        scope = undefined;
        return { done: false, value };
      }
      if (!event) {
        const read = await batches.next();
        if (read.done === true) return { done: true, value: undefined };
        batch = read.value;
        at = 0;
        scope = batch.scope;
        continue;
      }
      if (lateMs > 0) await waitMs(lateMs, call.signal);
      at += 1;
      const made = toFrames(event, batch.scope);
      const frames = made instanceof Promise ? await made : made;
      if (event.seq <= after || frames.length === 0) continue;
      const written = encode(frames, event, event.seq - 1 === place?.after ? place.skipped : 0);
      part.push({ seq: event.seq, kind: event.kind, at: event.at, data: nothing, written });
      for (const { byteLength } of written) bytes += byteLength;
    }
  };
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    await batches.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
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
