import type { RunEvent } from '@agent-workflow/protos/execution';
import { beginsLog } from '../../../ports/log-numbers.ts';

/**
 * What one message of the stream holds: some whole events of a run, or a part of one that is too heavy for a message. The
 * first line says which; the rest are the events, one JSON text a line, or the part's bytes.
 */
export interface Frame {
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

export function toPayload({ first, last, part, parts, ended, head, origin, writer, body }: Frame): Uint8Array {
  const line = `${first} ${last} ${part} ${parts} ${ended ? 1 : 0} ${head} ${origin} ${writer}\n`;
  return Buffer.concat([Buffer.from(line, 'latin1'), body]);
}

/** @throws when the payload is none of ours. */
export function fromPayload(payload: Uint8Array): Frame {
  const stop = payload.indexOf(newline);
  const fields = Buffer.from(payload.buffer, payload.byteOffset, Math.max(0, stop)).toString('latin1').split(' ');
  const [first = 0, last = 0, part = 0, parts = 0, ended = 0, head = 0, origin = 0] = fields.map(Number);
  if (fields.length !== fieldCount || part < 1) throw new Error('a message of the event stream is not a frame');
  const [writer = ''] = fields.slice(-1);
  return { first, last, part, parts, ended: ended === 1, head, origin, writer, body: payload.subarray(stop + 1) };
}

const fieldCount = 8;

/** Events as one body. A line never holds a raw newline, because JSON escapes it. */
export const toBody = (events: readonly RunEvent[]): Uint8Array =>
  Buffer.concat(events.flatMap(({ json }) => [json, newlineBytes]));

/** The events of a frame of whole events. */
export function toEvents({ first, body }: Pick<Frame, 'first' | 'body'>): RunEvent[] {
  const events: RunEvent[] = [];
  let seq = first;
  for (let start = 0; start < body.length;) {
    const stop = body.indexOf(newline, start);
    events.push(toEvent(seq++, body.subarray(start, stop)));
    start = stop + 1;
  }
  return events;
}

export const toEvent = (seq: number, json: Uint8Array): RunEvent => ({ seq, event: kindOf(json), json });

const kindStart = Buffer.byteLength('{"event":"');
const quote = 0x22;

/** The kind stands first in every event. */
const kindOf = (json: Uint8Array): string =>
  Buffer.from(json.subarray(kindStart, json.indexOf(quote, kindStart))).toString('latin1');

/** Puts the parts of one heavy event together as they come; parts that a dead writer left without their rest are dropped. */
export function createJoiner(): (frame: Frame) => RunEvent[] {
  let first = 0;
  let parts: Uint8Array[] = [];
  return (frame) => {
    if (frame.parts === 1) {
      parts = [];
      return toEvents(frame);
    }
    if (frame.part === 1) {
      first = frame.first;
      parts = [];
    }
    if (frame.first !== first || frame.part !== parts.length + 1) return [];
    parts.push(frame.body);
    if (parts.length < frame.parts) return [];
    const event = toEvent(frame.first, Buffer.concat(parts));
    parts = [];
    return [event];
  };
}

/** The number of the last whole event behind a frame: a part that is not the last leaves its event for later. */
export function lastWhole({ first, last, part, parts }: Frame): number {
  if (part === parts) return last;
  return beginsLog(first) ? 0 : first - 1;
}
