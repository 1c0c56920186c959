import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { endsLog, joinBatches, lastWhole, toBatch, type StoredFrame } from './frame.ts';

/** The end of one run's log as far as it is known here, while the log is written or followed, and some time longer. */
export interface Tail {
  readonly runId: string;
  /** Where the log is in the stream; where it is looked for, as long as no frame of it is known. */
  subject: string;
  /** The hash of the run's agent, where it is known. */
  agentHash: string | undefined;
  /** The count of gaps when the tail was last compared with the stream. Below the present count it may have missed frames. */
  syncedAtGap: number;
  /** The subscription by which its frames arrive here, and its subject in the stream. */
  subscription: (Disposable & { readonly subject: string }) | undefined;
  /** Until then, by `performance.now()`, nobody writes to the log but this replica, or it has ended. */
  knownUntil: number;
  /** When a frame became known last, or the log was looked at, by `performance.now()`. */
  quietSince: number;
  /** How long after that it is looked at, in milliseconds. */
  pauseMs: number;
  /** The last sequence that the stream was known to have when the log's end was read. */
  comparedAt: number;
  /** Sequence of the run's last frame in the stream; 0 when there is none. */
  streamSeq: number;
  /** How often the stream was lost. Sequences from before are void. */
  streamLosses: number;
  /** The name of that frame's writer; empty when there is none. */
  writer: string;
  /** Number of the last whole event. */
  last: number;
  ended: boolean;
  /** The last event, unless it is so large that it is read from the stream when it is needed. */
  end: RunEvent | undefined;
  /** The log begins after this sequence of the stream. */
  origin: number;
  /** The newest frames of whole events, without a gap up to `last`. */
  recent: KeptFrame[];
  recentBytes: number;
  /** Followers, and those that wait for the end alone. */
  listeners: number;
  /** Listeners that read every event. */
  followers: number;
  /** Whether a writer here may have to put the newest frames back. */
  written: boolean;
  /** Whether others may go on with the run as well as the writer here: that it knows its own frames says nothing of theirs. */
  left: boolean;
  syncing: Promise<void> | undefined;
  readonly waiting: Set<() => void>;
}

interface KeptFrame extends StoredFrame {
  batch?: EventBatch;
}

/** How long a log is quiet before it is looked at, in milliseconds; twice as long each time. */
export const firstPauseMs = 2000;

/** The count of gaps of a tail that was not compared with the stream. */
export const neverSynced = -1;

export const createTail = (runId: string, subject: string): Tail => ({
  runId,
  subject,
  agentHash: undefined,
  syncedAtGap: neverSynced,
  subscription: undefined,
  knownUntil: 0,
  quietSince: 0,
  pauseMs: firstPauseMs,
  comparedAt: -1,
  streamSeq: 0,
  writer: '',
  streamLosses: 0,
  last: 0,
  ended: false,
  end: undefined,
  origin: 0,
  recent: [],
  recentBytes: 0,
  listeners: 0,
  followers: 0,
  written: false,
  left: false,
  syncing: undefined,
  waiting: new Set(),
});

/** Bound of the newest frames of one run, in bytes. They stay in memory until the slowest follower has read them. */
export const maxRecentBytes = 512 * 1024;

/**
 * Adds a stored frame, unless the tail has it. Returns by how many bytes the kept frames grew. The body of a frame that comes with its
 * events is not copied.
 */
export function addFrame(tail: Tail, frame: StoredFrame, batch?: EventBatch): number {
  if (frame.streamSeq <= tail.streamSeq) return 0;
  const before = tail.recentBytes;
  tail.subject = frame.subject;
  tail.streamSeq = frame.streamSeq;
  tail.writer = frame.writer;
  tail.last = lastWhole(frame);
  tail.origin = frame.origin;
  tail.ended = endsLog(frame);
  if (tail.ended) knowForAWhile(tail);
  if (frame.slices === 1 && keepsFrames(tail)) remember(tail, frame, batch);
  else dropFrames(tail);
  tail.end = tail.ended && frame.slices === 1 ? copyOf((batch ?? toBatch(frame))?.events.at(-1)) : undefined;
  wake(tail);
  return tail.recentBytes - before;
}

/**
 * How long a log whose end is known is not looked for, and one of a run that was just accepted here, in milliseconds. Nobody writes to
 * either, unless much later: a log is begun anew once its events are no longer served.
 */
const knownMs = 10_000;

export function knowForAWhile(tail: Tail): void {
  tail.quietSince = performance.now();
  tail.knownUntil = tail.quietSince + knownMs;
}

