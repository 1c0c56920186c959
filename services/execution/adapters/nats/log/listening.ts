import type { Live } from './live.ts';
import type { LogPlaces } from './places.ts';
import { neverSynced, type Tail } from './tail.ts';

interface ListeningOptions {
  readonly live: Pick<Live, 'subscribe'>;
  readonly places: Pick<LogPlaces, 'next'>;
  readonly isWriting: (runId: string) => boolean;
  /** Reads the end of a log whose tail may lack frames. */
  readonly compare: (tail: Tail) => void;
  /** The time in milliseconds; absent: `performance.now()`, by which tails are known. */
  readonly now?: () => number;
}

/**
 * Which logs a replica has the new frames of. It subscribes to a log that it has readers of and does not write itself. Of a log that it writes it knows
 * each frame: an append is refused as soon as somebody else has written. After a pause of a log it cannot be sure of that, nor that no frame
 * was lost on its way here, and looks.
 */
export interface Listening {
  /** To be called when a log gets its first reader, or its writer here is gone. */
  readonly begin: (tail: Tail) => void;
  /** To be called when a frame became known here: the pause until the log is looked at begins anew. */
  readonly noteFrame: (tail: Tail) => void;
  /** To be called before the end of a log with readers is read: what is stored from then on arrives here. */
  readonly cover: (tail: Tail) => void;
  /** To be called when a frame of this replica was stored, which says that nobody else has written before it. */
  readonly wrote: (tail: Tail) => void;
  /** To be called when nobody reads or writes a log here any more. */
  readonly end: (tail: Tail) => void;
  /** Whether all that is stored of a log from now on becomes known here. */
  readonly covers: (tail: Tail) => boolean;
  /** Subscribes to another subject where the log was found elsewhere. Returns false where it did: what came between is not known. */
  readonly isInPlace: (tail: Tail) => boolean;
  /** To be called every second with the logs in use, and the last sequence of the stream. */
  readonly check: (tails: Iterable<Tail>, lastSeq: number) => void;
}

/** The pause after which a log is looked at, in milliseconds; twice as long each time, up to the longest. */
const firstPauseMs = 2000;
const longestPauseMs = 30_000;
/** Logs that are looked at in one second, at most. The others have their turn in the next one. */
const checksAtOnce = 32;

export function createListening({
  live,
  places,
  isWriting,
  compare,
  now = () => performance.now(),
}: ListeningOptions): Listening {
  const noteFrame = (tail: Tail): void => {
    tail.quietSince = now();
    tail.pauseMs = firstPauseMs;
  };

  const subscribe = (tail: Tail): void => {
    const subject = places.next(tail);
    if (tail.subscription?.subject === subject) return;
    tail.subscription?.[Symbol.dispose]();
    tail.subscription = { ...live.subscribe(subject), subject };
    tail.syncedAtGap = neverSynced;
  };

  const unsubscribe = (tail: Tail): void => {
    tail.subscription?.[Symbol.dispose]();
    tail.subscription = undefined;
  };

  const isKnown = (tail: Tail): boolean => isWriting(tail.runId) || now() < tail.knownUntil;

  const cover = (tail: Tail): void => {
    if (!isKnown(tail)) subscribe(tail);
  };

  return {
    begin: (tail) => {
      noteFrame(tail);
      cover(tail);
    },

    noteFrame,

    cover,

    wrote: (tail) => {
      noteFrame(tail);
      unsubscribe(tail);
    },

    end: unsubscribe,

    covers: (tail) => tail.subscription !== undefined || isKnown(tail),

    isInPlace: (tail) => {
      const { subscription } = tail;
      if (subscription) subscribe(tail);
      return tail.subscription === subscription;
    },

    check: (tails, lastSeq) => {
      const time = now();
      let left = checksAtOnce;
      for (const tail of tails) {
        if (time - tail.quietSince < tail.pauseMs) continue;
        if (left-- === 0) return;
        const isNew = tail.subscription === undefined;
        if (isNew) subscribe(tail);
        tail.quietSince = time;
        tail.pauseMs = Math.min(tail.pauseMs * 2, longestPauseMs);
        // Where the stream has not grown since its end was read, it has not either.
        if (isNew || tail.comparedAt !== lastSeq) compare(tail);
      }
    },
  };
}
