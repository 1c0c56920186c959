import { digitOf, type Channel } from './channels.ts';
import { numberAfter, perEvent } from './parts.ts';

/** How many digits of an id count the events that one event of the run gives in one channel, before the digit of the channel. */
const countDigits = 7;

interface Named {
  /** The how manieth run of its thread it is. */
  readonly ordinal: number;
  /** The number of the event in its run. */
  readonly seq: number;
  readonly channel: Channel;
  /** How many events of this channel stand before it that come of the same event of the run. */
  readonly index: number;
}

/**
 * The id of an event: `<n>-<number>`, where n is the ordinal of its run in the thread. The number is that of the event in its run, the digit of
 * the channel, and seven digits that count. It is the same on every replica, in every replay, and whatever else a subscription asks for.
 */
export const eventIdOf = ({ ordinal, seq, channel, index }: Named): string =>
  `${String(ordinal)}-${String(seq)}${String(digitOf(channel))}${String(index).padStart(countDigits, '0')}`;

/**
 * The id of an event that a run has once: clients read the run in it, to keep the end of one run apart from that of another.
 * `what` is a word of their own, such as `lc||running`.
 */
export const singleIdOf = (runId: string, what: string): string => `synth:${runId}:${what}`;

/** A log of events has fewer numbers than this, wherever they begin. */
const mostOfLog = 2 ** 28;
/** The numbers of the log of a run that had ended when it was made again begin here. */
const ofEnded = 2 ** 48;

/** So many events have numbers of their own in the thread: those of the first log of a run, and those of a log that was made again. */
const mostFirst = 2 ** 23;
const mostAgain = 2 ** 22;
/** A run has as many numbers of its thread: those of its first log, of one made again, and of one made again after its end. */
const perRun = (mostFirst + 2 * mostAgain) * perEvent;

/**
 * The number in its thread of what comes of an event of a run; `within` is its number among what comes of that event. It is a safe integer of
 * each of the first two million runs of a thread. The events of a run of which there are more than eight million have the number of the last of these.
 */
export function threadSeq(ordinal: number, seq: number, within = 0): number {
  const place = seq % mostOfLog;
  if (seq < mostOfLog) return ordinal * perRun + Math.min(place, mostFirst - 1) * perEvent + within;
  const range = mostFirst + (seq <= ofEnded ? 0 : mostAgain);
  return ordinal * perRun + (range + Math.min(place, mostAgain - 1)) * perEvent + within;
}

/** Where a reader goes on. */
export interface Cursor {
  readonly ordinal: number;
  /** The number of the last event of that run that it has whole. */
  readonly after: number;
  /** What it has of the next one: frames, and in the streaming protocol the numbers of what comes of it. */
  readonly skipped?: number;
}

/** The place after a number of the thread. In a log that was made again by a later worker the place is not known: the run comes whole. */
export function cursorAfter(number: number): Cursor {
  const ordinal = Math.floor(number / perRun);
  const place = Math.floor((number % perRun) / perEvent);
  const after = placeBefore(place);
  // Of what no event has a number of its own, all comes again.
  if (after === undefined || place === 0) return { ordinal, after: after ?? 0 };
  return { ordinal, after, skipped: isLast(place) ? 0 : numberAfter(number % perEvent) };
}

/** The number of the event before the one at this place of its run; `undefined` for one of a log that was made again by a later worker. */
function placeBefore(place: number): number | undefined {
  if (place < mostFirst) return Math.max(0, place - 1);
  return place < mostFirst + mostAgain ? undefined : ofEnded + (place - mostFirst - mostAgain) - 1;
}

const isLast = (place: number): boolean => place === mostFirst - 1 || place === mostFirst + 2 * mostAgain - 1;

const numbered = /^\d{1,16}$/;
const named = /^(\d{1,8})-(\d{1,16})\d{8}$/;

/**
 * The place that a `Last-Event-ID` names: the id of an event, or the number of the thread that stands with it. After an id all events come
 * again that come of the same event of the run: its reader may have some of them. `undefined` for any other text: all that there is comes.
 */
export function cursorOf(id: string): Cursor | undefined {
  if (numbered.test(id)) return Number(id) <= Number.MAX_SAFE_INTEGER ? cursorAfter(Number(id)) : undefined;
  const [, ordinal, seq] = named.exec(id) ?? [];
  return ordinal === undefined ? undefined : { ordinal: Number(ordinal), after: Number(seq) - 1 };
}
