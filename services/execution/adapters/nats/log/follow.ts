import { notFound } from '@agent-workflow/kit/errors';
import { pause } from '@agent-workflow/kit/retry';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal } from '../../../ports/log.ts';
import { called } from '../client/client.ts';
import { createJoiner, joinBatches, type StoredFrame } from './frame.ts';
import { pageBytes, type Reader } from './reader.ts';
import type { LogSync } from './sync.ts';
import { eventsAbove, recentEvents, type Tail } from './tail.ts';

interface FollowOptions {
  readonly reader: Reader;
  readonly sync: LogSync;
  /** Whether events of a run wait to be written here. */
  readonly isQueued: (runId: string) => boolean;
  /** Called with the log's subject when the next event is too far behind unreadable messages, so that a follower goes on at the last event. */
  readonly onPassedOver: (subject: string) => void;
  readonly closing: AbortSignal;
}

/** The events above `after`. */
interface EventRange {
  readonly after: number;
  /** Only what the log has up to this number; absent: live until the terminal event. */
  readonly upTo?: number;
}

/** Reads logs for followers: from the kept frames where these reach back so far, otherwise from the stream. */
interface Follow {
  readonly events: (tail: Tail, range: EventRange, signal: AbortSignal) => AsyncGenerator<EventBatch>;
  readonly end: (tail: Tail, signal: AbortSignal) => Promise<RunEvent>;
}

const retryMs = 100;
/** How often a replica of the stream that lags behind is read again before the leader is. */
const lagRetries = 3;

export function createFollow({ reader, sync, isQueued, onPassedOver, closing }: FollowOptions): Follow {
  const { invalidate, isFresh, refresh, repeat } = sync;

  /** The frames from a sequence on, also when the replica that answers lags behind; none when they are gone, `undefined` when they are too far. */
  const readPage = async (
    tail: Tail,
    from: number,
    signal: AbortSignal,
  ): Promise<readonly StoredFrame[] | undefined> => {
    for (let attempt = 0; attempt < lagRetries; attempt++) {
      const frames = await repeat(async () => reader.page(tail.subject, from, pageBytes), signal);
      if (frames?.length !== 0 || tail.streamSeq < from) return frames;
      await pause(retryMs, signal);
    }
    const frame = await repeat(async () => reader.next(tail.subject, from), signal);
    return frame ? [frame] : [];
  };

  /** The sequences of the last frame and of the first slice of its event; `undefined` when no frame is found. */
  const readBounds = async (tail: Tail, signal: AbortSignal): Promise<SequenceRange | undefined> => {
    const last = (await repeat(async () => reader.last(tail.subject), signal))?.frame;
    return last && { from: last.slice === 1 ? last.streamSeq : last.firstSliceSeq, to: last.streamSeq };
  };

  /** Reads the tail from the stream again, because the frames that it promised were not found. Resolves with whether it has changed. */
  const wasOutdated = async (tail: Tail, signal: AbortSignal): Promise<boolean> => {
    const { streamSeq, last, streamLosses } = tail;
    invalidate(tail);
    await repeat(async () => refresh(tail), signal);
    return tail.streamSeq !== streamSeq || tail.last !== last || tail.streamLosses !== streamLosses;
  };

  /** Resolves when the tail may have changed. @throws the signal's reason when it fires first. */
  const changed = async (tail: Tail, signal: AbortSignal): Promise<void> => {
    closing.throwIfAborted();
    if (isFresh(tail)) await called(tail.waiting, signal);
    else if (!sync.isLive) await pause(retryMs, signal);
  };

  /** Reads the last event from its first slice on; `undefined` when it is not there. */
  const readEnd = async (tail: Tail, signal: AbortSignal): Promise<RunEvent | undefined> => {
    const join = createJoiner();
    const { from, to } = (await readBounds(tail, signal)) ?? nowhere;
    for (let at = from; at <= to;) {
      const frames = (await readPage(tail, at, signal)) ?? [];
      const end = joinBatches(frames.map(join))?.events.at(-1);
      if (end && isTerminal(end)) return end;
      if (frames.length === 0) break;
      at = sequenceAfter(frames);
    }
    return undefined;
  };

  return {
    async *events(tail, { after, upTo }, signal) {
      const cursor = createCursor(tail, after);
      // The cursor moves past what the log lacks, and past slices that are no whole event.
      while (upTo === undefined || cursor.at() < upTo) {
        if (!isFresh(tail)) await repeat(async () => refresh(tail), signal);
        cursor.renew();
        let batch = cursor.takeRecent();
        if (!batch?.events.length && tail.last > cursor.at()) {
          const frames = await readPage(tail, cursor.from(), signal);
          if (!frames) {
            onPassedOver(tail.subject);
            cursor.passTo((await readBounds(tail, signal)) ?? nowhere);
            continue;
          }
          if (frames.length === 0 && (await wasOutdated(tail, signal))) continue;
          batch = cursor.takePage(frames);
        }
        const end = batch?.events.at(-1);
        if (batch && end) {
          yield batch;
          if (isTerminal(end)) return;
        } else if (tail.last <= cursor.at()) {
          if (tail.ended || (upTo !== undefined && !isQueued(tail.runId))) return;
          await changed(tail, signal);
        }
      }
    },

    end: async (tail, signal) => {
      for (;;) {
        if (!isFresh(tail)) await repeat(async () => refresh(tail), signal);
        if (!tail.ended) {
          await changed(tail, signal);
          continue;
        }
        const end = tail.end ?? (await readEnd(tail, signal));
        if (end) return end;
        // The stream may have been lost since the tail was read: then the end is published again.
        if (!(await wasOutdated(tail, signal))) throw notFound(`the events of run "${tail.runId}" are no longer kept`);
      }
    },
  };
}

