import { openSqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import { notFound } from '@agent-workflow/kit/errors';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import type { RunLog } from '../../ports/log.ts';
import { Compressor } from './compressor.ts';
import { migrations, openStoredLogs, type LogPosition } from './stored.ts';
import { LogWriter, Tail } from './writer.ts';

/** How long a run's events wait for the file, in milliseconds: as long as its steps wait for the record. */
const usualWaitMs = 15 * 60_000;

/** Most compressed logs are smaller than half a page. */
const pageBytes = 1024;

interface SqliteRunLogOptions extends Pick<SqliteOptions, 'path' | 'health'> {
  /** How long a run's events wait for the file, in milliseconds; 15 minutes unless given. */
  readonly waitMs?: number;
}

/**
 * Opens the event logs in one SQLite file (`:memory:` keeps nothing). Events of one tick share a transaction, and those of
 * one run a row. Writes that the file refuses for now are tried again, each run's events by themselves. Followers wait meanwhile,
 * and the log continues without a gap. A log ends only by a write that is refused for good, or for 15 minutes.
 */
export function openSqliteRunLog({ path, health, waitMs = usualWaitMs }: SqliteRunLogOptions): RunLog {
  const db = openSqlite({ path, durability: 'normal', migrations, pageBytes, health });
  const stored = openStoredLogs(db);
  const compressor = new Compressor(db);
  const openedAt = Date.now();
  const tails = createShortLivedMap<string, Tail>();
  const left = new LeftLogs();

  const beginTail = (runId: string, position: LogPosition): Tail => {
    const tail = new Tail(position, openedAt);
    tails.set(runId, tail);
    return tail;
  };
  const tailOf = (runId: string): Tail => tails.get(runId) ?? beginTail(runId, stored.positionOf(runId));

  const leave = (runId: string): void => {
    tails.delete(runId);
    left.add(runId);
  };

  const release = (runId: string, tail: Tail): void => {
    if (tail.listeners === 0 && !tail.writing && tail.pending.length === 0 && (tail.ended || tail.last === 0))
      leave(runId);
  };

  const writer = new LogWriter({
    write: db.write,
    put: stored.put,
    waitMs,
    onWritten: release,
    onPlainEnd: () => compressor.note(),
    onAbandoned: (runId, tail) => {
      if (tails.get(runId) === tail) leave(runId);
    },
  });

  /** The events above `after` that a follower may see now: the written ones. */
  const available = (runId: string, tail: Tail, after: number): EventBatch | undefined => {
    const { scope, recent } = tail;
    const oldest = recent[0]?.seq;
    if (!scope || oldest === undefined || oldest > after + 1) return stored.read(runId, after);
    return { scope, events: recent.slice(after + 1 - oldest) };
  };

  async function* follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<EventBatch> {
    const tail = tailOf(runId);
    tail.listeners++;
    tail.followers++;
    writer.writeSoon(runId, tail);
    try {
      for (let at = after; ;) {
        const batch = available(runId, tail, at);
        const end = batch?.events.at(-1);
        if (batch && end) {
          at = end.seq;
          yield batch;
          if (tail.ended && at >= tail.last) return;
        } else if (tail.ended) {
          return;
        } else {
          await tail.changed(signal);
        }
      }
    } finally {
      tail.listeners--;
      tail.followers--;
      release(runId, tail);
    }
  }

  return {
    // The logs of all agents are in one file.
    setAgent: () => undefined,
    // Only this process stores events here. What it has stored since the moment is in a log that it has in use, or has left since.
    moment: () => left.count,
    leave: () => undefined,
    beganAfter: (runId, moment) => {
      if (!tails.has(runId) && !left.mayHold(runId, moment)) beginTail(runId, nothingStored);
    },

    append: async (scope, after, events, options) =>
      writer.append(tailOf(scope.runId), { scope, after, events }, options),

    canWrite: () => writer.canWrite(),

    isEnded: (runId) => Promise.resolve(tails.get(runId)?.closed ?? stored.end(runId) !== undefined),

    last: (runId) => Promise.resolve(tails.get(runId)?.last ?? stored.last(runId)),

    follow,

    async *readUpTo(runId, upTo, signal) {
      if (upTo === 0) return;
      for await (const batch of follow(runId, 0, signal)) {
        yield batch;
        if ((batch.events.at(-1)?.seq ?? 0) >= upTo) return;
      }
    },

    end: async (runId, signal) => {
      const tail = tailOf(runId);
      tail.listeners++;
      try {
        while (!tail.ended && !tail.end) await tail.changed(signal);
        const end = tail.end ?? stored.end(runId);
        if (!end) throw notFound(`the events of run "${runId}" are no longer kept`);
        return end;
      } finally {
        tail.listeners--;
        release(runId, tail);
      }
    },

    expire: stored.expire,

    unended: (time) => {
      const isOld = ({ runId, at }: { readonly runId: string; readonly at: number }): boolean =>
        Math.max(at, tails.get(runId)?.lastAt ?? openedAt) < time && !tails.get(runId)?.isInUse;
      return Promise.resolve(
        stored
          .unended()
          .filter(isOld)
          .map(({ runId }) => runId),
      );
    },

    drop: (runIds) =>
      db.write(() => {
        for (const runId of runIds) {
          if (tails.get(runId)?.isInUse) continue;
          tails.delete(runId);
          stored.drop(runId);
        }
      }),

    [Symbol.asyncDispose]: async () => {
      await writer[Symbol.asyncDispose]();
      await compressor[Symbol.asyncDispose]();
      db[Symbol.dispose]();
    },
  };
}

/** How many of the logs that were left last are remembered by their runs. */
const mostLeft = 1024;

/** The logs that this process had in use and has no longer. */
class LeftLogs {
  /** The newest comes last. */
  readonly #latest = new Set<string>();
  /** How many there have been. */
  count = 0;

  add(runId: string): void {
    this.count += 1;
    this.#latest.delete(runId);
    this.#latest.add(runId);
    if (this.#latest.size <= mostLeft) return;
    const [oldest = ''] = this.#latest;
    this.#latest.delete(oldest);
  }

  /** Whether the log of the run may have been left since there were `since` of them. */
  mayHold(runId: string, since: number): boolean {
    return this.#latest.has(runId) || this.count - since > mostLeft;
  }
}

const nothingStored: LogPosition = { last: 0, end: undefined };
