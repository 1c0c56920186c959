import { openSqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import { isServiceError, notFound, stale, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { fromOldLines, packEvents, unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal, type RunLog } from '../../ports/log.ts';

const migrations = [
  `CREATE TABLE events (
     run_id TEXT NOT NULL,
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     lines BLOB NOT NULL,
     PRIMARY KEY (run_id, first)
   ) STRICT;
   -- In order of time, as its rowids are: the oldest are the first to go.
   CREATE TABLE ends (
     at INTEGER NOT NULL,
     run_id TEXT NOT NULL
   ) STRICT`,
  `-- Logs without a terminal event, with the time of their first one.
   CREATE TABLE unended (
     run_id TEXT PRIMARY KEY,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   INSERT INTO unended SELECT DISTINCT run_id, 0 FROM events WHERE run_id NOT IN (SELECT run_id FROM ends)`,
  `-- 1: a line of JSON for each event, as rows were written before there was this column. 2: events in parts (event-pack.ts).
   ALTER TABLE events ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE events RENAME COLUMN lines TO bytes`,
];

const layoutOfParts = 2;

/** The live end of one run's log, while it is written or followed. */
interface Tail {
  /** Known once the run has an event. */
  scope: RunScope | undefined;
  last: number;
  /** When the last event was appended, or when the logs were opened. */
  lastAt: number;
  ended: boolean;
  /** The last event, unless it is so large that it is read from the file when it is needed. */
  end: RunEvent | undefined;
  /** Whether the last event was appended, written or not: no event may follow it. */
  closed: boolean;
  /** Set when its events could not be written. */
  failure: ServiceError | undefined;
  /** The newest events, without a gap up to `last`. */
  recent: RunEvent[];
  /** Their bytes. */
  recentBytes: number;
  /** Appended and not part of a write yet. */
  pending: RunEvent[];
  /** Their bytes. */
  pendingBytes: number;
  /** The events that are being written; they stay until the file has them. */
  batch: Batch | undefined;
  /** Whether a write is under way, or waits to be tried again. */
  scheduled: boolean;
  /** When the waiting write was first refused. */
  refusedAt: number | undefined;
  /** Settles when the pending events are written. */
  stored: PromiseWithResolvers<void> | undefined;
  /** Followers, and those that wait for the end alone. */
  listeners: number;
  /** Listeners that read every event. */
  followers: number;
  writing: boolean;
  readonly waiting: Set<() => void>;
}

/** Events of one run that are written together. */
interface Batch extends EventBatch {
  readonly bytes: number;
  /** Whether the last of them ends the log. */
  readonly isLast: boolean;
  readonly stored: Tail['stored'];
}

/** How long events without a follower may wait to be written together, in milliseconds. */
const holdMs = 20;
/** Newest events of a live run that are kept in memory; a follower further behind reads the file. */
const recentEvents = 1024;
/** Bound of these events in bytes. They stay in memory until the slowest follower has read them. */
const maxRecentBytes = 512 * 1024;
/** Milliseconds until a write that the file refused is tried again, the first time and at most. */
const firstPauseMs = 250;
const longestPauseMs = 5000;
/** How long a run's events wait for the file, in milliseconds: as long as its steps wait for the record. */
const usualWaitMs = 15 * 60_000;
/** Bound of all events that wait for the file, in bytes. A run that exceeds it is published from the record at its end. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Rows that a follower reads at once, and their bound in bytes; a larger row is read alone. */
const rowsAtOnce = 64;
const readBytes = 512 * 1024;

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
  const db = openSqlite({ path, durability: 'normal', migrations, health });
  const { prepare, prepareWrite } = db;
  const insert = prepareWrite('INSERT INTO events (run_id, first, last, bytes, layout) VALUES (?, ?, ?, ?, ?)');
  const insertUnended = prepareWrite('INSERT OR IGNORE INTO unended (run_id, at) VALUES (?, ?)');
  const openedAt = Date.now();
  const tails = new Map<string, Tail>();
  /** Live runs without followers, whose events wait to be written. */
  let unfollowed = new Map<string, Tail>();
  let timer: NodeJS.Timeout | undefined;
  /** Live runs whose events the file has refused, in the order in which they are tried again. */
  let refused = new Map<string, Tail>();
  let retry: NodeJS.Timeout | undefined;
  let pauseMs = firstPauseMs;
  let waitingBytes = 0;
  let closing = false;
  const underWay = new Set<Promise<boolean>>();

  const storedLast = (runId: string): number =>
    Number(prepare('SELECT last FROM events WHERE run_id = ? ORDER BY first DESC LIMIT 1').get(runId)?.['last'] ?? 0);

  const storedEnd = (runId: string): RunEvent | undefined => {
    const row = prepare('SELECT first, bytes, layout FROM events WHERE run_id = ? ORDER BY first DESC LIMIT 1').get(
      runId,
    );
    const event = row && toBatch(row).events.at(-1);
    return event && isTerminal(event) ? event : undefined;
  };

  const tailOf = (runId: string): Tail => {
    const known = tails.get(runId);
    if (known) return known;
    const end = storedEnd(runId);
    const tail: Tail = {
      scope: undefined,
      last: end?.seq ?? storedLast(runId),
      lastAt: openedAt,
      ended: end !== undefined,
      end: kept(end),
      closed: end !== undefined,
      failure: undefined,
      recent: [],
      recentBytes: 0,
      pending: [],
      pendingBytes: 0,
      batch: undefined,
      scheduled: false,
      refusedAt: undefined,
      stored: undefined,
      listeners: 0,
      followers: 0,
      writing: false,
      waiting: new Set(),
    };
    tails.set(runId, tail);
    return tail;
  };

  const release = (runId: string, tail: Tail): void => {
    if (tail.listeners === 0 && !tail.writing && tail.pending.length === 0 && (tail.ended || tail.last === 0))
      tails.delete(runId);
  };

  const takeBatch = (tail: Tail, scope: RunScope): Batch => {
    // No event is appended to a closed log: the end is the last of the pending events.
    const batch = {
      ...{ scope, events: tail.pending, stored: tail.stored },
      ...{ bytes: tail.pendingBytes, isLast: tail.closed },
    };
    tail.pending = [];
    tail.pendingBytes = 0;
    tail.stored = undefined;
    return batch;
  };

  const writeRow = (runId: string, batch: Batch): void => {
    const first = batch.events[0]?.seq ?? 0;
    const last = batch.events.at(-1)?.seq ?? 0;
    insert.run(runId, first, last, packEvents(batch), layoutOfParts);
    if (batch.isLast) {
      prepare('INSERT INTO ends (at, run_id) VALUES (?, ?)').run(Date.now(), runId);
      prepare('DELETE FROM unended WHERE run_id = ?').run(runId);
    } else insertUnended.run(runId, Date.now());
  };

  const publish = (runId: string, tail: Tail): void => {
    const { events = [], bytes = 0, isLast = false, stored } = tail.batch ?? {};
    tail.batch = undefined;
    tail.scheduled = false;
    tail.refusedAt = undefined;
    waitingBytes -= bytes;
    remember(tail, events, bytes);
    if (isLast) {
      tail.ended = true;
      tail.end = kept(events.at(-1));
    }
    tail.writing = tail.pending.length > 0;
    for (const wake of tail.waiting) wake();
    stored?.resolve();
    if (tail.writing) writeSoon(runId, tail);
    else release(runId, tail);
  };

  /** Ends a log whose events could not be written, for its followers and its worker. No follower has seen these events. */
  const abandon = (runId: string, tail: Tail, error: unknown): ServiceError => {
    const failure = unavailable('the event log cannot be written right now', error);
    tail.failure = failure;
    waitingBytes -= tail.pendingBytes + (tail.batch?.bytes ?? 0);
    if (tails.get(runId) === tail) tails.delete(runId);
    refused.delete(runId);
    unfollowed.delete(runId);
    for (const wake of tail.waiting) wake();
    tail.batch?.stored?.reject(failure);
    tail.stored?.reject(failure);
    tail.batch = undefined;
    tail.pending = [];
    tail.pendingBytes = 0;
    return failure;
  };

  const tryAgainLater = (runId: string, tail: Tail, error: unknown): void => {
    tail.refusedAt ??= performance.now();
    const isOver = closing || performance.now() - tail.refusedAt > waitMs;
    if (isOver || !isServiceError(error, 'Unavailable')) {
      abandon(runId, tail, error);
      return;
    }
    refused.set(runId, tail);
    setRetry();
  };

  const setRetry = (): void => {
    retry ??= setTimeout(() => void tryAgain(), pauseMs);
  };

  /** Resolves with whether the file accepts writes. A write that it refuses for good does not mean that it refuses others. */
  const write = (runId: string, tail: Tail): Promise<boolean> => {
    const written = db
      .write(() => {
        if (tail.failure) return;
        const { scope } = tail;
        if (!scope) return;
        tail.batch ??= takeBatch(tail, scope);
        writeRow(runId, tail.batch);
      })
      .then(
        () => {
          if (!tail.failure) publish(runId, tail);
          return true;
        },
        (error: unknown) => {
          if (!tail.failure) tryAgainLater(runId, tail, error);
          return !isServiceError(error, 'Unavailable');
        },
      )
      .finally(() => underWay.delete(written));
    underWay.add(written);
    return written;
  };

  /** Tries the events of one run first, another one each time. When the file accepts them, those of the other runs follow. */
  const tryAgain = async (): Promise<void> => {
    retry = undefined;
    const [first] = refused;
    if (!first) return;
    refused.delete(first[0]);
    if (!(await write(...first))) {
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      // The events of this run may have waited too long; the others are still tried again.
      if (refused.size > 0) setRetry();
      return;
    }
    pauseMs = firstPauseMs;
    writeRefused();
  };

  const writeRefused = (): void => {
    const rest = refused;
    refused = new Map();
    for (const [runId, tail] of rest) void write(runId, tail);
  };

  const writeSoon = (runId: string, tail: Tail): void => {
    unfollowed.delete(runId);
    if (tail.pending.length === 0 || tail.scheduled) return;
    tail.scheduled = true;
    void write(runId, tail);
  };

  const writeHeld = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const waiting = unfollowed;
    unfollowed = new Map();
    for (const [runId, tail] of waiting) writeSoon(runId, tail);
  };

  /** Events of a run without followers wait, so that several steps share a row, and several runs a transaction. */
  const hold = (runId: string, tail: Tail): void => {
    unfollowed.set(runId, tail);
    timer ??= setTimeout(writeHeld, holdMs);
  };

  const readStored = (runId: string, after: number): EventBatch | undefined => {
    const events: RunEvent[] = [];
    let scope: RunScope | undefined;
    let bytes = 0;
    const rows = prepare(
      'SELECT first, bytes, layout FROM events WHERE run_id = ? AND last > ? ORDER BY first LIMIT ?',
    );
    for (const row of rows.iterate(runId, after, rowsAtOnce)) {
      const batch = toBatch(row);
      ({ scope } = batch);
      for (const event of batch.events) if (event.seq > after) events.push(event);
      bytes += (row['bytes'] as Uint8Array).byteLength;
      if (bytes >= readBytes) break;
    }
    return scope && { scope, events };
  };

  /** The events above `after` that a follower may see now: the written ones. */
  const available = (runId: string, tail: Tail, after: number): EventBatch | undefined => {
    const { scope, recent } = tail;
    const oldest = recent[0]?.seq;
    if (!scope || oldest === undefined || oldest > after + 1) return readStored(runId, after);
    return { scope, events: recent.slice(after + 1 - oldest) };
  };

  return {
    append: async (scope, after, events) => {
      const { runId } = scope;
      const tail = tailOf(runId);
      if (tail.last !== after || tail.closed)
        throw stale(`the log of run "${runId}" has been continued by another worker`);
      const end = events.at(-1);
      tail.scope ??= scope;
      tail.last = end?.seq ?? after;
      tail.lastAt = Date.now();
      tail.closed = end !== undefined && isTerminal(end);
      tail.writing = true;
      tail.pending.push(...events);
      const bytes = bytesOf(events);
      tail.pendingBytes += bytes;
      waitingBytes += bytes;
      tail.stored ??= Promise.withResolvers();
      const { promise } = tail.stored;
      if (refused.size > 0 && waitingBytes > maxWaitingBytes) {
        abandon(runId, tail, new Error('too many events wait to be written'));
        return promise;
      }
      if (tail.followers > 0 || tail.closed) writeSoon(runId, tail);
      else hold(runId, tail);
      return promise;
    },

    isEnded: (runId) => Promise.resolve(tails.get(runId)?.closed ?? storedEnd(runId) !== undefined),

    last: (runId) => Promise.resolve(tails.get(runId)?.last ?? storedLast(runId)),

    async *follow(runId, after, signal) {
      const tail = tailOf(runId);
      tail.listeners++;
      tail.followers++;
      writeSoon(runId, tail);
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
            await changed(tail, signal);
          }
        }
      } finally {
        tail.listeners--;
        tail.followers--;
        release(runId, tail);
      }
    },

    end: async (runId, signal) => {
      const tail = tailOf(runId);
      tail.listeners++;
      try {
        while (!tail.ended) await changed(tail, signal);
        const end = tail.end ?? storedEnd(runId);
        if (!end) throw notFound(`the events of run "${runId}" are no longer kept`);
        return end;
      } finally {
        tail.listeners--;
        release(runId, tail);
      }
    },

    expire: (time, limit) =>
      db.write(() => {
        const oldest = prepare('SELECT rowid, at, run_id FROM ends ORDER BY rowid LIMIT ?').all(limit);
        const ends = oldest.filter(({ at }) => Number(at) < time);
        for (const { rowid, run_id: runId } of ends) {
          prepare('DELETE FROM events WHERE run_id = ?').run(runId as string);
          prepare('DELETE FROM ends WHERE rowid = ?').run(rowid as number);
        }
        return ends.length;
      }),

    unended: (time) => {
      const rows = prepare('SELECT run_id, at FROM unended').all() as { run_id: string; at: number }[];
      const isOld = ({ run_id: runId, at }: { run_id: string; at: number }): boolean =>
        Math.max(at, tails.get(runId)?.lastAt ?? openedAt) < time && !isInUse(tails.get(runId));
      return Promise.resolve(rows.filter(isOld).map(({ run_id: runId }) => runId));
    },

    drop: (runIds) =>
      db.write(() => {
        for (const runId of runIds) {
          if (isInUse(tails.get(runId))) continue;
          tails.delete(runId);
          prepare('DELETE FROM events WHERE run_id = ?').run(runId);
          prepare('DELETE FROM unended WHERE run_id = ?').run(runId);
        }
      }),

    [Symbol.asyncDispose]: async () => {
      closing = true;
      clearTimeout(retry);
      writeHeld();
      writeRefused();
      while (underWay.size > 0) await Promise.all(underWay);
      db[Symbol.dispose]();
    },
  };
}

