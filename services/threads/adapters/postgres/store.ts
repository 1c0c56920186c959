import { unavailable } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import { newestVersion, refuseOldVersion } from '@agent-workflow/runtime/data-version';
import type { ThreadChanges } from '../../ports/changes.ts';
import type { ThreadStore } from '../../ports/store.ts';
import { applyChange } from './change.ts';
import { openSession, type Session, type SessionOptions } from './client.ts';
import type { PostgresReach } from './connections.ts';
import { createLists } from './reads.ts';
import { createReads } from './reads.ts';
import { createResources } from './resources.ts';
import { migrations, storeName } from './schema.ts';
import { lockThread } from './snapshot.ts';
import { createSweeps } from './sweeps.ts';
import type { AgentRecords, DefinitionKey } from '../../ports/agents.ts';
import { fromAgent, fromDefinition, toAgent, toDefinition, toRoutings } from '../../record/agent-rows.ts';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';
import { openServerClock } from '../../record/server-clock.ts';
import { optional, type Row } from '../../record/sql-rows.ts';
import type { Transaction } from './transaction.ts';
import { hashOf } from './rows.ts';
import type { FileKey, FileRecords, FileRow, FileTotals } from '../../ports/files.ts';
import { fileColumns, fileValues, toFileNote, toFileRow } from '../../record/sql-files.ts';

type PostgresThreadStoreOptions = PostgresReach & SessionOptions;

/**
 * Opens the record on a PostgreSQL server whose schema has been migrated. Every write is on the server's disk when it resolves.
 * Disposal waits for what is under way.
 * @throws Unavailable when the server does not answer, and while the schema is not there; ConfigError when it is older than the first release.
 */
export async function openPostgresThreadStore(options: PostgresThreadStoreOptions): Promise<ThreadStore> {
  await using opening = new AsyncDisposableStack();
  const session = opening.use(await openSession(options, options));
  await requireSchema(session, options.schema);
  const now = await openServerClock(session.readClock);
  const work = createWork();
  const store = {
    change: createChange(session),
    ...createReads(session),
    ...createLists(session),
    ...createSweeps(session),
    ...createIdempotency(session),
    ...createFiles(session),
    ...createAgentRecords(session),
    ...createResources(session),
  };
  opening.move();
  return {
    ...(Object.fromEntries(
      Object.entries(store).map(([name, method]) => [name, work.counted(method as Method)]),
    ) as typeof store),
    now,
    [Symbol.asyncDispose]: async () => {
      await work.close();
      await session[Symbol.asyncDispose]();
    },
  };
}

/** @throws Unavailable until the schema has this version. */
async function requireSchema({ query }: Session, schema: string): Promise<void> {
  const [table] = await query("SELECT to_regclass('schema_version') IS NOT NULL AS is_there");
  const [row] = table?.['is_there'] === true ? await query('SELECT version FROM schema_version') : [];
  const version = (row?.['version'] as number | undefined) ?? 0;
  refuseOldVersion(version, storeName(schema));
  const needed = newestVersion(migrations);
  if (version < needed)
    throw unavailable(
      `the record of threads has to be migrated to version ${String(needed)} first: "agent-workflow migrate" does it`,
    );
}

/**
 * Changes a thread in one transaction that holds the lock of its row. Changes that this process makes of one thread are made one after
 * another, so that they do not take a connection each to wait for the same lock.
 */
function createChange({ transaction }: Session): ThreadChanges['change'] {
  const lock = createKeyedLock();
  return async (key, reads, decide) => {
    const { refusal, reply } = await lock(JSON.stringify([key.owner, key.threadId]), () =>
      transaction(async (tx) => {
        const { found, snapshot } = await lockThread(tx, key, reads);
        const { decision, refusal } = conclude(() => decide(snapshot));
        if (!decision?.change) return { isWritten: false, reply: { refusal, reply: decision?.reply } };
        await applyChange(tx, found, key, decision.change);
        return { isWritten: true, reply: { refusal, reply: decision.reply } };
      }),
    );
    if (refusal) throw refusal.error;
    return reply as Awaited<ReturnType<typeof decide>>['reply'];
  };
}

interface Conclusion<T> {
  readonly decision?: T;
  /** What the decision threw. It is thrown by the change, and never taken for an error of the server. */
  readonly refusal?: { readonly error: unknown };
}

function conclude<T>(decide: () => T): Conclusion<T> {
  try {
    return { decision: decide() };
  } catch (error) {
    return { refusal: { error } };
  }
}

type Method = (...args: readonly never[]) => Promise<unknown>;

interface UnderWay {
  /** The method, which counts as under way until it has settled. It throws Unavailable once the store is closed. */
  readonly counted: (method: Method) => Method;
  /** Resolves when all that is under way has settled. */
  readonly close: () => Promise<void>;
}

