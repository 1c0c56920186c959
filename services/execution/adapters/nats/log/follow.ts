import { notFound } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal } from '../../../ports/port.ts';
import { called, pause } from '../client.ts';
import { createJoiner, joinBatches, type StoredFrame } from './frame.ts';
import type { Knowledge } from './knowledge.ts';
import { pageBytes, type Reader } from './reader.ts';
import { behind, recentEvents, type Tail } from './tail.ts';

export interface FollowOptions {
  readonly reader: Reader;
  readonly knowledge: Knowledge;
  readonly closing: AbortSignal;
}

/** Reads logs for followers: from what is kept here where that reaches, otherwise from the stream. */
export interface Follow {
  readonly events: (tail: Tail, after: number, signal: AbortSignal) => AsyncGenerator<EventBatch>;
  readonly end: (tail: Tail, signal: AbortSignal) => Promise<RunEvent>;
}

const retryMs = 100;
/** How often a replica of the stream that lags is asked again before its leader is. */
const lagRetries = 3;

export function createFollow({ reader, knowledge, closing }: FollowOptions): Follow {
  const { doubt, isFresh, refresh, persist } = knowledge;

  /** The frames from a place on, also where the replica that was asked does not have them yet; none when they are gone. */
  const readPage = async (tail: Tail, from: number, signal: AbortSignal): Promise<readonly StoredFrame[]> => {
    for (let attempt = 0; attempt < lagRetries; attempt++) {
      const frames = await persist(async () => reader.page(tail.subject, from, pageBytes), signal);
      if (frames.length > 0 || tail.seq < from) return frames;
      await pause(retryMs, signal);
    }
    const frame = await persist(async () => reader.next(tail.subject, from), signal);
    return frame ? [frame] : [];
  };

  /** Whether the log, of which nothing was found, is not what was known of it: that may be of a stream that was lost since. */
  const wasMistaken = async (tail: Tail, signal: AbortSignal): Promise<boolean> => {
    const { seq, last, renewals } = tail;
    doubt(tail);
    await persist(async () => refresh(tail), signal);
    return tail.seq !== seq || tail.last !== last || tail.renewals !== renewals;
  };

  /** Resolves when there is more to be known of the log. @throws the signal's reason when it fires first. */
  const changed = async (tail: Tail, signal: AbortSignal): Promise<void> => {
    closing.throwIfAborted();
    if (isFresh(tail)) await called(tail.waiting, signal);
  };

  /** The last event, read from its first part on. */
  const readEnd = async (tail: Tail, signal: AbortSignal): Promise<RunEvent> => {
    const join = createJoiner();
    const last = await persist(async () => reader.last(tail.subject), signal);
    let from = last?.part === 1 ? last.seq : (last?.head ?? 0);
    while (last && from <= last.seq) {
      const frames = await readPage(tail, from, signal);
      const end = joinBatches(frames.map(join))?.events.at(-1);
      if (end && isTerminal(end)) return end;
      if (frames.length === 0) break;
      from = placeBehind(frames);
    }
    throw notFound(`the events of run "${tail.runId}" are kept no more`);
  };

  return {
    async *events(tail, after, signal) {
      const cursor = createCursor(tail, after);
      for (;;) {
        if (!isFresh(tail)) await persist(async () => refresh(tail), signal);
        cursor.renew();
        let batch = cursor.takeRecent();
        if (!batch?.events.length && tail.last > cursor.at()) {
          const frames = await readPage(tail, cursor.from(), signal);
          if (frames.length === 0 && (await wasMistaken(tail, signal))) continue;
          batch = cursor.takePage(frames);
        }
        const end = batch?.events.at(-1);
        if (batch && end) {
          yield batch;
          if (isTerminal(end)) return;
        } else if (tail.last <= cursor.at()) {
          if (tail.ended) return;
          await changed(tail, signal);
        }
      }
    },

    end: async (tail, signal) => {
      for (;;) {
        await persist(async () => refresh(tail), signal);
        if (tail.ended) return tail.end ?? readEnd(tail, signal);
        await changed(tail, signal);
      }
    },
  };
}

const placeBehind = (frames: readonly StoredFrame[]): number => (frames.at(-1)?.seq ?? 0) + 1;

/** How far one follower has come: the last event it was given, and the place in the stream to read on from. */
interface Cursor {
  readonly at: () => number;
  readonly from: () => number;
  /** Begins again with the stream's places when it was lost. */
  readonly renew: () => void;
  /** The next events that are kept here, if they reach back so far. */
  readonly takeRecent: () => EventBatch | undefined;
  /** The next events of what was read. */
  readonly takePage: (frames: readonly StoredFrame[]) => EventBatch | undefined;
}

function createCursor(tail: Tail, after: number): Cursor {
  let join = createJoiner();
  let at = after;
  let place = 0;
  let { renewals } = tail;
  /** Where the log was read from its beginning because what comes next did not stand where it should. */
  let searchedAt = -1;

  const begin = (from: number): void => {
    join = createJoiner();
    place = from;
  };

  return {
    at: () => at,
    from: () => Math.max(place, tail.origin + 1),

    renew: () => {
      if (tail.renewals === renewals) return;
      ({ renewals } = tail);
      begin(0);
    },

    takeRecent: () => {
      const batch = recentEvents(tail, at);
      const last = batch?.events.at(-1);
      at = last?.seq ?? at;
      // All frames up to the last are behind; unless those kept here end before it.
      if (last && at === tail.last) begin(tail.seq + 1);
      return batch;
    },

    takePage: (frames) => {
      const batch = behind(joinBatches(frames.map(join)), at);
      const events = batch?.events ?? [];
      const isNextThere = frames.length > 0 && (events[0]?.seq ?? at + 1) === at + 1;
      if (!isNextThere && place > 0 && searchedAt !== at) {
        // In a stream that is there anew it may stand before the place that was come to in the old one.
        searchedAt = at;
        begin(0);
        return undefined;
      }
      // What is gone from the stream cannot be told; what comes can.
      at = frames.length === 0 ? Math.max(at, tail.last) : (events.at(-1)?.seq ?? at);
      place = Math.max(place, frames.length === 0 ? tail.seq + 1 : placeBehind(frames));
      return batch;
    },
  };
}
