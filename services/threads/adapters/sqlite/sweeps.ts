import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { awakeStatuses } from '@agent-workflow/protos/lists';
import type { OpenRun, ThreadSweeps } from '../../ports/sweeps.ts';
import { runBytes } from '../../record/row-sizes.ts';
import { runColumns, take, toKey, toRunRow, toSleepingRun } from '../../record/sql-rows.ts';
import { expireCheckpoints } from './checkpoints.ts';
import { runsOfThreads, toRunColumns } from './rows.ts';
import { selectHead } from './snapshot.ts';

/** The statuses of runs that are queued or running, as SQL. */
const awake = awakeStatuses.map((status) => `'${status}'`).join(', ');

/** What goes through the threads of every owner. */
export function createSweeps(db: Sqlite): ThreadSweeps {
  const { prepare } = db;
  return {
    listOpenRuns: ({ limit, after, bytes, newestFirst }) => {
      const behind = after === undefined ? '' : `AND run_id ${newestFirst ? '<' : '>'} ?`;
      const rows = prepare(
        `SELECT owner, ${runColumns} FROM ${runsOfThreads}
         WHERE status IN (${awake}) ${behind} ORDER BY run_id ${newestFirst ? 'DESC' : ''} LIMIT ?`,
      ).iterate(...(after === undefined ? [] : [toStoredId(after)]), limit);
      const toOpenRun = (row: Record<string, unknown>): OpenRun => ({
        ...toRunRow(toRunColumns(row)),
        owner: row['owner'] as string,
      });
      return Promise.resolve(take(rows, toOpenRun, runBytes, bytes));
    },

    listSleepingRuns: ({ until, after, limit }) => {
      const rows = prepare(
        `SELECT owner, thread_id, run_id, wake_at FROM ${runsOfThreads}
         WHERE status = 'sleeping' AND wake_at <= ? AND (wake_at, run_id) > (?, ?) ORDER BY wake_at, run_id LIMIT ?`,
      ).all(until, after?.wakeAt ?? 0, toStoredId(after?.runId ?? ''), limit);
      return Promise.resolve(rows.map((row) => toSleepingRun(toRunColumns(row))));
    },

    listIdle: (time, limit) => {
      // Threads are indexed by owner and recency: owner by owner, each found by one search of that index.
      const rows = prepare(
        `WITH RECURSIVE owners (owner) AS (
           SELECT min(owner) FROM threads
           UNION ALL SELECT (SELECT min(owner) FROM threads WHERE owner > owners.owner) FROM owners WHERE owner IS NOT NULL
         )
         SELECT t.owner, t.thread_id FROM owners CROSS JOIN threads AS t
           ON t.owner = owners.owner AND t.deleting = 0 AND t.updated_at < ? AND t.active_run IS NULL
         LIMIT ?`,
      ).all(time, limit);
      return Promise.resolve(rows.map(toKey));
    },

    listDeleting: (limit) => {
      const rows = prepare('SELECT owner, thread_id FROM threads WHERE deleting = 1 LIMIT ?').all(limit);
      return Promise.resolve(rows.map(toKey));
    },

    expireCheckpoints: (time, limit) => db.write(() => expireCheckpoints(db, time, limit)),

    purge: (key) =>
      db.write(() => {
        const row = selectHead(db, key);
        if (!row?.head.deleting) return;
        for (const table of ['fields', 'gaps', 'messages', 'checkpoints', 'tool_calls', 'applied', 'runs', 'threads']) {
          prepare(`DELETE FROM ${table} WHERE ref = ?`).run(row.ref);
        }
      }),
  };
}
