import { randomUUID } from 'node:crypto';
import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { every, settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import { beginsLog } from '../../../ports/log-numbers.ts';
import type { RunLog } from '../../../ports/log.ts';
import type { Streams } from '../client/streams.ts';
import { createFollow } from './follow.ts';
import { createListening } from './listening.ts';
import { openLive, withoutLive, type LiveOptions } from './live.ts';
import { createLogPlaces } from './places.ts';
import { createReader, readWhole, type Reader } from './reader.ts';
import { createLogSync } from './sync.ts';
import { maxRecentBytes, readFrame, recentFrames, wake, type Tail } from './tail.ts';
import { createTails } from './tails.ts';
import { createNoteConflicts, createNotePassedOver, createNoteUnreadable } from './unreadable.ts';
import { createWriter, type Writer } from './writer.ts';

interface NatsLogOptions {
  readonly streams: Streams;
  /** How long the events of an ended run are served, in milliseconds. After that the log counts as never written. */
  readonly retentionMs: number;
  readonly log: Log;
  /** For a worker of a pool, which may neither read nor subscribe to the stream: its agents, and who reads for it. */
  readonly ofPool?: OfPool | undefined;
}

interface OfPool {
  readonly agents: readonly string[];
  readonly reader: Reader;
  /** How long the writer of a run that is quiet is kept, in milliseconds; ten minutes unless given. */
  readonly quietMs?: number;
}

/** Bound of the events of all runs that wait to be written while NATS is unavailable, in bytes. */
const maxPendingBytes = 64 * 1024 * 1024;
const closingMs = 5000;
const quietWriterMs = 10 * 60_000;

/** Opens the event logs on a stream, and creates the stream where it is missing, except for a worker of a pool. */
export async function openNatsRunLog({ streams, retentionMs, log, ofPool }: NatsLogOptions): Promise<RunLog> {
  const { client, names } = streams;
  const writerName = randomUUID().slice(0, 8);
  const closed = new AbortController();
  const closing = closed.signal;
  const noteUnreadable = createNoteUnreadable(log);
  const noteConflicts = createNoteConflicts(log);
  const reader = ofPool?.reader ?? createReader(client, names, noteUnreadable);
  const places = createLogPlaces({ names, agents: ofPool?.agents });
  const writers = createShortLivedMap<string, Writer>();
  let pendingBytes = 0;

  const isWriting = (runId: string): boolean => writers.has(runId);
  const tails = createTails({ places, isWriting, onIdle: (tail) => listening.end(tail) });

  const liveOptions: LiveOptions = {
    streams,
    log,
    noteUnreadable,
    onFrame: (runId, received) => {
      const tail = tails.get(runId);
      if (!tail) return;
      listening.noteFrame(tail);
      // Of what this replica has written, or read already, the events are read only where they are needed.
      const isOwn = received.writer === writerName && !received.ended;
      const isKnown = received.streamSeq <= tail.streamSeq;
      const read = isOwn || isKnown ? { frame: received } : readFrame(tail, received);
      if (!read) noteUnreadable(received.subject);
      if (!read || !tails.addFrame(tail, read.frame, read.batch)) return;
      // Another writer has the run: this one must not put its frames back any more.
      if (tail.ended || received.writer !== writerName) retire(tail);
    },
    isNeeded: () => !tails.inUse().next().done,
    onTick: (lastSeq) => listening.check(tails.inUse(), lastSeq),
    onGap: (isNew) => {
      if (isNew) {
        tails.resetSequences();
        for (const each of writers.values()) each.putBack();
      }
      for (const tail of tails.all()) wake(tail);
    },
  };
  const live = ofPool ? withoutLive : await openLive(liveOptions);

  const compare = (tail: Tail): void => {
    sync.invalidate(tail);
    wake(tail);
    sync
      .refresh(tail)
      .catch((error: unknown) => log.debug({ err: error, runId: tail.runId }, 'the end of a log could not be read'));
  };

  /** Where the log has ended, or another replica has gone on with it, this one must not put its frames back any more. */
  const onRead = (tail: Tail): void => {
    const isReplaced = tail.writer !== '' && tail.writer !== writerName;
    if (isWriting(tail.runId) && (tail.ended || isReplaced)) retire(tail);
  };

  const listening = createListening({ live, places, isWriting, compare });
  const sync = createLogSync({ streams, reader, live, listening, places, onRead, retentionMs, closing });
  const isQueued = (runId: string): boolean => writers.get(runId)?.queuedLast() !== undefined;
  const follow = createFollow({ reader, sync, isQueued, onPassedOver: createNotePassedOver(log), closing });

  const count = (bytes: number): boolean => {
    if (bytes > 0 && pendingBytes + bytes > maxPendingBytes) return false;
    pendingBytes += bytes;
    return true;
  };

  const writerOf = (tail: Tail): Writer => {
    const { runId } = tail;
    const known = writers.get(runId);
    if (known) return known;
    tail.written = true;
    listening.noteFrame(tail);
    const made = createWriter({
      client,
      runId,
      beginSubject: () => places.begin(tail),
      writer: writerName,
      readPosition: async () => sync.readPosition(tail),
      recreateStream: live.recreateStream,
      keepEarlier: async (position) => {
        if (beginsLog(tail.recent[0]?.first ?? 0)) return;
        const subject = position.frame?.subject ?? tail.subject;
        tails.addAllFrames(tail, await readWhole(reader, subject, position, maxRecentBytes));
      },
      keptFrames: (last) => recentFrames(tail, last),
      onConflicts: noteConflicts,
      onStored: (frame, batch) => {
        listening.wrote(tail);
        tails.addFrame(tail, frame, frame.slices === 1 ? batch : undefined);
      },
      count,
      closing,
    });
    writers.set(runId, made);
    return made;
  };

  /** Removes the writer of a run that has ended, that another writer has, or that nobody here goes on with. */
  const retire = (tail: Tail): void => {
    if (isQueued(tail.runId)) return;
    writers.delete(tail.runId);
    tail.written = false;
    if (!tail.ended) tail.knownUntil = 0;
    if (tail.listeners > 0) listening.cover(tail);
    tails.release(tail);
  };

  /**
   * Removes the writers of runs that have been quiet for long. A worker of a pool does not learn that another one has a run, as after a sleep. Where
   * it goes on with the run itself, it reads the end of the log again.
   */
  const releaseQuiet = (quietMs: number): void => {
    const time = performance.now();
    for (const tail of tails.inUse()) if (isWriting(tail.runId) && time - tail.quietSince >= quietMs) retire(tail);
  };
  const { quietMs = quietWriterMs } = ofPool ?? {};
  const releases = ofPool && every(quietMs / 10, () => releaseQuiet(quietMs), nothing);

  /** Counts the tail as in use until the result is disposed of. */
  const hold = (runId: string, followers: number): Disposable & { readonly tail: Tail } => {
    const tail = tails.of(runId);
    if (tail.listeners++ === 0) listening.cover(tail);
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
    setAgent: tails.setAgent,
    moment: live.gaps,
    // Each append learns that for itself, and is repeated while JetStream is unavailable.
    canWrite: () => true,

    beganAfter: (runId, gaps) => sync.trust(tails.of(runId), gaps),

    append: async (scope, after, events, options) => {
      const { runId } = scope;
      const tail = tails.of(runId);
      tail.left = false;
      try {
        await writerOf(tail).append(after, { scope, events }, options);
        if (tail.ended) retire(tail);
      } catch (error) {
        // A writer that dropped events stays, and refuses those after them.
        if (isServiceError(error, 'Stale')) {
          retire(tail);
          if (!writers.has(runId)) tails.dropFrames(tail);
          // The tail may not be what the stream holds: the caller reads the log again before it appends again.
          sync.invalidate(tail);
        }
        // Readers that wait for what was queued here would never get it.
        wake(tail);
        throw error;
      }
    },

    leave: (runId) => {
      const tail = tails.get(runId);
      if (!tail || tail.ended || !isWriting(runId)) return;
      listening.leave(tail);
      wake(tail);
      // The process that continues the run reads the log first. So ten thousand sleeping runs hold nothing here.
      void writers
        .get(runId)
        ?.settled()
        .then(() => {
          if (tail.left) retire(tail);
        });
    },

    isEnded: async (runId) => {
      if (writers.get(runId)?.isEnding() === true) return true;
      const tail = tails.of(runId);
      await sync.refresh(tail);
      return tail.ended;
    },

    last: async (runId) => {
      const queued = writers.get(runId)?.queuedLast();
      if (queued !== undefined) return queued;
      const tail = tails.of(runId);
      await sync.refresh(tail);
      return tail.last;
    },

    async *follow(runId, after, signal) {
      using held = hold(runId, 1);
      yield* follow.events(held.tail, { after }, signal);
    },

    async *readUpTo(runId, upTo, signal) {
      using held = hold(runId, 1);
      yield* follow.events(held.tail, { after: 0, upTo }, signal);
    },

    end: async (runId, signal) => {
      using held = hold(runId, 0);
      return await follow.end(held.tail, signal);
    },

    // The server removes events by their age.
    expire: () => Promise.resolve(0),
    unended: () => Promise.resolve([]),
    drop: () => Promise.resolve(),

    [Symbol.asyncDispose]: async () => {
      const settled = Promise.all(writers.values().map(async (each) => each.settled()));
      if (client.isConnected()) await settledWithin(settled, closingMs);
      closed.abort(unavailable('the event log is closed'));
      for (const tail of tails.all()) wake(tail);
      for (const tail of tails.inUse()) listening.end(tail);
      await releases?.[Symbol.asyncDispose]();
      await live[Symbol.asyncDispose]();
    },
  };
}

const nothing = (): void => undefined;
