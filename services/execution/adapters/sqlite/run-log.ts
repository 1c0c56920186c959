import { openSqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import { isServiceError, notFound, stale, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { fromOldLines, packEvents, unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal, type RunLog } from '../../ports/port.ts';

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

/** The live end of one run's log, while somebody writes or follows it. */
interface Tail {
  /** Known once the run has an event. */
  scope: RunScope | undefined;
  last: number;
  /** When the last event was appended, or when the logs were opened. */
  lastAt: number;
  ended: boolean;
  /** The last event, unless it weighs so much that it is better read when it is asked for. */
  end: RunEvent | undefined;
  /** Whether the last event was appended, written or not: nothing comes behind it. */
  closed: boolean;
  /** Set when its events could not be written. */
  failure: ServiceError | undefined;
  /** The newest events, without a gap up to `last`. */
  recent: RunEvent[];
  /** What they weigh. */
  recentBytes: number;
  /** Appended and not yet taken into a write. */
  pending: RunEvent[];
  /** What is being written; it stays until the file has taken it. */
  batch: Batch | undefined;
  /** Whether a write of it is under way, or waits to be tried again. */
  scheduled: boolean;
  /** When the write that waits was first refused. */
  refusedAt: number | undefined;
  /** Settles when what is pending has been written. */
  stored: PromiseWithResolvers<void> | undefined;
  /** Whoever wants to hear of the run, also of its end alone. */
  listeners: number;
  /** Those of them that want every event. */
  followers: number;
  writing: boolean;
  readonly waiting: Set<() => void>;
}

/** Events of one run that are written together. */
interface Batch extends EventBatch {
  readonly stored: Tail['stored'];
}

/** How long events that nobody follows may wait to be written together, in milliseconds. */
const holdMs = 20;
/** Newest events of a live run that are kept in memory; a follower further behind reads the file. */
const recentEvents = 1024;
/** And what they may weigh: it is held for as long as the slowest follower takes. */
const maxRecentBytes = 512 * 1024;
/** Milliseconds until a write that the file refused is tried again, the first time and at most. */
const firstPauseMs = 250;
const longestPauseMs = 5000;
/** How long a run's events wait for the file, in milliseconds: as long as its steps wait for the record. */
const usualWaitMs = 15 * 60_000;
/** What all events may weigh together that wait for the file: a run that adds to more is told from the record at its end. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Rows that a follower reads at once, and what they may weigh together: a heavier one comes alone. */
const rowsAtOnce = 64;
const readBytes = 512 * 1024;

export interface SqliteRunLogOptions extends Pick<SqliteOptions, 'path' | 'health'> {
  /** How long a run's events wait for the file, in milliseconds; 15 minutes unless given. */
  readonly waitMs?: number;
}

/**
 * Opens the event logs in one SQLite file (`:memory:` keeps nothing). Events of one tick share a transaction, and those of
 * one run a row. What the file does not take for now is tried again, each run's events by themselves: followers wait meanwhile, and
 * the log goes on where it stood. Only what it refuses for good, or for 15 minutes, ends a log.
 */
export function openSqliteRunLog({ path, health, waitMs = usualWaitMs }: SqliteRunLogOptions): RunLog {
  const db = openSqlite({ path, durability: 'normal', migrations, health });
  const { prepare } = db;
  const openedAt = Date.now();
  const tails = new Map<string, Tail>();
  /** Live runs that nobody follows, whose events wait to be written. */
  let held = new Map<string, Tail>();
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
    const batch = { scope, events: tail.pending, stored: tail.stored };
    tail.pending = [];
    tail.stored = undefined;
    return batch;
  };

  const writeRow = (runId: string, batch: Batch): void => {
    const first = batch.events[0]?.seq ?? 0;
    const end = batch.events.at(-1);
    prepare('INSERT INTO events (run_id, first, last, bytes, layout) VALUES (?, ?, ?, ?, ?)').run(
      runId,
      first,
      end?.seq ?? 0,
      packEvents(batch),
      layoutOfParts,
    );
    if (end && isTerminal(end)) {
      prepare('INSERT INTO ends (at, run_id) VALUES (?, ?)').run(Date.now(), runId);
      prepare('DELETE FROM unended WHERE run_id = ?').run(runId);
    } else prepare('INSERT OR IGNORE INTO unended (run_id, at) VALUES (?, ?)').run(runId, Date.now());
  };

  const publish = (runId: string, tail: Tail): void => {
    const { events = [], stored } = tail.batch ?? {};
    tail.batch = undefined;
    tail.scheduled = false;
    tail.refusedAt = undefined;
    waitingBytes -= bytesOf(events);
    const end = events.at(-1);
    remember(tail, events);
    if (end && isTerminal(end)) {
      tail.ended = true;
      tail.end = kept(end);
    }
    tail.writing = tail.pending.length > 0;
    for (const wake of tail.waiting) wake();
    stored?.resolve();
    if (tail.writing) writeSoon(runId, tail);
    else release(runId, tail);
  };

  /** What could not be written was shown to nobody: the run's log ends here, for whoever follows it and for its worker. */
  const abandon = (runId: string, tail: Tail, error: unknown): ServiceError => {
    const failure = unavailable('the event log cannot be written right now', error);
    tail.failure = failure;
    waitingBytes -= bytesOf(tail.pending) + bytesOf(tail.batch?.events ?? []);
    if (tails.get(runId) === tail) tails.delete(runId);
    refused.delete(runId);
    held.delete(runId);
    for (const wake of tail.waiting) wake();
    tail.batch?.stored?.reject(failure);
    tail.stored?.reject(failure);
    tail.batch = undefined;
    tail.pending = [];
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

  /** Gives whether the file takes writes: one that it refuses for good, it refuses for its own reasons. */
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

  /** One run's events find out whether the file takes writes again; then come the others. The first of them is another each time. */
  const tryAgain = async (): Promise<void> => {
    retry = undefined;
    const [first] = refused;
    if (!first) return;
    refused.delete(first[0]);
    if (!(await write(...first))) {
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      // Events that have waited too long are not tried again; the others still are.
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
    held.delete(runId);
    if (tail.pending.length === 0 || tail.scheduled) return;
    tail.scheduled = true;
    void write(runId, tail);
  };

  const writeHeld = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const waiting = held;
    held = new Map();
    for (const [runId, tail] of waiting) writeSoon(runId, tail);
  };

  /** A step of a run that nobody watches is in no hurry: many of them share a row, and a transaction. */
  const hold = (runId: string, tail: Tail): void => {
    held.set(runId, tail);
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

  /** What a follower at `after` can be given now; what is not published yet is not seen. */
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
      if (tail.last !== after || tail.closed) throw stale(`the log of run "${runId}" has gone on without this worker`);
      const end = events.at(-1);
      tail.scope ??= scope;
      tail.last = end?.seq ?? after;
      tail.lastAt = Date.now();
      tail.closed = end !== undefined && isTerminal(end);
      tail.writing = true;
      tail.pending.push(...events);
      waitingBytes += bytesOf(events);
      tail.stored ??= Promise.withResolvers();
      const { promise } = tail.stored;
      if (refused.size > 0 && waitingBytes > maxWaitingBytes) {
        abandon(runId, tail, new Error('too many events wait for the file'));
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
            if (isTerminal(end)) return;
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
        if (!end) throw notFound(`the events of run "${runId}" are kept no more`);
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
        Math.max(at, tails.get(runId)?.lastAt ?? openedAt) < time && !isUsed(tails.get(runId));
      return Promise.resolve(rows.filter(isOld).map(({ run_id: runId }) => runId));
    },

    drop: (runIds) =>
      db.write(() => {
        for (const runId of runIds) {
          if (isUsed(tails.get(runId))) continue;
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

const isUsed = (tail: Tail | undefined): boolean =>
  tail !== undefined && (tail.listeners > 0 || tail.writing || tail.pending.length > 0);

const bytesOf = (events: readonly RunEvent[]): number => events.reduce((sum, event) => sum + bytesOfEvent(event), 0);

const kept = (event: RunEvent | undefined): RunEvent | undefined =>
  event && bytesOfEvent(event) <= maxRecentBytes ? event : undefined;

/** Adds the newest events and forgets the oldest that are too many or weigh too much. */
function remember(tail: Tail, events: readonly RunEvent[]): void {
  const all = tail.recent.length === 0 ? [...events] : tail.recent.concat(events);
  let bytes = tail.recentBytes + bytesOf(events);
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

/** Resolves when the tail has published more; rejects when it cannot, or with the signal's reason when that comes first. */
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
