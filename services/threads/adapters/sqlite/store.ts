import { openSqlite, type Sqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Decision, Reads, Snapshot, ThreadChanges } from '../../ports/changes.ts';
import type { ThreadKey } from '../../ports/record.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { applyChange } from './change.ts';
import { createLists } from './reads.ts';
import { createReads } from './reads.ts';
import { createResources } from './resources.ts';
import { migrations } from './schema.ts';
import { emptySnapshot, findThread, toSnapshot, selectHead } from './snapshot.ts';
import type { AgentRecords, AgentRow, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';
import { noList, optional, runColumns, take, toKey, toRunRow, toSleepingRun } from '../../record/sql-rows.ts';
import type { FileKey, FileRecords, FileRow, FileTotals } from '../../ports/files.ts';
import { fileColumns, fileValues, toFileNote, toFileRow } from '../../record/sql-files.ts';
import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import { awakeStatuses, type RunStatus } from '@agent-workflow/protos/lists';
import type { OpenRun, ThreadSweeps } from '../../ports/sweeps.ts';
import { runBytes } from '../../record/row-sizes.ts';
import { expireCheckpoints } from './checkpoints.ts';
import { runsOfThreads, toRunColumns } from './rows.ts';

/** A turn changes some thirty pages, in each a row or two. */
const pageBytes = 1024;

/** Opens the record in one SQLite file (`:memory:` keeps nothing). Every write is on disk when it resolves. */
export function openSqliteThreadStore({ path, health }: Pick<SqliteOptions, 'path' | 'health'>): ThreadStore {
  const db = openSqlite({ path, durability: 'full', migrations, pageBytes, health });
  return {
    now: Date.now,
    ...createChanges(db),
    ...createReads(db),
    ...createLists(db),
    ...createSweeps(db),
    ...createIdempotency(db),
    ...createFiles(db),
    ...createAgentRecords(db),
    ...createResources(db),
    [Symbol.asyncDispose]: () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

/** Changes of threads, each in a savepoint of the transaction that is written next. */
const createChanges = (db: Sqlite): ThreadChanges => ({
  change: (key, reads, decide) =>
    db.write(() => {
      const made = reads.isNewThread ? makeThread(db, key, decide) : undefined;
      return made ? made.reply : changeFound(db, key, reads, decide);
    }),
});

/** Makes the thread without a look whether it is there; `undefined` when it is, or when that may decide. */
function makeThread<T>(
  db: Sqlite,
  key: ThreadKey,
  decide: (snapshot: Snapshot) => Decision<T>,
): Decision<T> | undefined {
  let decision: Decision<T>;
  try {
    decision = decide(emptySnapshot);
  } catch {
    return undefined;
  }
  return decision.change && applyChange(db, undefined, key, decision.change) ? decision : undefined;
}

function changeFound<T>(db: Sqlite, key: ThreadKey, reads: Reads, decide: (snapshot: Snapshot) => Decision<T>): T {
  const found = findThread(db, key, reads);
  const { change, reply } = decideFrom(decide, reads, (read) => toSnapshot(db, found, key, read));
  if (change) applyChange(db, found, key, change);
  return reply;
}

/** A fence refuses a request that was applied before: only then is it looked for among those. */
function decideFrom<T>(
  decide: (snapshot: Snapshot) => Decision<T>,
  { request, ...reads }: Reads,
  snapshotOf: (reads: Reads) => Snapshot,
): Decision<T> {
  const all = { ...reads, ...(request !== undefined && { request }) };
  try {
    return decide(snapshotOf(reads.isFenced ? reads : all));
  } catch (error) {
    if (!reads.isFenced) throw error;
    return decide(snapshotOf(all));
  }
}

/** The registered agents, a row each, and their definitions. */
const createAgentRecords = (db: Sqlite): AgentRecords => ({
  getAgent: async (name) => {
    const row = db.prepare('SELECT * FROM agents WHERE name = ?').get(name);
    return Promise.resolve(row && toAgent(row));
  },

  listAgents: () => Promise.resolve(db.prepare('SELECT * FROM agents ORDER BY name').all().map(toAgent)),

  listRoutings: () => Promise.resolve(toRoutings(db.prepare('SELECT name, routing FROM agents').all())),

  putAgent: (row) => db.write(() => putAgent(db, row)),

  getDefinition: async (key) => {
    const row = db.prepare(`SELECT graph, fields, tools, nodes FROM agent_definitions ${ofKey}`).get(...valuesOf(key));
    return Promise.resolve(row && toDefinition(row));
  },

  putDefinition: (key, definition) =>
    db.write(() => {
      db.prepare('INSERT INTO agent_definitions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING').run(
        ...valuesOf(key),
        ...fromDefinition(definition),
      );
    }),

  dropDefinition: (key) =>
    db.write(() => {
      db.prepare(`DELETE FROM agent_definitions ${ofKey}`).run(...valuesOf(key));
    }),
});

const ofKey = 'WHERE agent = ? AND revision = ? AND schema_hash = ?';
const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): [string, string, string] => [
  agent,
  revision,
  schemaHash,
];

function putAgent(db: Sqlite, row: AgentRow): boolean {
  const { name, changes, routing, rest } = fromAgent(row);
  const written =
    changes === 1
      ? db
          .prepare('INSERT INTO agents (name, changes, routing, rest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
          .run(name, changes, routing, rest)
      : db
          .prepare('UPDATE agents SET changes = ?, routing = ?, rest = ? WHERE name = ? AND changes = ?')
          .run(changes, routing, rest, name, changes - 1);
  return written.changes === 1;
}

/** Requests that carry an idempotency key, a row each. */
function createIdempotency(db: Sqlite): IdempotencyRecords {
  const { prepare } = db;
  return {
    beginRequest: (owner, key, record) => db.write(() => beginRequest(db, owner, key, record)),

    endRequest: (owner, key, reply) =>
      db.write(() => {
        if (reply) prepare('UPDATE once SET reply = ? WHERE owner = ? AND key = ?').run(reply, owner, key);
        else prepare('UPDATE once SET is_left = 1 WHERE owner = ? AND key = ? AND reply IS NULL').run(owner, key);
      }),

    expireRequests: (time, limit) =>
      db.write(() => {
        for (const { owner, key } of prepare('SELECT owner, key FROM once WHERE at < ? ORDER BY at LIMIT ?').all(
          time,
          limit,
        )) {
          prepare('DELETE FROM once WHERE owner = ? AND key = ?').run(owner as string, key as string);
        }
      }),
  };
}

function beginRequest(
  db: Sqlite,
  owner: string,
  key: string,
  record: NewIdempotencyRecord,
): IdempotencyRecord | undefined {
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

const columns = fileColumns.join(', ');
const putFile = `INSERT INTO files (owner, file_id, ${columns}) VALUES (?, ?, ${fileColumns.map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET ${fileColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** Records of files, and the notes which threads name them. */
function createFiles(db: Sqlite): FileRecords {
  const { prepare } = db;
  return {
    getFile: (key) => Promise.resolve(selectFile(db, key)),

    changeFile: ({ owner, fileId }, reads, decide) =>
      db.write(() => {
        const totals = reads.totals ? selectTotals(db, owner) : { files: 0, bytes: 0 };
        const { change, reply } = decide({ file: selectFile(db, { owner, fileId }), totals });
        if (change && 'put' in change) prepare(putFile).run(owner, fileId, ...fileValues(change.put));
        else if (change) prepare('DELETE FROM files WHERE owner = ? AND file_id = ?').run(owner, fileId);
        return reply;
      }),

    listOwnFiles: (owner, { after, limit }) => {
      const below = after === undefined ? '' : 'AND file_id < ?';
      const rows = prepare(
        `SELECT owner, file_id, ${columns} FROM files WHERE owner = ? ${below} ORDER BY file_id DESC LIMIT ?`,
      ).all(owner, ...(after === undefined ? [] : [after]), limit);
      return Promise.resolve(rows.map(toFileRow));
    },

    listDueFiles: ({ until, after, limit }) => {
      const rows = prepare(
        `SELECT owner, file_id, ${columns} FROM files WHERE due_at <= ? AND (due_at, file_id) > (?, ?)
         ORDER BY due_at, file_id LIMIT ?`,
      ).all(until, after?.dueAt ?? 0, after?.fileId ?? '', limit);
      return Promise.resolve(rows.map(toFileRow));
    },

    putFileNote: ({ owner, fileId }, { threadId, at }) =>
      db.write(() => {
        prepare(
          `INSERT INTO file_notes (owner, file_id, thread_id, at) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET at = excluded.at`,
        ).run(owner, fileId, threadId, at);
      }),

    dropFileNote: ({ owner, fileId }, threadId) =>
      db.write(() => {
        prepare('DELETE FROM file_notes WHERE owner = ? AND file_id = ? AND thread_id = ?').run(
          owner,
          fileId,
          threadId,
        );
      }),

    listFileNotes: ({ owner, fileId }, { after = '', limit }) => {
      const rows = prepare(
        `SELECT thread_id, at FROM file_notes WHERE owner = ? AND file_id = ? AND thread_id > ?
         ORDER BY thread_id LIMIT ?`,
      ).all(owner, fileId, after, limit);
      return Promise.resolve(rows.map(toFileNote));
    },

    listFilesOf: ({ owner, threadId }, { after = '', limit }) => {
      const rows = prepare(
        `SELECT file_id FROM file_notes WHERE owner = ? AND thread_id = ? AND file_id > ? ORDER BY file_id LIMIT ?`,
      ).all(owner, threadId, after, limit);
      return Promise.resolve(rows.map((row) => row['file_id'] as string));
    },
  };
}

function selectFile({ prepare }: Sqlite, { owner, fileId }: FileKey): FileRow | undefined {
  const row = prepare('SELECT * FROM files WHERE owner = ? AND file_id = ?').get(owner, fileId);
  return row && toFileRow(row);
}

/** The rows of one owner, which his quota bounds. */
const selectTotals = ({ prepare }: Sqlite, owner: string): FileTotals =>
  // The query names the columns, and gives one row.
  prepare('SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM files WHERE owner = ?').get(
    owner,
  ) as unknown as FileTotals;

/** The statuses of runs that are queued or running, as SQL. */
const awake = awakeStatuses.map((status) => `'${status}'`).join(', ');

/** Each status has an index of its own. */
const wakingWith = (status: RunStatus): string =>
  `SELECT owner, thread_id, run_id, wake_at, status FROM ${runsOfThreads}
   WHERE status = '${status}' AND wake_at <= ?1 AND (wake_at, run_id) > (?2, ?3) ORDER BY wake_at, run_id LIMIT ?4`;

/** What goes through the threads of every owner. */
function createSweeps(db: Sqlite): ThreadSweeps {
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
        `SELECT * FROM (${wakingWith('sleeping')}) UNION ALL SELECT * FROM (${wakingWith('interrupted')}) ORDER BY wake_at, run_id LIMIT ?4`,
      ).all(until, after?.wakeAt ?? 0, toStoredId(after?.runId ?? ''), limit);
      return Promise.resolve(rows.map((row) => toSleepingRun(toRunColumns(row))));
    },

    listIdle: ({ before, waitingBefore = 0 }, limit) => {
      // Threads are indexed by owner and recency: owner by owner, each found by one search of that index.
      const rows = prepare(
        `WITH RECURSIVE owners (owner) AS (
           SELECT min(owner) FROM threads
           UNION ALL SELECT (SELECT min(owner) FROM threads WHERE owner > owners.owner) FROM owners WHERE owner IS NOT NULL
         )
         SELECT t.owner, t.thread_id FROM owners CROSS JOIN threads AS t
           ON t.owner = owners.owner AND t.deleting = 0 AND t.updated_at < ?1 AND t.active_run IS NULL AND t.ttl IS NULL
             AND (t.updated_at < ?2 OR (t.open_interrupts = '${noList}' AND t.open_calls = '${noList}'))
             AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.owner = t.owner AND r.ref = t.ref AND r.wake_at >= ?2
               AND r.run_id IN (t.interrupted_run, unhex(t.interrupted_run, '-')))
         LIMIT ?3`,
      ).all(before, waitingBefore, limit);
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
