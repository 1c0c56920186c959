import { toOldJson } from '@agent-workflow/protos/old-events';
import { fromOldLines, packEvents, unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import { beginsLog } from '../../../ports/log-numbers.ts';

/**
 * How the events of a frame are laid out. `parts`: as `event-pack.ts` packs them. `lines`: one line of JSON each, as replicas of
 * the version before write and read them; needed as long as `old-events.ts` of the protos is.
 */
export type Layout = 'parts' | 'lines';

/**
 * What one message of the stream holds: some whole events of a run, or a part of one that is too large for a message. The
 * first line says which; the rest are the events, or the part's bytes.
 */
export interface Frame {
  readonly layout: Layout;
  /** Numbers of the first and last event. */
  readonly first: number;
  readonly last: number;
  /** Which part of the one event it is, from 1, and of how many; 1 of 1 for whole events. */
  readonly part: number;
  readonly parts: number;
  /** Whether its last event ends the run. */
  readonly ended: boolean;
  /** Where in the stream the event's first part stands; 0 in that part, and in frames of whole events. */
  readonly head: number;
  /** The place in the stream behind which this log begins; 0 unless an older log of the run stands before it. */
  readonly origin: number;
  /** Who wrote it. */
  readonly writer: string;
  readonly body: Uint8Array;
}

/** A frame, and where it stands in the stream. */
export interface StoredFrame extends Frame {
  readonly seq: number;
  /** When it was stored, in milliseconds since 1970 by the server's clock. */
  readonly at: number;
}

const newline = 0x0a;
const newlineBytes = Buffer.from('\n');

export function toPayload({ layout, first, last, part, parts, ended, head, origin, writer, body }: Frame): Uint8Array {
  const fields = [
    first,
    last,
    part,
    parts,
    ended ? 1 : 0,
    head,
    origin,
    writer,
    ...(layout === 'parts' ? [layout] : []),
  ];
  return Buffer.concat([Buffer.from(`${fields.join(' ')}\n`, 'latin1'), body]);
}

/** @throws when the payload is none of ours. */
export function fromPayload(payload: Uint8Array): Frame {
  const stop = payload.indexOf(newline);
  const fields = Buffer.from(payload.buffer, payload.byteOffset, Math.max(0, stop)).toString('latin1').split(' ');
  const [first = 0, last = 0, part = 0, parts = 0, ended = 0, head = 0, origin = 0] = fields.map(Number);
  const [writer = '', layout = 'lines', ...more] = fields.slice(numberCount);
  if (writer === '' || more.length > 0 || part < 1 || !isLayout(layout))
    throw new Error('a message of the event stream is not a frame');
  return {
    layout,
    first,
    last,
    part,
    parts,
    ended: ended === 1,
    head,
    origin,
    writer,
    body: payload.subarray(stop + 1),
  };
}

const numberCount = 7;

const isLayout = (text: string): text is Layout => text === 'parts' || text === 'lines';

/** Events as one body. */
export const toBody = (batch: EventBatch, layout: Layout): Uint8Array =>
  layout === 'parts'
    ? packEvents(batch)
    : Buffer.concat(batch.events.flatMap((event) => [toOldJson(batch.scope, event), newlineBytes]));

/** The events of a frame of whole events. */
export const toBatch = ({ layout, first, body }: Pick<Frame, 'layout' | 'first' | 'body'>): EventBatch =>
  (layout === 'parts' ? unpackEvents : fromOldLines)(first, body);

/** Puts the parts of one large event together as they come; parts that a dead writer left without their rest are dropped. */
export function createJoiner(): (frame: Frame) => EventBatch | undefined {
  let first = 0;
  let parts: Uint8Array[] = [];
  return (frame) => {
    if (frame.parts === 1) {
      parts = [];
      return toBatch(frame);
    }
    if (frame.part === 1) {
      first = frame.first;
      parts = [];
    }
    if (frame.first !== first || frame.part !== parts.length + 1) return undefined;
    parts.push(frame.body);
    if (parts.length < frame.parts) return undefined;
    const body = Buffer.concat(parts);
    parts = [];
    return toBatch({ ...frame, body });
  };
}

/** Batches of one run, as one; `undefined` where none of them has an event. */
export function joinBatches(batches: readonly (EventBatch | undefined)[]): EventBatch | undefined {
  const some = batches.filter((batch) => batch !== undefined);
  const [first] = some;
  return first && (some.length === 1 ? first : { scope: first.scope, events: some.flatMap(({ events }) => events) });
}

/** The number of the last whole event behind a frame: a part that is not the last leaves its event for later. */
export function lastWhole({ first, last, part, parts }: Frame): number {
  if (part === parts) return last;
  return beginsLog(first) ? 0 : first - 1;
}