interface SequenceRange {
  readonly from: number;
  readonly to: number;
}

const nowhere: SequenceRange = { from: 0, to: -1 };

const sequenceAfter = (frames: readonly StoredFrame[]): number => (frames.at(-1)?.streamSeq ?? 0) + 1;

/** The offset of one follower: the number of the last event that it has, and the sequence in the stream to continue from. */
interface Cursor {
  readonly at: () => number;
  readonly from: () => number;
  /** Forgets the sequence after the stream was lost. */
  readonly renew: () => void;
  /** The next events from the kept frames, if these reach back so far. */
  readonly takeRecent: () => EventBatch | undefined;
  /** Passes over what is before the last event of the log, whose frames are in this range. */
  readonly passTo: (last: SequenceRange) => void;
  /** The next events from frames that were read. */
  readonly takePage: (frames: readonly StoredFrame[]) => EventBatch | undefined;
}

function createCursor(tail: Tail, after: number): Cursor {
  let join = createJoiner();
  let at = after;
  let next = 0;
  let { streamLosses } = tail;
  /** The offset at which the log was searched from its beginning, because its next event was not found. */
  let searchedAt = -1;

  const moveTo = (seq: number): void => {
    join = createJoiner();
    next = seq;
  };

  const nextFrom = (): number => Math.max(next, tail.origin + 1);

  return {
    at: () => at,
    from: nextFrom,

    renew: () => {
      if (tail.streamLosses === streamLosses) return;
      ({ streamLosses } = tail);
      moveTo(0);
    },

    takeRecent: () => {
      const batch = recentEvents(tail, at);
      const last = batch?.events.at(-1);
      at = last?.seq ?? at;
      // The follower has all frames of the log, unless the kept ones end before its last event.
      if (last && at === tail.last) moveTo(tail.streamSeq + 1);
      return batch;
    },

    passTo: (last) => {
      const isBehind = last.from > nextFrom();
      // Where the slices of the last event are too far from each other, it is passed over too.
      if (!isBehind) at = Math.max(at, tail.last);
      moveTo(isBehind ? last.from : Math.max(next, tail.streamSeq + 1));
      searchedAt = at;
    },

    takePage: (frames) => {
      const batch = eventsAbove(joinBatches(frames.map(join)), at);
      const events = batch?.events ?? [];
      const isNextThere = frames.length > 0 && (events[0]?.seq ?? at + 1) === at + 1;
      if (!isNextThere && next > 0 && searchedAt !== at) {
        // A stream that was created again may have it at a lower sequence than the old one had.
        searchedAt = at;
        moveTo(0);
        return undefined;
      }
      // Events that are gone from the stream are skipped.
      at = frames.length === 0 ? Math.max(at, tail.last) : (events.at(-1)?.seq ?? at);
      next = Math.max(next, frames.length === 0 ? tail.streamSeq + 1 : sequenceAfter(frames));
      return batch;
    },
  };
}
