import { openSqlite, type Sqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import { openStatuses } from '@agent-workflow/protos/lists';
import type { OnceBeginning, OnceRecord, OpenRun, ThreadStore } from '../../ports/port.ts';
import { checkpointBytes, messageBytes, runBytes, threadBytes } from '../../record/row-sizes.ts';
import { applyChange } from './change.ts';
import { expireCheckpoints, selectUndos } from './checkpoints.ts';
import {
  arraysOf,
  listed,
  optional,
  runColumns,
  take,
  toCheckpointRow,
  toKey,
  toLogEntry,
  toPlacedEntry,
  toRun,
  toRunRow,
  toThreadRow,
  type ListedRow,
  type Row,
} from './rows.ts';
import { migrations } from './schema.ts';
import { measure, newestOfContext } from './context.ts';
import { selectContextRef, selectFields, selectHead, selectRef, toSnapshot } from './snapshot.ts';

/** The statuses of runs that have not ended, as SQL. */
const openOnes = openStatuses.map((status) => `'${status}'`).join(', ');

/** Opens the record in one SQLite file (`:memory:` keeps nothing). Every write is on disk when it resolves. */
export function openSqliteThreadStore({ path, health }: Pick<SqliteOptions, 'path' | 'health'>): ThreadStore {
  const db = openSqlite({ path, durability: 'full', migrations, health });
  const { prepare } = db;

  return {
    change: (key, reads, decide) =>
      db.write(() => {
        const row = selectHead(db, key);
        const { change, reply } = decide(toSnapshot(db, row, key, reads));
        if (change) applyChange(db, row, key, change);
        return reply;
      }),

    getHead: (key) => Promise.resolve(selectHead(db, key)?.head),

    getState: (key, maxBytes = Infinity) => {
      const of = selectContextRef(db, key);
      if (of === undefined) return Promise.resolve({ fields: {}, context: [], isTruncated: false });
      const { entries, bottom } = newestOfContext(db, of, { maxBytes });
      return Promise.resolve({
        fields: selectFields(db, of.ref),
        context: entries.map(({ json }) => json),
        isTruncated: bottom > 0,
      });
    },

    measure: (key) => measure(db, key),

    getFields: (key) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? {} : selectFields(db, ref));
    },

    getRun: (owner, runId) => {
      const row = prepare('SELECT * FROM runs WHERE owner = ? AND run_id = ?').get(owner, runId);
      return Promise.resolve(row && toRun(row));
    },

    listRuns: (key, { limit, offset = 0, after, bytes }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const rows = prepare(
        `SELECT ${runColumns} FROM runs
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND (created_at, run_id) < (?, ?)
         ORDER BY created_at DESC, run_id DESC LIMIT ? OFFSET ?`,
      ).iterate(key.owner, key.threadId, createdAt, runId, limit, offset);
      return Promise.resolve(take(rows, toRunRow, runBytes, bytes));
    },

    listThreads: (owner, { limit, offset = 0, after, bytes }) => {
      const rows = after
        ? arraysOf(
            prepare(
              `SELECT ${listed} FROM threads WHERE owner = ? AND deleting = 0 AND (updated_at, thread_id) < (?, ?)
               ORDER BY updated_at DESC, thread_id DESC LIMIT ? OFFSET ?`,
            ),
          ).iterate(owner, after.updatedAt, after.threadId, limit, offset)
        : arraysOf(
            prepare(
              `SELECT ${listed} FROM threads WHERE owner = ? AND deleting = 0
               ORDER BY updated_at DESC, thread_id DESC LIMIT ? OFFSET ?`,
            ),
          ).iterate(owner, limit, offset);
      return Promise.resolve(take(rows, (row) => toThreadRow(row as unknown as ListedRow), threadBytes, bytes));
    },

    listMessages: (key, { limit, offset = 0, after = -1, below = Number.MAX_SAFE_INTEGER, bytes }) => {
      const rows = prepare(
        `SELECT position, message_id, json FROM messages
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND position > ? AND position < ?
         ORDER BY position LIMIT ? OFFSET ?`,
      ).iterate(key.owner, key.threadId, after, below, limit, offset);
      return Promise.resolve(take(rows, toLogEntry, messageBytes, bytes));
    },

    listContext: (key, page) => {
      const of = selectContextRef(db, key);
      if (of === undefined) return Promise.resolve({ entries: [], bottom: 0 });
      const { entries, bottom } = newestOfContext(db, of, page);
      if (entries.length > 0 || bottom === 0) return Promise.resolve({ entries, bottom });
      return Promise.resolve(newestOfContext(db, of, { ...page, maxBytes: Infinity, limit: 1 }));
    },

    getEntries: (key, positions) => {
      const of = selectContextRef(db, key);
      if (of === undefined) return Promise.resolve([]);
      const one = prepare('SELECT position, message_id, json, in_context FROM messages WHERE ref = ? AND position = ?');
      const ordered = positions.toSorted((a, b) => a - b);
      return Promise.resolve(
        ordered.flatMap((position) => {
          const row = one.get(of.ref, position);
          return row ? [toPlacedEntry(row, of.contextNumber)] : [];
        }),
      );
    },

    listCheckpoints: (key, { limit, offset = 0, below = Number.MAX_SAFE_INTEGER, bytes }) => {
      const rows = prepare(
        `SELECT version, source, run_id, step, nodes, next, at, metadata FROM checkpoints
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND version < ?
         ORDER BY version DESC LIMIT ? OFFSET ?`,
      ).iterate(key.owner, key.threadId, below, limit, offset);
      return Promise.resolve(take(rows, toCheckpointRow, checkpointBytes, bytes));
    },

    listUndos: (key, { above, below = Number.MAX_SAFE_INTEGER, limit, bytes }) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? [] : selectUndos(db, ref, { above, below, limit }, bytes));
    },

    getMessage: (key, messageId) => {
      const row = prepare(
        `SELECT json FROM messages
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND message_id = ?`,
      ).get(key.owner, key.threadId, messageId);
      return Promise.resolve(row?.['json'] as Uint8Array | undefined);
    },

    listOpenRuns: ({ limit, after = '', bytes }) => {
      const rows = prepare(
        `SELECT owner, ${runColumns} FROM runs WHERE status IN (${openOnes}) AND run_id > ? ORDER BY run_id LIMIT ?`,
      ).iterate(after, limit);
      const toOpenRun = (row: Row): OpenRun => ({ ...toRunRow(row), owner: row['owner'] as string });
      return Promise.resolve(take(rows, toOpenRun, runBytes, bytes));
    },

    listIdle: (time, limit) => {
      // Threads are indexed by owner and recency: owner by owner, each found by one look into that index.
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

    beginOnce: (owner, key, record) => db.write(() => beginOnce(db, owner, key, record)),

    endOnce: (owner, key, reply) =>
      db.write(() => {
        if (reply) prepare('UPDATE once SET reply = ? WHERE owner = ? AND key = ?').run(reply, owner, key);
        else prepare('UPDATE once SET is_left = 1 WHERE owner = ? AND key = ? AND reply IS NULL').run(owner, key);
      }),

    expireOnce: (time, limit) =>
      db.write(() => {
        for (const { owner, key } of prepare('SELECT owner, key FROM once WHERE at < ? ORDER BY at LIMIT ?').all(
          time,
          limit,
        )) {
          prepare('DELETE FROM once WHERE owner = ? AND key = ?').run(owner as string, key as string);
        }
      }),

    expireCheckpoints: (time, limit) => db.write(() => expireCheckpoints(db, time, limit)),

    purge: (key) =>
      db.write(() => {
        const row = selectHead(db, key);
        if (!row?.head.deleting) return;
        for (const table of ['fields', 'messages', 'checkpoints', 'tool_calls', 'applied', 'runs', 'threads']) {
          prepare(`DELETE FROM ${table} WHERE ref = ?`).run(row.ref);
        }
      }),

    [Symbol.asyncDispose]: () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

function beginOnce(db: Sqlite, owner: string, key: string, record: OnceBeginning): OnceRecord | undefined {
  const { bodyHash, at, attempt = null, reply = null } = record;
  const row = db
    .prepare('SELECT body_hash, reply, at, attempt, is_left FROM once WHERE owner = ? AND key = ?')
    .get(owner, key);
  if (!row) {
    db.prepare('INSERT INTO once (owner, key, body_hash, at, attempt, reply) VALUES (?, ?, ?, ?, ?, ?)').run(
      ...[owner, key, bodyHash, at, attempt, reply],
    );
    return undefined;
  }
  if (attempt !== null && row['attempt'] === attempt) return undefined;
  if (row['is_left'] === 1 && row['body_hash'] === bodyHash) {
    db.prepare('UPDATE once SET is_left = 0, attempt = ?, reply = ?, at = ? WHERE owner = ? AND key = ?').run(
      ...[attempt, reply, at, owner, key],
    );
    return undefined;
  }
  return {
    bodyHash: row['body_hash'] as string,
    at: row['at'] as number,
    ...optional('reply', row['reply'] as Uint8Array | null),
  };
}
