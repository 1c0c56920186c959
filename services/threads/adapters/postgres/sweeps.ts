import { awakeStatuses, type RunStatus } from '@agent-workflow/protos/lists';
import type { ThreadKey } from '../../ports/record.ts';
import type { ThreadSweeps } from '../../ports/sweeps.ts';
import { runBytes } from '../../record/row-sizes.ts';
import { noList, runColumns, take, toKey, toSleepingRun } from '../../record/sql-rows.ts';
import type { Session } from './client.ts';
import { pageOf } from './pages.ts';
import { toOpenRun } from './rows.ts';

/** The statuses of runs that are queued or running, as SQL. */
const awake = awakeStatuses.map((status) => `'${status}'`).join(', ');

/** Each status has an index of its own. */
const wakingWith = (status: RunStatus): string =>
  `(SELECT owner, thread_id, run_id, wake_at, status FROM runs
    WHERE status = '${status}' AND wake_at <= $1 AND (wake_at, run_id) > ($2, $3) ORDER BY wake_at, run_id LIMIT $4)`;

/** What goes through the threads of every owner. Several replicas do it at once, and none waits for another. */
export function createSweeps(session: Session): ThreadSweeps {
  const { query } = session;
  return {
    listOpenRuns: async ({ after, newestFirst, ...limits }) => {
      const behind = after === undefined ? '' : `AND x.run_id ${newestFirst ? '<' : '>'} $1`;
      const given = after === undefined ? [] : [after];
      const page = pageOf({
        columns: `owner, ${runColumns}`,
        size: '512 + octet_length(run_id)',
        from: `FROM runs AS x WHERE x.status IN (${awake}) ${behind}`,
        order: newestFirst ? 'x.run_id DESC, x.owner' : 'x.run_id, x.owner',
        firstParam: given.length + 1,
        ...limits,
      });
      return take(await query(page.sql, [...given, ...page.params]), toOpenRun, runBytes, limits.bytes);
    },

    listSleepingRuns: async ({ until, after, limit }) => {
      const rows = await query(
        `${wakingWith('sleeping')} UNION ALL ${wakingWith('interrupted')} ORDER BY wake_at, run_id LIMIT $4`,
        [until, after?.wakeAt ?? 0, after?.runId ?? '', limit],
      );
      return rows.map(toSleepingRun);
    },

    listIdle: async ({ before, waitingBefore = 0 }, limit) =>
      (await query(selectIdle, [before, limit, waitingBefore])).map(toKey),

    listDeleting: async (limit) =>
      (await query('SELECT owner, thread_id FROM threads WHERE deleting ORDER BY ref LIMIT $1', [limit])).map(toKey),

    expireCheckpoints: (time, limit) => expireCheckpoints(session, time, limit),

    purge: (key) => purge(session, key),
  };
}

/** Threads are indexed by owner and recency: owner by owner, each is found by one descent of that index. */
const selectIdle = `WITH RECURSIVE owners (owner) AS (
    (SELECT owner FROM threads WHERE NOT deleting ORDER BY owner LIMIT 1)
    UNION ALL SELECT (SELECT t.owner FROM threads AS t WHERE t.owner > owners.owner AND NOT t.deleting ORDER BY t.owner LIMIT 1)
      FROM owners WHERE owners.owner IS NOT NULL
  )
  SELECT t.owner, t.thread_id FROM owners CROSS JOIN LATERAL (
    SELECT t.owner, t.thread_id FROM threads AS t
    WHERE t.owner = owners.owner AND NOT t.deleting AND t.updated_at < $1 AND t.active_run IS NULL AND t.ttl IS NULL
      AND (t.updated_at < $3 OR (t.open_interrupts = '${noList}' AND t.open_calls = '${noList}'))
      AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.ref = t.ref AND r.run_id = t.interrupted_run AND r.wake_at >= $3) LIMIT $2
  ) AS t
  LIMIT $2`;

/** Threads whose oldest checkpoint is too old, and has no run that needs it, the longest ago first. */
const selectAged = `SELECT ref FROM threads WHERE checkpoints_since < $1 AND (found_version IS NULL OR
    EXISTS (SELECT 1 FROM checkpoints AS c WHERE c.ref = threads.ref AND c.version < threads.found_version))
  ORDER BY checkpoints_since LIMIT $2`;

async function expireCheckpoints(session: Session, time: number, limit: number): Promise<number> {
  const aged = await session.query(selectAged, [time, limit]);
  let dropped = 0;
  for (const row of aged) {
    if (dropped >= limit) break;
    dropped += await expireOfThread(session, row['ref'] as number, time, limit - dropped);
  }
  return dropped;
}

/**
 * Drops what is too old of one thread, up to its first checkpoint that is not, and notes how old that is. A thread that is being
 * written is left to the next sweep.
 */
const expireOfThread = ({ transaction }: Session, ref: number, time: number, limit: number): Promise<number> =>
  transaction(async ({ query, write }) => {
    const [row] = await query('SELECT found_version FROM threads WHERE ref = $1 FOR UPDATE SKIP LOCKED', [ref]);
    if (!row) return { isWritten: false, reply: 0 };
    const [dropped] = await Promise.all([
      write(
        `DELETE FROM checkpoints WHERE ref = $1 AND version = ANY(ARRAY(
           SELECT version FROM checkpoints WHERE ref = $1 AND version < coalesce($2, 9223372036854775807)
             AND version < coalesce((SELECT min(version) FROM checkpoints WHERE ref = $1 AND at >= $3), 9223372036854775807)
           ORDER BY version LIMIT $4))`,
        [ref, row['found_version'] as number | null, time, limit],
      ),
      write(
        `UPDATE threads SET checkpoints_since = (SELECT at FROM checkpoints WHERE ref = $1 ORDER BY version LIMIT 1)
         WHERE ref = $1`,
        [ref],
      ),
    ]);
    return { isWritten: true, reply: dropped };
  });

/** How long one statement of a purge may take, in milliseconds. Nobody waits for a thread that is being deleted. */
const purgeMs = 60_000;

/** Rows that one transaction of a purge deletes: with the largest messages they take 1 GiB. */
const purgedAtOnce = 500;

/** The tables with the rows of a thread. Its runs go last: a deletion that is begun again finds those that are still there. */
const tablesOfThread = ['messages', 'checkpoints', 'fields', 'tool_calls', 'applied', 'runs'];

/**
 * Deletes the rows of a thread in transactions of a bounded size, and the thread's own row in the last one. The thread stays marked
 * until then, so that a purge which is interrupted goes on with the next sweep.
 */
async function purge({ transaction }: Session, { owner, threadId }: ThreadKey): Promise<void> {
  const dropSome = (): Promise<boolean> =>
    transaction(
      async ({ query, write }) => {
        const [row] = await query(
          'SELECT ref FROM threads WHERE owner = $1 AND thread_id = $2 AND deleting FOR UPDATE',
          [owner, threadId],
        );
        if (!row) return { isWritten: false, reply: true };
        const ref = row['ref'] as number;
        let dropped = 0;
        for (const table of tablesOfThread) {
          if (dropped === purgedAtOnce) break;
          dropped += await write(
            `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ref = $1 LIMIT $2))`,
            [ref, purgedAtOnce - dropped],
          );
        }
        const isDone = dropped < purgedAtOnce;
        if (isDone) await write('DELETE FROM threads WHERE ref = $1', [ref]);
        return { isWritten: true, reply: isDone };
      },
      { statementTimeoutMs: purgeMs },
    );
  while (!(await dropSome()));
}
