import type { Live } from './live.ts';
import type { LogPlaces } from './places.ts';
import { firstPauseMs, neverSynced, type Tail } from './tail.ts';

interface ListeningOptions {
  readonly live: Pick<Live, 'subscribe'>;
  readonly places: Pick<LogPlaces, 'search'>;
  readonly isWriting: (runId: string) => boolean;
  /** Reads the end of a log whose tail may lack frames. */
  readonly compare: (tail: Tail) => void;
  /** The time in milliseconds; absent: `performance.now()`, by which tails are known. */
  readonly now?: () => number;
}

/**
 * Which logs a replica has the new frames of. It subscribes to a log that it has readers of and does not write itself. Of a log that it writes it knows
 * each frame: an append is refused as soon as somebody else has written. When a log is quiet it cannot be sure of that, nor that no frame
 * was lost on its way here, and looks.
 */
export interface Listening {
  /** Has what is stored of a log from then on become known here: to be called when it gets its first reader, and before its end is read for readers. */
  readonly cover: (tail: Tail) => void;
  /** To be called when a frame became known here: the pause until the log is looked at begins anew. */
  readonly noteFrame: (tail: Tail) => void;
  /** To be called when a frame of this replica was stored, which says that nobody else has written before it. */
  readonly wrote: (tail: Tail) => void;
  /** To be called when others may go on with a run that was written here: its readers do not wait until it is quiet. */
  readonly leave: (tail: Tail) => void;
  /** To be called when nobody reads or writes a log here any more. */
  readonly end: (tail: Tail) => void;
  /** Whether all that is stored of a log from now on becomes known here. */
  readonly covers: (tail: Tail) => boolean;
  /** Subscribes to another subject where the log was found elsewhere. Returns false where it did: what came between is not known. */
  readonly isInPlace: (tail: Tail) => boolean;
  /** To be called every second with the logs in use, and the last sequence of the stream. */
  readonly check: (tails: Iterable<Tail>, lastSeq: number) => void;
}

/** The longest time that a log is quiet before it is looked at, in milliseconds. */
const longestPauseMs = 30_000;
/** The longest for a log that is written here and has no readers, as that of a run that sleeps: its writer only has to learn that another one has the run. */
const longestUnreadMs = 10 * 60_000;
/** Logs that are looked at in one second, at most, in the order in which they were due. So each has its turn, however many are due. */
const checksAtOnce = 32;

/** When a log is due. One without readers lets those pass that are due up to half a minute after it. */
const turnOf = ({ listeners, quietSince, pauseMs }: Tail): number =>
  quietSince + pauseMs + (listeners > 0 ? 0 : longestPauseMs);

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
    const subject = places.search(tail);
    if (tail.subscription?.subject === subject) return;
    tail.subscription?.[Symbol.dispose]();
    tail.subscription = { ...live.subscribe(subject), subject };
    tail.syncedAtGap = neverSynced;
    noteFrame(tail);
  };

  const unsubscribe = (tail: Tail): void => {
    tail.subscription?.[Symbol.dispose]();
    tail.subscription = undefined;
  };

  const isKnown = (tail: Tail): boolean =>
    now() < tail.knownUntil || (isWriting(tail.runId) && !tail.left && now() - tail.quietSince < firstPauseMs);

  return {
    cover: (tail) => {
      if (!isKnown(tail)) subscribe(tail);
      // The pause may have grown to that of a log without readers.
      else if (!tail.subscription) tail.pauseMs = firstPauseMs;
    },

    noteFrame,

    wrote: (tail) => {
      noteFrame(tail);
      if (!tail.left) unsubscribe(tail);
    },

    leave: (tail) => {
      tail.left = true;
      tail.knownUntil = 0;
      if (tail.listeners > 0) subscribe(tail);
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
      // Nothing follows on the end of a log, however long its readers take.
      const due = [...tails].filter(({ ended, quietSince, pauseMs }) => !ended && time - quietSince >= pauseMs);
      for (const tail of due.sort((one, other) => turnOf(one) - turnOf(other)).slice(0, checksAtOnce)) {
        const isRead = tail.listeners > 0;
        const isNew = isRead && tail.subscription === undefined;
        const pauseMs = Math.min(tail.pauseMs * 2, isRead ? longestPauseMs : longestUnreadMs);
        if (isNew) subscribe(tail);
        tail.quietSince = time;
        tail.pauseMs = pauseMs;
        // Where the stream has not grown since its end was read, it has not either.
        if (isNew || tail.comparedAt !== lastSeq) compare(tail);
      }
    },
  };
}
