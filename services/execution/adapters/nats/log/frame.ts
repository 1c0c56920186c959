import { unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import { beginsLog } from '../../../ports/log-numbers.ts';
import { isReadable } from './event-check.ts';

/**
 * The content of one message of the stream: whole events of a run, or a slice of one event that is too large for a message. The
 * first line holds the numbers below, the writer and the layout; the rest is the body.
 */
export interface Frame {
  /** Numbers of the first and last event. */
  readonly first: number;
  readonly last: number;
  /** The number of the slice, from 1, and of all slices of the event; 1 of 1 for whole events. */
  readonly slice: number;
  readonly slices: number;
  /** Whether its last event ends the run, in each slice of that event: `endsLog` says whether the log ends with this frame. */
  readonly ended: boolean;
  /** The sequence of the event's first slice in the stream; 0 in that slice, and in frames of whole events. */
  readonly firstSliceSeq: number;
  /** The log begins after this sequence of the stream; 0 unless an older log of the run is before it. */
  readonly origin: number;
  /** The name of its writer. */
  readonly writer: string;
  readonly body: Uint8Array;
}

/** A frame and its sequence in the stream. */
export interface StoredFrame extends Frame {
  /** Of its message in the stream. */
  readonly subject: string;
  /** Its sequence in the stream. The numbers of events are `first` and `last`. */
  readonly streamSeq: number;
  /** When it was stored, in milliseconds since 1970 by the server's clock. */
  readonly at: number;
}

/** What the events of a frame are read from. */
type FrameBody = Pick<Frame, 'first' | 'last' | 'ended' | 'body'>;

const newline = 0x0a;
/** The layout of the body, the last word of the first line: events as `event-pack.ts` packs them. */
const layout = 'parts';

export function toPayload(frame: Frame): Uint8Array {
  const { first, last, slice, slices, ended, firstSliceSeq, origin, writer, body } = frame;
  const fields = [first, last, slice, slices, ended ? 1 : 0, firstSliceSeq, origin, writer, layout];
  return Buffer.concat([Buffer.from(`${fields.join(' ')}\n`, 'latin1'), body]);
}

/** The longest first line of a frame, in bytes. */
const maxHeadBytes = 256;
/** More slices than any event has, also where messages of the server are small. */
const maxSlices = 10_000;

/** The frame in a payload; `undefined` when it is none. Its body may still hold no events: `toBatch` reads them. */
export function fromPayload(payload: Uint8Array): Frame | undefined {
  const stop = payload.subarray(0, maxHeadBytes).indexOf(newline);
  const head = payload.subarray(0, Math.max(0, stop));
  const fields = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1').split(' ');
  const numbers = fields.slice(0, numberCount);
  const [writer = '', ...rest] = fields.slice(numberCount);
  if (writer === '' || rest.join(' ') !== layout || !numbers.every(isNumber)) return undefined;
  const [first = 0, last = 0, slice = 0, slices = 0, ended = 0, firstSliceSeq = 0, origin = 0] = numbers.map(Number);
  if (first < 1 || last < first || slice < 1 || slices < slice || (slices > 1 && last > first)) return undefined;
  if (slices > maxSlices) return undefined;
  const body = payload.subarray(stop + 1);
  return { first, last, slice, slices, ended: ended === 1, firstSliceSeq, origin, writer, body };
}

const numberCount = 7;

/** No number of a log and no sequence has more digits. */
const isNumber = (text: string): boolean => /^\d{1,15}$/.test(text);

/** Whether the log ends with this frame. */
export const endsLog = ({ ended, slice, slices }: Pick<Frame, 'ended' | 'slice' | 'slices'>): boolean =>
  ended && slice === slices;

/** The events of a frame of whole events; `undefined` when its body does not hold the events that its first line names. */
export function toBatch({ first, last, ended, body }: FrameBody): EventBatch | undefined {
  try {
    const batch = unpackEvents(first, body);
    return isReadable(batch, last, ended) ? batch : undefined;
  } catch {
    // What is no JSON, or JSON of something else.
    return undefined;
  }
}

/** Whether readers can do something with a frame. Of a slice only all slices together can say so. */
export const isSliceOrReadable = (frame: Frame): boolean => frame.slices > 1 || toBatch(frame) !== undefined;

/** Bound of the slices of one event, in bytes: a writer has no more than 64 MiB of all its runs that wait to be written. */
const maxJoinedBytes = 65 * 1024 * 1024;

/**
 * Joins the slices of a large event as they arrive. Slices that a dead writer left incomplete are dropped, those of an event that is larger
 * than any can be, and what holds no events.
 */
export function createJoiner(maxBytes = maxJoinedBytes): (frame: Frame) => EventBatch | undefined {
  let first = 0;
  let bytes = 0;
  let bodies: Uint8Array[] = [];
  return (frame) => {
    if (frame.slices === 1) {
      bodies = [];
      return toBatch(frame);
    }
    if (frame.slice === 1) {
      first = frame.first;
      bytes = 0;
      bodies = [];
    }
    if (frame.first !== first || frame.slice !== bodies.length + 1) return undefined;
    bodies.push(frame.body);
    bytes += frame.body.byteLength;
    // No later slice follows on an empty list.
    if (bytes > maxBytes) bodies = [];
    if (bodies.length < frame.slices) return undefined;
    const body = Buffer.concat(bodies);
    bodies = [];
    return toBatch({ ...frame, body });
  };
}

/** Joins batches of one run; `undefined` where there is none. */
export function joinBatches(batches: readonly (EventBatch | undefined)[]): EventBatch | undefined {
  const some = batches.filter((batch) => batch !== undefined);
  const [first] = some;
  return first && (some.length === 1 ? first : { scope: first.scope, events: some.flatMap(({ events }) => events) });
}

/** The number of the last whole event up to a frame. The event of a slice is whole with its last slice. */
export function lastWhole({ first, last, slice, slices }: Frame): number {
  if (slice === slices) return last;
  return beginsLog(first) ? 0 : first - 1;
}
