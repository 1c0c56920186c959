import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { joinBatches, lastWhole, toBatch, type StoredFrame } from './frame.ts';

/** What is known here of one run's log, while somebody writes or follows it, and a while longer. */
export interface Tail {
  readonly runId: string;
  readonly subject: string;
  /** Of which count of interruptions the knowledge is: one that is behind the listener's may have missed something. */
  asOf: number;
  /** Place of the run's last frame in the stream; 0 when there is none. */
  seq: number;
  /** How often the stream was lost: places of before mean nothing any more. */
  renewals: number;
  /** Number of the last whole event. */
  last: number;
  ended: boolean;
  /** The last event, unless it weighs so much that it is better read when it is asked for. */
  end: RunEvent | undefined;
  /** The place in the stream behind which the log begins. */
  origin: number;
  /** The newest frames of whole events, without a gap up to `last`. */
  recent: KeptFrame[];
  recentBytes: number;
  /** Whoever wants to hear of the run, also of its end alone. */
  listeners: number;
  /** Those of them that want every event. */
  followers: number;
  /** Whether a writer here may need the newest frames to put them back. */
  written: boolean;
  syncing: Promise<void> | undefined;
  readonly waiting: Set<() => void>;
}

interface KeptFrame extends StoredFrame {
  batch?: EventBatch;
}

export const createTail = (runId: string, subject: string): Tail => ({
  runId,
  subject,
  asOf: -1,
  seq: 0,
  renewals: 0,
  last: 0,
  ended: false,
  end: undefined,
  origin: 0,
  recent: [],
  recentBytes: 0,
  listeners: 0,
  followers: 0,
  written: false,
  syncing: undefined,
  waiting: new Set(),
});

/** What the newest frames of one run may weigh: they are held for as long as the slowest follower takes. */
export const maxRecentBytes = 512 * 1024;

/** Takes in a frame that was stored, as long as it is news. Gives by how many bytes more is kept. */
export function learn(tail: Tail, frame: StoredFrame, batch?: EventBatch): number {
  if (frame.seq <= tail.seq) return 0;
  const before = tail.recentBytes;
  tail.seq = frame.seq;
  tail.last = lastWhole(frame);
  tail.origin = frame.origin;
  tail.ended = frame.ended && frame.part === frame.parts;
  if (frame.parts === 1 && (tail.followers > 0 || tail.written)) remember(tail, frame, batch);
  else forget(tail);
  tail.end = tail.ended && frame.parts === 1 ? toKept((batch ?? toBatch(frame)).events.at(-1)) : undefined;
  wake(tail);
  return tail.recentBytes - before;
}

function remember(tail: Tail, frame: StoredFrame, batch?: EventBatch): void {
  if ((tail.recent.at(-1)?.last ?? -1) + 1 !== frame.first) forget(tail);
  // What came in shares its buffer with what came beside it: a copy lets go of that.
  tail.recent.push({ ...frame, body: Buffer.from(frame.body), ...(batch ? { batch } : {}) });
  tail.recentBytes += frame.body.byteLength;
  while (tail.recentBytes > maxRecentBytes) tail.recentBytes -= tail.recent.shift()?.body.byteLength ?? 0;
}

/**
 * Keeps the frames that were read of a log, from its first event to its newest frame: with those kept already the whole log is.
 * Gives by how many bytes more is kept.
 */
export function recall(tail: Tail, frames: readonly StoredFrame[]): number {
  const newest = frames.at(-1);
  if (!newest) return 0;
  const grown = learn(tail, newest);
  const oldest = tail.recent[0]?.first ?? newest.last + 1;
  const earlier = frames.filter(({ last }) => last < oldest);
  const bytes = earlier.reduce((sum, { body }) => sum + body.byteLength, 0);
  const reaches = tail.recent.length > 0 || tail.last === newest.last;
  if (!reaches || tail.recentBytes + bytes > maxRecentBytes) return grown;
  tail.recent.unshift(...earlier.map((frame) => ({ ...frame, body: Buffer.from(frame.body) })));
  tail.recentBytes += bytes;
  return grown + bytes;
}

export function forget(tail: Tail): void {
  tail.recent = [];
  tail.recentBytes = 0;
}

/** What a last event may weigh that is kept when nobody waits for it any more. */
const maxIdleEndBytes = 16 * 1024;

/** Keeps of a log that is out of use only what is small. */
export function shrink(tail: Tail): void {
  forget(tail);
  if (tail.end && bytesOfEvent(tail.end) > maxIdleEndBytes) tail.end = undefined;
}

/** A copy that does not hold on to the buffer it came in. */
const toKept = (event: RunEvent | undefined): RunEvent | undefined =>
  event && {
    ...event,
    data: Buffer.from(event.data),
    ...(event.message && { message: Buffer.from(event.message) }),
    ...(event.state && { state: Buffer.from(event.state) }),
  };

export function wake(tail: Tail): void {
  for (const go of [...tail.waiting]) go();
}

/** The events above `after`, where they are still kept here. */
export function recentEvents(tail: Tail, after: number): EventBatch | undefined {
  const oldest = tail.recent[0];
  if (!oldest || oldest.first > after + 1) return undefined;
  const frames = tail.recent.filter(({ last }) => last > after);
  return behind(joinBatches(frames.map((frame) => (frame.batch ??= toBatch(frame)))), after);
}

/** The events of a batch above a number. */
export function behind(batch: EventBatch | undefined, after: number): EventBatch | undefined {
  if (!batch || (batch.events[0]?.seq ?? 0) > after) return batch;
  return { ...batch, events: batch.events.filter(({ seq }) => seq > after) };
}

/** The frames above event number `last`, where all of them are still kept here; otherwise those that are. */
export const recentFrames = (tail: Tail, last: number): readonly StoredFrame[] =>
  tail.recent.filter((frame) => frame.last > last);
