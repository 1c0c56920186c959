import { hashOfAgent } from '../client/pools.ts';
import type { LogPlaces } from './places.ts';
import { addAllFrames, addFrame, createTail, dropFrames, forgetLog, shrink, wake, type Tail } from './tail.ts';
import type { StoredFrame } from './frame.ts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';

/** The tails of the logs in use, and of a bounded number of others, most of which are needed again. */
interface Tails {
  readonly get: (runId: string) => Tail | undefined;
  /** The run's tail, which is created when there is none. */
  readonly of: (runId: string) => Tail;
  readonly all: () => Iterable<Tail>;
  /** Those that somebody reads or writes. */
  readonly inUse: () => Generator<Tail>;
  /** Adds a stored frame. Returns false, and does nothing, where its subject is not that of the log. */
  readonly addFrame: (tail: Tail, frame: StoredFrame, batch?: EventBatch) => boolean;
  /** Adds all frames of a log, read from its first event on. */
  readonly addAllFrames: (tail: Tail, frames: readonly StoredFrame[]) => void;
  /** Drops the kept frames, which may belong to a lost log. The log is read from the stream again. */
  readonly dropFrames: (tail: Tail) => void;
  /** To be called when a tail may not be in use any more. */
  readonly release: (tail: Tail) => void;
  /** Forgets all sequences, because the stream was lost. */
  readonly resetSequences: () => void;
  /** Names the agent of a run. What was found of the run under another agent is forgotten. */
  readonly setAgent: (runId: string, agent: string) => void;
}

/** Tails that are kept though they are not in use. */
const maxIdle = 2000;
const checksAtOnce = 4;
/** Bound of the kept frames of all runs together, in bytes. The oldest tails drop theirs first. */
const maxKeptBytes = 64 * 1024 * 1024;

interface TailsOptions {
  readonly places: LogPlaces;
  readonly isWriting: (runId: string) => boolean;
  /** Called with a tail that nobody reads or writes any more. */
  readonly onIdle: (tail: Tail) => void;
}

export function createTails({ places, isWriting, onIdle }: TailsOptions): Tails {
  const tails = new Map<string, Tail>();
  let keptBytes = 0;

  /** A log whose agent is not known is the one that was seen first. */
  const isOfLog = (tail: Tail, { subject }: StoredFrame): boolean =>
    tail.agentHash === undefined && tail.streamSeq > 0 ? subject === tail.subject : places.mayHold(subject, tail);

  const isIdle = (tail: Tail): boolean => tail.listeners === 0 && !isWriting(tail.runId);

  const shrinkTail = (tail: Tail): void => {
    keptBytes -= tail.recentBytes;
    shrink(tail);
  };

  const dropFramesOf = (tail: Tail): void => {
    keptBytes -= tail.recentBytes;
    dropFrames(tail);
  };

  const dropOldest = (): void => {
    for (const tail of tails.values()) {
      if (keptBytes <= maxKeptBytes) return;
      shrinkTail(tail);
    }
  };

  const grow = (bytes: number): void => {
    keptBytes += bytes;
    if (keptBytes > maxKeptBytes) dropOldest();
  };

  /** Removes the oldest idle tails. A tail in use moves to the end, and is checked again when its turn comes. */
  const trim = (): void => {
    let checks = checksAtOnce;
    for (const [runId, tail] of tails) {
      if (tails.size <= maxIdle || checks-- === 0) return;
      tails.delete(runId);
      if (isIdle(tail)) shrinkTail(tail);
      else tails.set(runId, tail);
    }
  };

  const tailOf = (runId: string): Tail => {
    const known = tails.get(runId);
    if (known) return known;
    const tail = createTail(runId, places.search({ runId, agentHash: undefined }));
    tails.set(runId, tail);
    trim();
    return tail;
  };

  return {
    get: (runId) => tails.get(runId),

    of: tailOf,

    setAgent: (runId, agent) => {
      const tail = tailOf(runId);
      const agentHash = hashOfAgent(agent);
      if (tail.agentHash === agentHash) return;
      tail.agentHash = agentHash;
      if (tail.streamSeq > 0 && places.mayHold(tail.subject, tail)) return;
      shrinkTail(tail);
      forgetLog(tail);
      tail.subject = places.search(tail);
    },

    all: () => tails.values(),

    *inUse() {
      for (const tail of tails.values()) if (!isIdle(tail)) yield tail;
    },

    addFrame: (tail, frame, batch) => {
      const isOwn = isOfLog(tail, frame);
      if (isOwn) grow(addFrame(tail, frame, batch));
      return isOwn;
    },
    addAllFrames: (tail, frames) => grow(addAllFrames(tail, frames)),

    dropFrames: dropFramesOf,

    release: (tail) => {
      if (!isIdle(tail)) return;
      shrinkTail(tail);
      onIdle(tail);
    },

    resetSequences: () => {
      for (const tail of tails.values()) {
        tail.streamSeq = 0;
        tail.writer = '';
        tail.subject = places.search(tail);
        tail.streamLosses++;
        // Only a writer puts its frames back. For other tails the new stream may hold another log.
        if (!tail.written) dropFramesOf(tail);
        wake(tail);
      }
    },
  };
}
