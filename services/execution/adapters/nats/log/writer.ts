import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromUnknown, isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { createChain, staleError, type ChainOptions } from './chain.ts';
import type { AppendOptions } from '../../../ports/log.ts';
import { areProgress, endsRun, lastOf, takeBatch, toDrafts, type Entry } from './drafts.ts';
import type { Layout } from './frame.ts';

interface WriterOptions extends ChainOptions {
  /** The layout of frames from now on. */
  readonly layout: () => Layout;
  /** Whether somebody waits here for the end of the run, and nobody here follows its events. */
  readonly isEndAwaited: () => boolean;
  /** Counts the bytes of all runs that wait to be written. Returns false, and counts nothing, when there is no room for them. */
  readonly count: (bytes: number) => boolean;
}

/** Writes one run's events, one frame at a time. */
export interface Writer {
  readonly append: (after: number, batch: EventBatch, options?: AppendOptions) => Promise<void>;
  /** The last number that waits to be written; `undefined` when nothing waits. */
  readonly queuedLast: () => number | undefined;
  /** Whether the last frame of the log is one of this writer, as far as it knows. */
  readonly hasWritten: () => boolean;
  /** Whether a last event waits to be written. */
  readonly isEnding: () => boolean;
  /** Puts back what the stream has lost of the run, as far as it is kept here. */
  readonly putBack: () => void;
  /** Sends what waits as soon as it is due by now: somebody began to follow. */
  readonly hurry: () => void;
  /** Resolves when nothing waits any more. */
  readonly settled: () => Promise<void>;
}

/** Events of one run are sent at once after a pause of this length; otherwise they share a frame for so long, in milliseconds. */
const gapMs = 4;
/**
 * How long events that say only how far a run is wait for what follows, in milliseconds: too short to be noticed. Where something follows,
 * that saves a message. A worker that dies within this time has shown nothing of them.
 */
const progressMs = 20;
/**
 * The same for all events of a run as long as those here wait for its end alone, as an invoke does: most such runs then need one message.
 * A follower of such a run at another replica sees its events in steps of this length.
 */
const endAwaitedMs = 100;
/** Bound of one frame: well under the largest message of a server. */
const maxFrameBytes = 512 * 1024;
const headRoom = 4096;

export function createWriter(options: WriterOptions): Writer {
  const { client, runId, count } = options;
  const frameBytes = Math.min(maxFrameBytes, (client.connection.info?.max_payload ?? Infinity) - headRoom);
  const entries: Entry[] = [];
  const chain = createChain(options, frameBytes);
  /** Of the entries, in bytes. */
  let waitingBytes = 0;
  let batch: readonly Entry[] = [];
  let running: Promise<void> | undefined;
  let sentAt = -Infinity;
  let mayBeLost = false;
  /** Whether events were dropped. Later events are refused too, but not because of another worker. */
  let hasDropped = false;
  /** Ends the pause before the next frame, if that is due earlier by now. */
  let hurry: () => void = nothing;

  const isUrgent = (): boolean => waitingBytes >= frameBytes || entries.some(endsRun) || options.closing.aborted;

  /** What `take` removes from the entries. */
  const taken = (take: () => readonly Entry[]): readonly Entry[] => {
    const removed = take();
    for (const { bytes } of removed) waitingBytes -= bytes;
    return removed;
  };

  /** When the next frame is due, by `performance.now()`. */
  const dueAt = (): number => {
    if (isUrgent()) return 0;
    const [first] = entries;
    if (!first || entries.some(({ isAwaited }) => isAwaited)) return sentAt + gapMs;
    if (options.isEndAwaited()) return Math.max(sentAt + gapMs, first.addedAt + endAwaitedMs);
    const areAllProgress = entries.every(({ events }) => areProgress(events));
    return Math.max(sentAt + gapMs, areAllProgress ? first.addedAt + progressMs : 0);
  };

  /** Waits for events of the same turn of the event loop, and until the next frame is due. */
  const gather = async (): Promise<void> => {
    await nextTurn();
    for (let due = dueAt(); due > performance.now(); due = dueAt()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, due - performance.now()));
        hurry = () => {
          if (dueAt() >= due) return;
          clearTimeout(timer);
          resolve();
        };
      });
      hurry = nothing;
    }
  };

  /** Refuses the entries that do not follow the log's end, up to the first one that does. */
  const refuse = (): void => {
    const next = entries.findIndex((entry) => chain.isAt(entry.after));
    const error = hasDropped ? droppedError() : staleError(runId);
    for (const entry of taken(() => entries.splice(0, next === -1 ? entries.length : next))) entry.done(error);
  };

  const writeNext = async (): Promise<void> => {
    const [first] = entries;
    if (!first) return;
    if (!(await chain.canFollow(first.after))) {
      refuse();
      return;
    }
    batch = taken(() => takeBatch(entries, frameBytes));
    try {
      await chain.put(toDrafts(batch, frameBytes, options.layout()));
    } catch (error) {
      hasDropped ||= !isServiceError(error, 'Stale');
      for (const entry of batch) entry.done(fromUnknown(error));
    } finally {
      batch = [];
      sentAt = performance.now();
    }
  };

  const run = async (): Promise<void> => {
    while (entries.length > 0 || mayBeLost) {
      if (mayBeLost) {
        mayBeLost = false;
        await chain.putBack().catch(nothing);
      } else {
        await gather();
        await writeNext().catch((error: unknown) => {
          for (const entry of taken(() => entries.splice(0))) entry.done(fromUnknown(error));
        });
      }
    }
    running = undefined;
  };

  return {
    append: async (after, { scope, events }, { isAwaited = true } = {}) => {
      const bytes = events.reduce((sum, event) => sum + bytesOfEvent(event), 0);
      if (!count(bytes)) {
        hasDropped = true;
        throw droppedError();
      }
      await new Promise<void>((resolve, reject) => {
        let open = true;
        const done = (error?: Error): void => {
          if (open) count(-bytes);
          open = false;
          if (error === undefined) resolve();
          else reject(error);
        };
        const entry = { scope, after, events, bytes, isAwaited, addedAt: performance.now(), done };
        entries.push(entry);
        waitingBytes += bytes;
        // While only the end is awaited many appends come before the frame is due, and each would look at all of them.
        if (isAwaited || endsRun(entry) || waitingBytes >= frameBytes || !options.isEndAwaited()) hurry();
        running ??= run();
      });
    },

    queuedLast: () => {
      const last = entries.at(-1) ?? batch.at(-1);
      return last && lastOf(last);
    },

    hasWritten: chain.hasWritten,

    isEnding: () => entries.some(endsRun) || batch.some(endsRun),

    putBack: () => {
      if (!chain.hasWritten()) return;
      mayBeLost = true;
      running ??= run();
    },

    hurry: () => hurry(),

    settled: async () => {
      hurry();
      await running;
    },
  };
}

const nothing = (): void => undefined;

const droppedError = (): Error => unavailable('events were dropped because the event log could not be written');
