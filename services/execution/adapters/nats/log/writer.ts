import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromUnknown, isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { NatsClient } from '../client/client.ts';
import { createChain, staleError, type ChainOptions } from './chain.ts';
import type { AppendOptions } from '../../../ports/log.ts';
import { mayBeDelayed, endsRun, lastOf, takeBatch, toDrafts, type Entry } from './drafts.ts';

interface WriterOptions extends ChainOptions {
  readonly client: ChainOptions['client'] & Pick<NatsClient, 'connection'>;
  /** Counts the bytes of all runs that wait to be written. Returns false, and counts nothing, when there is no room for them. */
  readonly count: (bytes: number) => boolean;
}

/** Writes one run's events, one frame at a time. */
export interface Writer {
  readonly append: (after: number, batch: EventBatch, options?: AppendOptions) => Promise<void>;
  /** The last number that waits to be written; `undefined` when nothing waits. */
  readonly queuedLast: () => number | undefined;
  /** Whether a last event waits to be written. */
  readonly isEnding: () => boolean;
  /** Puts back what the stream has lost of the run, as far as it is kept here. */
  readonly putBack: () => void;
  /** Resolves when nothing waits any more. */
  readonly settled: () => Promise<void>;
}

/** Events of one run are sent at once after a pause of this length; otherwise they share a frame for so long, in milliseconds. */
const gapMs = 4;
/**
 * How long events that say only how far a run is wait for what follows, in milliseconds: too short to be noticed. Where something follows,
 * that saves a message. A worker that dies within this time has shown nothing of them.
 */
const patientMs = 20;
/** Bound of one frame: well under the largest message of a server. */
const maxFrameBytes = 512 * 1024;
const headRoom = 4096;

export function createWriter(options: WriterOptions): Writer {
  const { client, runId, count } = options;
  const frameBytes = Math.min(maxFrameBytes, (client.connection.info?.max_payload ?? Infinity) - headRoom);
  const entries: Entry[] = [];
  const chain = createChain(options, frameBytes);
  let batch: readonly Entry[] = [];
  let running: Promise<void> | undefined;
  let sentAt = -Infinity;
  let mayBeLost = false;
  /** Whether events were dropped. Later events are refused too, but not because of another worker. */
  let hasDropped = false;
  /** Ends the pause before the next frame, if that is due earlier by now. */
  let hurry: () => void = nothing;

  const isUrgent = (): boolean => {
    let bytes = 0;
    for (const entry of entries) bytes += entry.bytes;
    return bytes >= frameBytes || entries.some(endsRun) || options.closing.aborted;
  };

  /** When the next frame is due, by `performance.now()`. */
  const dueAt = (): number => {
    if (isUrgent()) return 0;
    const [first] = entries;
    const mayWait = entries.every(({ mayWaitUntil }) => mayWaitUntil !== undefined);
    return Math.max(sentAt + gapMs, mayWait ? (first?.mayWaitUntil ?? 0) : 0);
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
    for (const entry of entries.splice(0, next === -1 ? entries.length : next)) entry.done(error);
  };

  const writeNext = async (): Promise<void> => {
    const [first] = entries;
    if (!first) return;
    if (!(await chain.canFollow(first.after))) {
      refuse();
      return;
    }
    batch = takeBatch(entries, frameBytes);
    try {
      await chain.put(toDrafts(batch, frameBytes));
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
          for (const entry of entries.splice(0)) entry.done(fromUnknown(error));
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
        const waits = !isAwaited && mayBeDelayed(events) && { mayWaitUntil: performance.now() + patientMs };
        entries.push({ scope, after, events, bytes, done, ...waits });
        hurry();
        running ??= run();
      });
    },

    queuedLast: () => {
      const last = entries.at(-1) ?? batch.at(-1);
      return last && lastOf(last);
    },

    isEnding: () => entries.some(endsRun) || batch.some(endsRun),

    putBack: () => {
      if (!chain.hasWritten()) return;
      mayBeLost = true;
      running ??= run();
    },

    settled: async () => {
      hurry();
      await running;
    },
  };
}

const nothing = (): void => undefined;

const droppedError = (): Error => unavailable('events were dropped because the event log could not be written');
