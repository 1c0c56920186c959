import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import { packEvents, unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { isTerminal } from '../../ports/log.ts';
import { beginsLog } from '../../ports/log-numbers.ts';
import { deflateSmall, inflate, inlineBytes } from './deflate.ts';

/** The schema: the first migration makes it, and a change of it is one more. */
export const migrations: readonly string[] = [
  `-- The logs that have not ended, and those that have and are not compressed: events in parts (event-pack.ts).
   CREATE TABLE events (
     run_id TEXT NOT NULL,
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     bytes BLOB NOT NULL,
     PRIMARY KEY (run_id, first)
   ) STRICT;
   -- Logs without a terminal event, with the time of their first one.
   CREATE TABLE unended (
     run_id TEXT PRIMARY KEY,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   -- Logs that have ended, and of which rows are still in 'events'; those that are left for good are not compressed.
   -- In order of time, as its rowids are: the oldest are the first to go.
   CREATE TABLE ends (
     at INTEGER NOT NULL,
     run_id TEXT NOT NULL,
     is_left INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX ends_to_compress ON ends (is_left) WHERE is_left = 0;
   -- The logs that have ended, compressed; in order of time, for the id is 1024 times the end's, in milliseconds since 1970, and a count.
   CREATE TABLE ended (
     id INTEGER PRIMARY KEY,
     run_id TEXT NOT NULL,
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     bytes BLOB NOT NULL
   ) STRICT;
   -- The time and the count in an id of ours: half of it, and no two ids have the same.
   CREATE INDEX ended_by_run ON ended (substr(run_id, 1, 18))`,
];

/** Rows that a follower reads at once, and their bound in bytes; a larger row is read alone. */
const rowsAtOnce = 64;
const readBytes = 512 * 1024;

/** One row: consecutive events of one log. */
export interface EventRow {
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

/** How far a log goes. */
export interface LogPosition {
  /** The last number; 0 without a row. */
  readonly last: number;
  /** The terminal event, if it is there. */
  readonly end: RunEvent | undefined;
}

/** The event logs as the file has them. */
export interface StoredLogs {
  /**
   * Adds events to a log, inside of `write` of the file; `isLast`: they end it. Gives whether the log has ended and is not compressed
   * yet. One that ends with its first events is small, so it is compressed at once.
   */
  readonly put: (batch: EventBatch, isLast: boolean) => boolean;
  /** The last number; 0 without a row. */
  readonly last: (runId: string) => number;
  /** The terminal event, if it is there. */
  readonly end: (runId: string) => RunEvent | undefined;
  /** Both, read at once. */
  readonly positionOf: (runId: string) => LogPosition;
  /** The next events above `after`, as many as are read at once; `undefined` when there are none. */
  readonly read: (runId: string, after: number) => EventBatch | undefined;
  /** Removes the logs that ended before `time`, at most `limit` of them; resolves with their number. */
  readonly expire: (time: number, limit: number) => Promise<number>;
  /** The runs whose logs have no terminal event, with the time of their first one. */
  readonly unended: () => readonly { readonly runId: string; readonly at: number }[];
  /** Removes a log that has no terminal event. It is called inside of `write` of the file. */
  readonly drop: (runId: string) => void;
}

export function openStoredLogs(db: Pick<Sqlite, 'prepare' | 'write'>): StoredLogs {
  const { prepare, write } = db;
  const newestOf = (from: string, runId: string): EventRow | undefined =>
    // The query names the columns.
    prepare(`SELECT ${rowColumns} FROM ${from} DESC LIMIT 1`).get(runId) as EventRow | undefined;
  const newestPlain = (runId: string): EventRow | undefined =>
    newestOf('events WHERE run_id = ? ORDER BY first', runId);
  const newestDeflated = (runId: string): EventRow | undefined => newestOf(`ended WHERE ${ofRun} ORDER BY id`, runId);

  const positionOf = (runId: string): LogPosition => {
    const plain = newestPlain(runId);
    const deflated = plain ? undefined : newestDeflated(runId);
    const batch = plain ? toBatch(plain) : deflated && fromDeflated(deflated);
    const event = batch?.events.at(-1);
    return { last: (plain ?? deflated)?.last ?? 0, end: event && isTerminal(event) ? event : undefined };
  };

  return {
    put: (batch, isLast) => putEvents(db, batch, isLast),

    last: (runId) => (newestPlain(runId) ?? newestDeflated(runId))?.last ?? 0,

    end: (runId) => positionOf(runId).end,

    positionOf,

    read: (runId, after) => {
      const events: RunEvent[] = [];
      let scope: RunScope | undefined;
      let bytes = 0;
      for (const batch of batchesAbove(db, runId, after)) {
        ({ scope } = batch);
        for (const event of batch.events) {
          if (event.seq <= after) continue;
          events.push(event);
          bytes += bytesOfEvent(event);
        }
        if (bytes >= readBytes) break;
      }
      return scope && { scope, events };
    },

    expire: (time, limit) =>
      write(() => {
        const removed = expirePlain(db, time, limit);
        return removed + expireCompressed(db, time, limit - removed);
      }),

    unended: () =>
      prepare('SELECT run_id, at FROM unended')
        .all()
        .map(({ run_id: runId, at }) => ({ runId: String(runId), at: Number(at) })),

    drop: (runId) => {
      prepare('DELETE FROM events WHERE run_id = ?').run(runId);
      prepare('DELETE FROM unended WHERE run_id = ?').run(runId);
    },
  };
}

/** Of rows in `ended`: those of the run that is the first value. */
const ofRun = 'substr(run_id, 1, 18) = substr(?1, 1, 18) AND run_id = ?1';

/** The columns of {@link EventRow}. */
export const rowColumns = 'first, last, bytes';

/** The events of a row in `events`. */
export const toBatch = ({ first, bytes }: EventRow): EventBatch => unpackEvents(first, bytes);

/** The events of a row in `ended`. */
const fromDeflated = ({ first, bytes }: EventRow): EventBatch => unpackEvents(first, inflate(bytes));

/** The events of a log row by row, compressed ones first: those are the first to be compressed. */
function* batchesAbove({ prepare }: Pick<Sqlite, 'prepare'>, runId: string, after: number): Generator<EventBatch> {
  const rowsOf = (from: string): Iterable<EventRow> =>
    // The query names the columns.
    prepare(`SELECT ${rowColumns} FROM ${from} LIMIT ${String(rowsAtOnce)}`).iterate(
      runId,
      after,
    ) as unknown as Iterable<EventRow>;
  for (const row of rowsOf(`ended WHERE ${ofRun} AND last > ?2 ORDER BY id`)) yield fromDeflated(row);
  for (const row of rowsOf('events WHERE run_id = ?1 AND last > ?2 ORDER BY first')) yield toBatch(row);
}

function putEvents({ prepare }: Pick<Sqlite, 'prepare'>, batch: EventBatch, isLast: boolean): boolean {
  const { scope, events } = batch;
  const { runId } = scope;
  const first = events[0]?.seq ?? 0;
  const row = { first, last: events.at(-1)?.seq ?? 0, bytes: packEvents(batch) };
  const now = Date.now();
  if (isLast && beginsLog(first) && row.bytes.byteLength <= inlineBytes) {
    putCompressed({ prepare }, { runId, at: now }, { ...row, bytes: deflateSmall(row.bytes) });
    return false;
  }
  prepare('INSERT INTO events (run_id, first, last, bytes) VALUES (?, ?, ?, ?)').run(
    ...[runId, row.first, row.last, row.bytes],
  );
  if (isLast) {
    prepare('INSERT INTO ends (at, run_id) VALUES (?, ?)').run(now, runId);
    prepare('DELETE FROM unended WHERE run_id = ?').run(runId);
  } else prepare('INSERT OR IGNORE INTO unended (run_id, at) VALUES (?, ?)').run(runId, now);
  return isLast;
}

/** Adds deflated events to a log that ended `at`. It is called inside of `write` of the file. */
export function putCompressed(
  { prepare }: Pick<Sqlite, 'prepare'>,
  { runId, at }: { readonly runId: string; readonly at: number },
  { first, last, bytes }: EventRow,
): void {
  prepare(
    `INSERT INTO ended (id, run_id, first, last, bytes)
     VALUES ((SELECT max(?1 * 1024, coalesce(max(id) + 1, 0)) FROM ended WHERE id < (?1 + 1) * 1024), ?2, ?3, ?4, ?5)`,
  ).run(at, runId, first, last, bytes);
}

/** Removes logs of which rows are not compressed yet. They go first: no log loses its first events alone. */
function expirePlain({ prepare }: Pick<Sqlite, 'prepare'>, time: number, limit: number): number {
  const oldest = prepare('SELECT rowid, at, run_id FROM ends ORDER BY rowid LIMIT ?').all(limit);
  const ends = oldest.filter(({ at }) => Number(at) < time);
  for (const { rowid, run_id: runId } of ends) {
    prepare(`DELETE FROM ended WHERE ${ofRun}`).run(runId as string);
    prepare('DELETE FROM events WHERE run_id = ?').run(runId as string);
    prepare('DELETE FROM ends WHERE rowid = ?').run(rowid as number);
  }
  return ends.length;
}

/** Removes compressed logs; one that was compressed in several parts counts once. */
function expireCompressed({ prepare }: Pick<Sqlite, 'prepare'>, time: number, limit: number): number {
  const removed = new Set<string>();
  while (removed.size < limit) {
    const oldest = prepare('SELECT run_id FROM ended WHERE id < ? * 1024 ORDER BY id LIMIT ?');
    const rows = oldest.all(time, limit - removed.size);
    if (rows.length === 0) break;
    for (const runId of new Set(rows.map((row) => row['run_id'] as string))) {
      removed.add(runId);
      prepare(`DELETE FROM ended WHERE ${ofRun}`).run(runId);
    }
  }
  return removed.size;
}