const isInUse = (tail: Tail | undefined): boolean =>
  tail !== undefined && (tail.listeners > 0 || tail.writing || tail.pending.length > 0);

const bytesOf = (events: readonly RunEvent[]): number => events.reduce((sum, event) => sum + bytesOfEvent(event), 0);

const kept = (event: RunEvent | undefined): RunEvent | undefined =>
  event && bytesOfEvent(event) <= maxRecentBytes ? event : undefined;

/** Adds the newest events, and drops the oldest ones above the bounds. */
function remember(tail: Tail, events: readonly RunEvent[], newBytes: number): void {
  const all = tail.recent.length === 0 ? [...events] : tail.recent.concat(events);
  let bytes = tail.recentBytes + newBytes;
  let first = 0;
  for (; all.length - first > recentEvents || bytes > maxRecentBytes; first++) {
    const oldest = all[first];
    bytes -= oldest ? bytesOfEvent(oldest) : 0;
  }
  tail.recent = first === 0 ? all : all.slice(first);
  tail.recentBytes = bytes;
}

function refuseFailed({ failure }: Tail): void {
  if (failure) throw failure;
}

/** Resolves when the tail has new events. @throws the tail's failure, or the signal's reason when it fires first. */
async function changed(tail: Tail, signal: AbortSignal): Promise<void> {
  refuseFailed(tail);
  await new Promise<void>((resolve, reject) => {
    signal.throwIfAborted();
    const wake = (): void => {
      tail.waiting.delete(wake);
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const stop = (): void => {
      tail.waiting.delete(wake);
      reject(signal.reason as Error);
    };
    tail.waiting.add(wake);
    signal.addEventListener('abort', stop, { once: true });
  });
  refuseFailed(tail);
}

const toBatch = ({ first, bytes, layout }: Readonly<Record<string, unknown>>): EventBatch =>
  (layout === layoutOfParts ? unpackEvents : fromOldLines)(first as number, bytes as Uint8Array);
