import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { fromOldLines, unpackEvents, type EventBatch } from '@agent-workflow/protos/event-pack';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { isTerminal } from '../../ports/log.ts';

export const migrations = [
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

/** The layout of a row whose events are in parts. */
export const layoutOfParts = 2;

/** Rows that a follower reads at once, and their bound in bytes; a larger row is read alone. */
const rowsAtOnce = 64;
const readBytes = 512 * 1024;

/** The event logs as the file has them. */
interface StoredLogs {
  /** The last number; 0 without a row. */
  readonly last: (runId: string) => number;
  /** The terminal event, if it is there. */
  readonly end: (runId: string) => RunEvent | undefined;
  /** The next events above `after`, as many as are read at once; `undefined` when there are none. */
  readonly read: (runId: string, after: number) => EventBatch | undefined;
  /** Removes the logs that ended before `time`, at most `limit` of them; resolves with their number. */
  readonly expire: (time: number, limit: number) => Promise<number>;
  /** The runs whose logs have no terminal event, with the time of their first one. */
  readonly unended: () => readonly { readonly runId: string; readonly at: number }[];
  /** Removes a log that has no terminal event. It is called inside of `write` of the file. */
  readonly drop: (runId: string) => void;
}

export function openStoredLogs({ prepare, write }: Pick<Sqlite, 'prepare' | 'write'>): StoredLogs {
  return {
    last: (runId) =>
      Number(prepare('SELECT last FROM events WHERE run_id = ? ORDER BY first DESC LIMIT 1').get(runId)?.['last'] ?? 0),

    end: (runId) => {
      const row = prepare('SELECT first, bytes, layout FROM events WHERE run_id = ? ORDER BY first DESC LIMIT 1').get(
        runId,
      );
      const event = row && toBatch(row).events.at(-1);
      return event && isTerminal(event) ? event : undefined;
    },

    read: (runId, after) => {
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
    },

    expire: (time, limit) =>
      write(() => {
        const oldest = prepare('SELECT rowid, at, run_id FROM ends ORDER BY rowid LIMIT ?').all(limit);
        const ends = oldest.filter(({ at }) => Number(at) < time);
        for (const { rowid, run_id: runId } of ends) {
          prepare('DELETE FROM events WHERE run_id = ?').run(runId as string);
          prepare('DELETE FROM ends WHERE rowid = ?').run(rowid as number);
        }
        return ends.length;
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

const toBatch = ({ first, bytes, layout }: Readonly<Record<string, unknown>>): EventBatch =>
  (layout === layoutOfParts ? unpackEvents : fromOldLines)(first as number, bytes as Uint8Array);