function createWork(): UnderWay {
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    counted:
      (method) =>
      async (...args) => {
        if (isClosed) throw unavailable('the record of threads is closed');
        const going = method(...args);
        const settled: Promise<unknown> = going.catch(() => undefined).finally(() => underWay.delete(settled));
        underWay.add(settled);
        return going;
      },
    close: async () => {
      isClosed = true;
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** The registered agents, a row each, and their definitions. */
const createAgentRecords = ({ query, transaction }: Session): AgentRecords => ({
  getAgent: async (name) => {
    const [row] = await query('SELECT * FROM agents WHERE name = $1', [name]);
    return row && toAgent(row);
  },

  listAgents: async () => (await query('SELECT * FROM agents ORDER BY name')).map(toAgent),

  listRoutings: async () => toRoutings(await query('SELECT name, routing FROM agents')),

  putAgent: (agent) => {
    const { name, changes, routing, rest } = fromAgent(agent);
    return transaction(async ({ write }) => {
      const written = await (changes === 1
        ? write('INSERT INTO agents (name, changes, routing, rest) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
            ...[name, changes, routing, rest],
          ])
        : write('UPDATE agents SET changes = $2, routing = $3, rest = $4 WHERE name = $1 AND changes = $5', [
            ...[name, changes, routing, rest, changes - 1],
          ]));
      return { isWritten: written === 1, reply: written === 1 };
    });
  },

  getDefinition: async (key) => {
    const [row] = await query(`SELECT graph, fields, tools, nodes FROM agent_definitions ${ofKey}`, valuesOf(key));
    return row && toDefinition(row);
  },

  putDefinition: async (key, definition) => {
    await query(
      `INSERT INTO agent_definitions (agent, revision, schema_hash, graph, fields, tools, nodes)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [...valuesOf(key), ...fromDefinition(definition)],
    );
  },

  dropDefinition: async (key) => {
    await query(`DELETE FROM agent_definitions ${ofKey}`, valuesOf(key));
  },
});

const ofKey = 'WHERE agent = $1 AND revision = $2 AND schema_hash = $3';
const valuesOf = ({ agent, revision, schemaHash }: DefinitionKey): [string, string, string] => [
  agent,
  revision,
  schemaHash,
];

/** The records of idempotent requests. */
const createIdempotency = ({ query, transaction }: Session): IdempotencyRecords => ({
  beginRequest: (owner, key, record) =>
    transaction(async (tx) => {
      const isFirst = (await insert(tx, owner, key, record)) > 0;
      const known = isFirst ? undefined : await retake(tx, owner, key, record);
      return { isWritten: known === undefined, reply: known };
    }),

  endRequest: async (owner, key, reply) => {
    if (reply) {
      await query('UPDATE idempotency SET reply = $3 WHERE owner = $1 AND key_hash = $2', [owner, hashOf(key), reply]);
    } else {
      await query('UPDATE idempotency SET is_released = true WHERE owner = $1 AND key_hash = $2 AND reply IS NULL', [
        owner,
        hashOf(key),
      ]);
    }
  },

  // Several replicas do this at once: each takes rows that no other has locked.
  expireRequests: async (time, limit) => {
    await query(
      `DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM idempotency WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))`,
      [time, limit],
    );
  },
});

const insert = (
  { write }: Transaction,
  owner: string,
  key: string,
  { bodyHash, at, attempt, reply }: NewIdempotencyRecord,
): Promise<number> =>
  write(
    `INSERT INTO idempotency (owner, key_hash, body_hash, at, attempt, reply) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (owner, key_hash) DO NOTHING`,
    [owner, hashOf(key), bodyHash, at, attempt ?? null, reply ?? null],
  );

/** Takes a key that was released. @returns the record that stands under it; `undefined` when the request is the first, or itself. */
async function retake(
  tx: Transaction,
  owner: string,
  key: string,
  record: NewIdempotencyRecord,
): Promise<IdempotencyRecord | undefined> {
  const { bodyHash, at, attempt, reply } = record;
  const place = [owner, hashOf(key)];
  const [row] = await tx.query('SELECT * FROM idempotency WHERE owner = $1 AND key_hash = $2 FOR UPDATE', place);
  if (!row) {
    // It expired since it was found: the key is new.
    await insert(tx, owner, key, record);
    return undefined;
  }
  if (attempt !== undefined && row['attempt'] === attempt) return undefined;
  if (row['is_released'] !== true || row['body_hash'] !== bodyHash) return toRecord(row);
  await tx.write(
    `UPDATE idempotency SET is_released = false, attempt = $3, reply = $4, at = $5 WHERE owner = $1 AND key_hash = $2`,
    [...place, attempt ?? null, reply ?? null, at],
  );
  return undefined;
}

const toRecord = (row: Row): IdempotencyRecord => ({
  bodyHash: row['body_hash'] as string,
  at: row['at'] as number,
  ...optional('reply', row['reply'] as Uint8Array | null),
});

const columns = fileColumns.join(', ');
const putFile = `INSERT INTO files (owner, file_id, ${columns})
  VALUES ($1, $2, ${fileColumns.map((_, index) => `$${String(index + 3)}`).join(', ')})
  ON CONFLICT (owner, file_id) DO UPDATE SET ${fileColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** Changes of files of one owner that need his totals wait for each other; the number keeps their locks apart from other locks. */
const lockOwner = 'SELECT pg_advisory_xact_lock(1718185061, hashtext($1))';
const lockFile = 'SELECT * FROM files WHERE owner = $1 AND file_id = $2 FOR UPDATE';

/** Records of files, and the notes which threads name them. */
const createFiles = ({ query, transaction }: Session): FileRecords => ({
  getFile: async ({ owner, fileId }) => {
    const [row] = await query('SELECT * FROM files WHERE owner = $1 AND file_id = $2', [owner, fileId]);
    return row && toFileRow(row);
  },

  changeFile: ({ owner, fileId }, reads, decide) =>
    transaction(async (tx) => {
      if (reads.totals) await tx.query(lockOwner, [owner]);
      const [file, totals] = await Promise.all([
        readLocked(tx, { owner, fileId }),
        reads.totals ? readTotals(tx, owner) : { files: 0, bytes: 0 },
      ]);
      const { change, reply } = decide({ file, totals });
      if (!change) return { isWritten: false, reply };
      if ('put' in change) await tx.write(putFile, [owner, fileId, ...fileValues(change.put)]);
      else await tx.write('DELETE FROM files WHERE owner = $1 AND file_id = $2', [owner, fileId]);
      return { isWritten: true, reply };
    }),

  listOwnFiles: async (owner, { after, limit }) => {
    const rows =
      after === undefined
        ? await query('SELECT * FROM files WHERE owner = $1 ORDER BY file_id DESC LIMIT $2', [owner, limit])
        : await query('SELECT * FROM files WHERE owner = $1 AND file_id < $2 ORDER BY file_id DESC LIMIT $3', [
            ...[owner, after, limit],
          ]);
    return rows.map(toFileRow);
  },

  listDueFiles: async ({ until, after, limit }) => {
    const rows = await query(
      `SELECT * FROM files WHERE due_at <= $1 AND (due_at, file_id) > ($2, $3) ORDER BY due_at, file_id LIMIT $4`,
      [until, after?.dueAt ?? 0, after?.fileId ?? '', limit],
    );
    return rows.map(toFileRow);
  },

  putFileNote: async ({ owner, fileId }, { threadId, at }) => {
    await query(
      `INSERT INTO file_notes (owner, file_id, thread_id, at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (owner, file_id, thread_id) DO UPDATE SET at = excluded.at`,
      [owner, fileId, threadId, at],
    );
  },

  dropFileNote: async ({ owner, fileId }, threadId) => {
    await query('DELETE FROM file_notes WHERE owner = $1 AND file_id = $2 AND thread_id = $3', [
      ...[owner, fileId, threadId],
    ]);
  },

  listFileNotes: async ({ owner, fileId }, { after = '', limit }) => {
    const rows = await query(
      `SELECT thread_id, at FROM file_notes WHERE owner = $1 AND file_id = $2 AND thread_id > $3
       ORDER BY thread_id LIMIT $4`,
      [owner, fileId, after, limit],
    );
    return rows.map(toFileNote);
  },

  listFilesOf: async ({ owner, threadId }, { after = '', limit }) => {
    const rows = await query(
      `SELECT file_id FROM file_notes WHERE owner = $1 AND thread_id = $2 AND file_id > $3 ORDER BY file_id LIMIT $4`,
      [owner, threadId, after, limit],
    );
    return rows.map((row) => row['file_id'] as string);
  },
});

async function readLocked({ query }: Transaction, { owner, fileId }: FileKey): Promise<FileRow | undefined> {
  const [row] = await query(lockFile, [owner, fileId]);
  return row && toFileRow(row);
}

/** The rows of one owner, which his quota bounds. */
async function readTotals({ query }: Transaction, owner: string): Promise<FileTotals> {
  const [row] = await query('SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes FROM files WHERE owner = $1', [
    owner,
  ]);
  return { files: row?.['files'] as number, bytes: row?.['bytes'] as number };
}
