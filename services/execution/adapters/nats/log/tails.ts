import { createTail, forget, learn, recall, shrink, wake, type Tail } from './tail.ts';
import type { StoredFrame } from './frame.ts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';

/** The logs that are known here: those in use, and a bounded number of others, which are mostly asked for again. */
export interface Tails {
  readonly get: (runId: string) => Tail | undefined;
  /** The run's tail, made where there is none. */
  readonly of: (runId: string) => Tail;
  readonly all: () => Iterable<Tail>;
  /** Takes in a frame that was stored. */
  readonly learn: (tail: Tail, frame: StoredFrame, batch?: EventBatch) => void;
  /** Takes in the frames of a log that were read from its first event on. */
  readonly recall: (tail: Tail, frames: readonly StoredFrame[]) => void;
  /** What is kept of the log may be of one that is gone: it is read from the stream again. */
  readonly forget: (tail: Tail) => void;
  /** To be called when a tail may have gone out of use. */
  readonly release: (tail: Tail) => void;
  /** Nothing that is known of places in the stream holds any more. */
  readonly resetPlaces: () => void;
}

/** Tails that are kept though nobody uses them. */
const maxIdle = 2000;
const looksAtOnce = 4;
/** What the newest frames of all runs may weigh together; the logs known longest give theirs up first. */
const maxKeptBytes = 64 * 1024 * 1024;

export function createTails(subjectOf: (runId: string) => string, isWriting: (runId: string) => boolean): Tails {
  const tails = new Map<string, Tail>();
  let keptBytes = 0;

  const isIdle = (tail: Tail): boolean => tail.listeners === 0 && !isWriting(tail.runId);

  const drop = (tail: Tail): void => {
    keptBytes -= tail.recentBytes;
    shrink(tail);
  };

  const letGo = (tail: Tail): void => {
    keptBytes -= tail.recentBytes;
    forget(tail);
  };

  const dropOldest = (): void => {
    for (const tail of tails.values()) {
      if (keptBytes <= maxKeptBytes) return;
      drop(tail);
    }
  };

  const grow = (bytes: number): void => {
    keptBytes += bytes;
    if (keptBytes > maxKeptBytes) dropOldest();
  };

  /** Lets go of the idle ones known longest; those in use are looked at again when their turn comes. */
  const trim = (): void => {
    let looks = looksAtOnce;
    for (const [runId, tail] of tails) {
      if (tails.size <= maxIdle || looks-- === 0) return;
      tails.delete(runId);
      if (isIdle(tail)) drop(tail);
      else tails.set(runId, tail);
    }
  };

  return {
    get: (runId) => tails.get(runId),

    of: (runId) => {
      const known = tails.get(runId);
      if (known) return known;
      const tail = createTail(runId, subjectOf(runId));
      tails.set(runId, tail);
      trim();
      return tail;
    },

    all: () => tails.values(),

    learn: (tail, frame, batch) => grow(learn(tail, frame, batch)),
    recall: (tail, frames) => grow(recall(tail, frames)),

    forget: letGo,

    release: (tail) => {
      if (isIdle(tail)) drop(tail);
    },

    resetPlaces: () => {
      for (const tail of tails.values()) {
        tail.seq = 0;
        tail.renewals++;
        // Only who writes puts back what it has; what others say may be another log.
        if (!tail.written) letGo(tail);
        wake(tail);
      }
    },
  };
}