/** Whether the newest frames are kept: followers read them from here, and a writer may have to put them back. */
const keepsFrames = ({ followers, written }: Tail): boolean => followers > 0 || written;

/** A received message shares its buffer with its neighbours. A copy does not keep that buffer in memory. */
const withOwnBody = (frame: StoredFrame): StoredFrame => ({ ...frame, body: Buffer.from(frame.body) });

/** A received frame with its events, to be added to a tail; `undefined` when it holds none, and is no slice of an event either. */
export function readFrame(
  tail: Tail,
  received: StoredFrame,
): { readonly frame: StoredFrame; readonly batch?: EventBatch } | undefined {
  if (received.slices > 1) return { frame: received };
  const frame = keepsFrames(tail) ? withOwnBody(received) : received;
  const batch = toBatch(frame);
  return batch && { frame, batch };
}

function remember(tail: Tail, frame: StoredFrame, batch?: EventBatch): void {
  if ((tail.recent.at(-1)?.last ?? -1) + 1 !== frame.first) dropFrames(tail);
  tail.recent.push(batch ? { ...frame, batch } : withOwnBody(frame));
  tail.recentBytes += frame.body.byteLength;
  while (tail.recentBytes > maxRecentBytes) tail.recentBytes -= tail.recent.shift()?.body.byteLength ?? 0;
}

/**
 * Adds all frames of a log up to its newest one, so that with the kept frames the whole log is kept.
 * Returns by how many bytes the kept frames grew.
 */
export function addAllFrames(tail: Tail, frames: readonly StoredFrame[]): number {
  const newest = frames.at(-1);
  if (!newest) return 0;
  const grown = addFrame(tail, newest);
  const oldest = tail.recent[0]?.first ?? newest.last + 1;
  const earlier = frames.filter(({ last }) => last < oldest);
  const bytes = earlier.reduce((sum, { body }) => sum + body.byteLength, 0);
  const reaches = tail.recent.length > 0 || tail.last === newest.last;
  if (!reaches || tail.recentBytes + bytes > maxRecentBytes) return grown;
  tail.recent.unshift(...earlier.map(withOwnBody));
  tail.recentBytes += bytes;
  return grown + bytes;
}

/** Forgets what is known of the log: it was found to be another one. */
export function forgetLog(tail: Tail): void {
  dropFrames(tail);
  Object.assign(tail, { syncedAtGap: neverSynced, knownUntil: 0, ...nothingKnown });
}

const nothingKnown = { streamSeq: 0, writer: '', last: 0, ended: false, end: undefined, origin: 0 };

export function dropFrames(tail: Tail): void {
  tail.recent = [];
  tail.recentBytes = 0;
}

/** Bound of a last event that is kept in an unused tail, in bytes. */
const maxIdleEndBytes = 16 * 1024;

/** Keeps only small values of a tail that is not in use. */
export function shrink(tail: Tail): void {
  dropFrames(tail);
  if (tail.end && bytesOfEvent(tail.end) > maxIdleEndBytes) tail.end = undefined;
}

/** A copy that does not keep the received buffer in memory. */
const copyOf = (event: RunEvent | undefined): RunEvent | undefined =>
  event && {
    ...event,
    data: Buffer.from(event.data),
    ...(event.message && { message: Buffer.from(event.message) }),
    ...(event.state && { state: Buffer.from(event.state) }),
  };

export function wake(tail: Tail): void {
  for (const resume of [...tail.waiting]) resume();
}

/** The events above `after`, if all of them are kept. */
export function recentEvents(tail: Tail, after: number): EventBatch | undefined {
  const oldest = tail.recent[0];
  if (!oldest || oldest.first > after + 1) return undefined;
  const frames = tail.recent.filter(({ last }) => last > after);
  return eventsAbove(joinBatches(frames.map(batchOf)), after);
}

function batchOf(frame: KeptFrame): EventBatch | undefined {
  const batch = frame.batch ?? toBatch(frame);
  if (batch) frame.batch = batch;
  return batch;
}

/** The events of a batch above a number. */
export function eventsAbove(batch: EventBatch | undefined, after: number): EventBatch | undefined {
  if (!batch || (batch.events[0]?.seq ?? 0) > after) return batch;
  return { ...batch, events: batch.events.filter(({ seq }) => seq > after) };
}

/** The kept frames above event number `last`; the oldest of them may be missing. */
export const recentFrames = (tail: Tail, last: number): readonly StoredFrame[] =>
  tail.recent.filter((frame) => frame.last > last);
