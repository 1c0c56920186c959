import { randomUUID } from 'node:crypto';
import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { beginsLog } from '../../../ports/log-numbers.ts';
import type { RunLog } from '../../../ports/port.ts';
import { createFollow } from './follow.ts';
import { createKnowledge } from './knowledge.ts';
import { openLive } from './live.ts';
import type { OlderReplicas } from '../older.ts';
import { createReader, eventSubjectOf, readWhole } from './reader.ts';
import type { Streams } from '../streams.ts';
import { maxRecentBytes, recentFrames, wake, type Tail } from './tail.ts';
import { createTails } from './tails.ts';
import { createWriter, type Writer } from './writer.ts';

export interface NatsLogOptions {
  readonly streams: Streams;
  /** How long the events of an ended run are served, in milliseconds; after it the log is as if it had never been. */
  readonly retentionMs: number;
  readonly logger: Log;
  /** Replicas that could not read frames in the layout of this version. Absent: there are none. */
  readonly older?: Pick<OlderReplicas, 'areThere'>;
}

/** What may wait to be written, of all runs, in bytes: while NATS is away, that much is held. */
const maxPendingBytes = 64 * 1024 * 1024;
const closingMs = 5000;

/** Opens the event logs on a stream, and makes the stream where it is missing. */
export async function openNatsRunLog({ streams, retentionMs, logger, older }: NatsLogOptions): Promise<RunLog> {
  const { client, names } = streams;
  const writerName = randomUUID().slice(0, 8);
  const closed = new AbortController();
  const closing = closed.signal;
  const reader = createReader(client, names);
  const writers = new Map<string, Writer>();
  let pendingBytes = 0;

  const tails = createTails(
    (runId) => eventSubjectOf(names, runId),
    (runId) => writers.has(runId),
  );

  const live = await openLive({
    streams,
    logger,
    wants: (runId) => tails.get(runId) !== undefined,
    onFrame: (runId, frame) => {
      const tail = tails.of(runId);
      tails.learn(tail, frame);
      // Whoever writes behind us has the run: what we wrote is not ours to put back any more.
      if (tail.ended || frame.writer !== writerName) retire(tail);
    },
    isNeeded: () => writers.size > 0 || [...tails.all()].some(({ listeners }) => listeners > 0),
    onDoubt: (isNew) => {
      if (isNew) {
        tails.resetPlaces();
        for (const each of writers.values()) each.putBack();
      }
      for (const tail of tails.all()) wake(tail);
    },
  });

  const knowledge = createKnowledge({ streams, reader, live, retentionMs, closing });
  const follow = createFollow({ reader, knowledge, closing });

  const count = (bytes: number): boolean => {
    if (bytes > 0 && pendingBytes + bytes > maxPendingBytes) return false;
    pendingBytes += bytes;
    return true;
  };

  const writerOf = (tail: Tail): Writer => {
    const { runId, subject } = tail;
    const known = writers.get(runId);
    if (known) return known;
    tail.written = true;
    const made = createWriter({
      client,
      runId,
      subject,
      writer: writerName,
      look: async () => knowledge.look(subject),
      restoreStream: live.restore,
      recall: async (standing) => {
        if (beginsLog(tail.recent[0]?.first ?? 0)) return;
        tails.recall(tail, await readWhole(reader, subject, standing, maxRecentBytes));
      },
      kept: (last) => recentFrames(tail, last),
      onStored: (frame, batch) => tails.learn(tail, frame, frame.parts === 1 ? batch : undefined),
      layout: () => (older?.areThere() === true ? 'lines' : 'parts'),
      count,
      closing,
    });
    writers.set(runId, made);
    return made;
  };

  /** A writer whose run has ended, or was taken from it, is needed no more. */
  const retire = (tail: Tail): void => {
    if (writers.get(tail.runId)?.queuedLast() !== undefined) return;
    writers.delete(tail.runId);
    tail.written = false;
    tails.release(tail);
  };

  /** Keeps the tail in use for as long as the work takes. */
  const hold = (runId: string, followers: number): Disposable & { readonly tail: Tail } => {
    const tail = tails.of(runId);
    tail.listeners++;
    tail.followers += followers;
    return {
      tail,
      [Symbol.dispose]: () => {
        tail.listeners--;
        tail.followers -= followers;
        tails.release(tail);
      },
    };
  };

  return {
    append: async (scope, after, events) => {
      const { runId } = scope;
      const tail = tails.of(runId);
      try {
        await writerOf(tail).append(after, { scope, events });
        if (tail.ended) retire(tail);
      } catch (error) {
        // One that gave events up goes on refusing what comes behind them.
        if (isServiceError(error, 'Stale')) {
          retire(tail);
          if (!writers.has(runId)) tails.forget(tail);
        }
        throw error;
      }
    },

    isEnded: async (runId) => {
      if (writers.get(runId)?.isEnding() === true) return true;
      const tail = tails.of(runId);
      await knowledge.refresh(tail);
      return tail.ended;
    },

    last: async (runId) => {
      const queued = writers.get(runId)?.queuedLast();
      if (queued !== undefined) return queued;
      const tail = tails.of(runId);
      await knowledge.refresh(tail);
      return tail.last;
    },

    async *follow(runId, after, signal) {
      using held = hold(runId, 1);
      yield* follow.events(held.tail, after, signal);
    },

    end: async (runId, signal) => {
      using held = hold(runId, 0);
      return await follow.end(held.tail, signal);
    },

    // The server drops what has outlived its age: nothing is walked, and nothing purged.
    expire: () => Promise.resolve(0),
    unended: () => Promise.resolve([]),
    drop: () => Promise.resolve(),

    [Symbol.asyncDispose]: async () => {
      const settled = Promise.all([...writers.values()].map(async (each) => each.settled()));
      if (client.isConnected()) await settledWithin(settled, closingMs);
      closed.abort(unavailable('the event log is closed'));
      for (const tail of tails.all()) wake(tail);
      await live[Symbol.asyncDispose]();
    },
  };
}
