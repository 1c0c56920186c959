import type { StatementSync } from 'node:sqlite';
import { openSqlite, type Sqlite } from '@agent-workflow/kit/adapters/sqlite';
import { conflict } from '@agent-workflow/kit/errors';
import type { OpenCall, RunEnd } from '@agent-workflow/protos/threads';
import type {
  Change,
  Head,
  LogEntry,
  Reads,
  RunRecord,
  RunStatus,
  Snapshot,
  ThreadKey,
  ThreadRow,
  ThreadStore,
} from '../port.ts';
import { migrations } from './sqlite-schema.ts';

/** Opens the record in one SQLite file (`:memory:` keeps nothing). Every write is on disk when it resolves. */
export function openSqliteThreadStore({ path }: { readonly path: string }): ThreadStore {
  const db = openSqlite({ path, durability: 'full', migrations });
  const { prepare } = db;

  return {
    change: (key, reads, decide) =>
      db.write(() => {
        const row = selectHead(db, key);
        const { change, reply } = decide(toSnapshot(db, row, key, reads));
        if (change) applyChange(db, row?.ref, key, change, row?.head);
        return reply;
      }),

    getHead: (key) => Promise.resolve(selectHead(db, key)?.head),

    getState: (key) => {
      const ref = selectHead(db, key)?.ref;
      if (ref === undefined) return Promise.resolve({ fields: {}, context: [] });
      const fields = prepare('SELECT name, json FROM fields WHERE ref = ?').all(ref);
      const context = prepare('SELECT json FROM messages WHERE ref = ? AND in_context = 1 ORDER BY position').all(ref);
      return Promise.resolve({
        fields: Object.fromEntries(fields.map((row) => [row['name'] as string, row['json'] as Uint8Array])),
        context: context.map((row) => row['json'] as Uint8Array),
      });
    },

    getRun: (owner, runId) => {
      const row = prepare('SELECT * FROM runs WHERE owner = ? AND run_id = ?').get(owner, runId);
      return Promise.resolve(row && toRun(row));
    },

    listRuns: (key, { limit, offset = 0, after }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const rows = prepare(
        `SELECT * FROM runs
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND (created_at, run_id) < (?, ?)
         ORDER BY created_at DESC, run_id DESC LIMIT ? OFFSET ?`,
      ).all(key.owner, key.threadId, createdAt, runId, limit, offset);
      return Promise.resolve(rows.map(toRun));
    },

    listThreads: (owner, { limit, offset = 0, after }) => {
      const rows = after
        ? arraysOf(
            prepare(
              `SELECT ${listed} FROM threads WHERE owner = ? AND deleting = 0 AND (updated_at, thread_id) < (?, ?)
               ORDER BY updated_at DESC, thread_id DESC LIMIT ?`,
            ),
          ).all(owner, after.updatedAt, after.threadId, limit)
        : arraysOf(
            prepare(
              `SELECT ${listed} FROM threads WHERE owner = ? AND deleting = 0
               ORDER BY updated_at DESC, thread_id DESC LIMIT ? OFFSET ?`,
            ),
          ).all(owner, limit, offset);
      return Promise.resolve(rows.map((row) => toThreadRow(row as unknown as ListedRow)));
    },

    listMessages: (key, { limit, offset = 0, after = -1, below = Number.MAX_SAFE_INTEGER }) => {
      const rows = prepare(
        `SELECT position, message_id, json FROM messages
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND position > ? AND position < ?
         ORDER BY position LIMIT ? OFFSET ?`,
      ).all(key.owner, key.threadId, after, below, limit, offset);
      return Promise.resolve(rows.map(toLogEntry));
    },

    getMessage: (key, messageId) => {
      const row = prepare(
        `SELECT json FROM messages
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND message_id = ?`,
      ).get(key.owner, key.threadId, messageId);
      return Promise.resolve(row?.['json'] as Uint8Array | undefined);
    },

    listOpenRuns: ({ limit, after = '' }) => {
      const rows = prepare(
        `SELECT * FROM runs WHERE status IN ('queued', 'running') AND run_id > ? ORDER BY run_id LIMIT ?`,
      ).all(after, limit);
      return Promise.resolve(rows.map((row) => ({ ...toRun(row), owner: row['owner'] as string })));
    },

    listDeleting: (limit) => {
      const rows = prepare('SELECT owner, thread_id FROM threads WHERE deleting = 1 LIMIT ?').all(limit);
      return Promise.resolve(
        rows.map((row) => ({ owner: row['owner'] as string, threadId: row['thread_id'] as string })),
      );
    },

    beginOnce: (owner, key, { bodyHash, at }) =>
      db.write(() => {
        const row = prepare('SELECT body_hash, reply FROM once WHERE owner = ? AND key = ?').get(owner, key);
        if (row)
          return { bodyHash: row['body_hash'] as string, ...optional('reply', row['reply'] as Uint8Array | null) };
        prepare('INSERT INTO once (owner, key, body_hash, at) VALUES (?, ?, ?, ?)').run(owner, key, bodyHash, at);
        return undefined;
      }),

    endOnce: (owner, key, reply) =>
      db.write(() => {
        prepare('UPDATE once SET reply = ? WHERE owner = ? AND key = ?').run(reply, owner, key);
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

    purge: (key) =>
      db.write(() => {
        const row = selectHead(db, key);
        if (!row?.head.deleting) return;
        for (const table of ['fields', 'messages', 'checkpoints', 'runs', 'threads']) {
          prepare(`DELETE FROM ${table} WHERE ref = ?`).run(row.ref);
        }
      }),

    [Symbol.asyncDispose]: () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

type Row = Record<string, unknown>;

interface HeadRow {
  readonly ref: number;
  readonly head: Head;
}

function selectHead(db: Sqlite, { owner, threadId }: ThreadKey): HeadRow | undefined {
  const row = db.prepare('SELECT * FROM threads WHERE owner = ? AND thread_id = ?').get(owner, threadId);
  return row && { ref: row['ref'] as number, head: toHead(row) };
}

function toSnapshot(db: Sqlite, row: HeadRow | undefined, key: ThreadKey, reads: Reads): Snapshot {
  const runs = new Map<string, RunRecord>();
  const positions = new Map<string, number>();
  if (row) {
    const active = reads.activeRun ? row.head.activeRun : undefined;
    for (const runId of [...(reads.runs ?? []), ...(active === undefined ? [] : [active])]) {
      const run = db.prepare('SELECT * FROM runs WHERE owner = ? AND run_id = ?').get(key.owner, runId);
      if (run?.['ref'] === row.ref) runs.set(runId, toRun(run));
    }
    for (const messageId of reads.messages ?? []) {
      const place = db
        .prepare('SELECT position FROM messages WHERE ref = ? AND message_id = ?')
        .get(row.ref, messageId);
      if (place) positions.set(messageId, place['position'] as number);
    }
  }
  const once =
    reads.once === undefined
      ? undefined
      : db.prepare('SELECT applied FROM once WHERE owner = ? AND key = ?').get(key.owner, reads.once);
  return { head: row?.head, runs, positions, isApplied: once?.['applied'] === 1 };
}

function applyChange(
  db: Sqlite,
  known: number | undefined,
  key: ThreadKey,
  change: Change,
  before: Head | undefined,
): void {
  const { head } = change;
  const ref = known ?? insertThread(db, key, head);
  if (known !== undefined) updateHead(db, ref, head, before);
  if (change.clearState) {
    db.prepare('DELETE FROM fields WHERE ref = ?').run(ref);
    db.prepare('UPDATE messages SET in_context = 0 WHERE ref = ? AND in_context = 1').run(ref);
  }
  for (const [name, json] of Object.entries(change.fields ?? {})) {
    db.prepare(
      'INSERT INTO fields (ref, name, json) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json',
    ).run(ref, name, json);
  }
  for (const message of change.messages ?? []) {
    db.prepare(
      `INSERT INTO messages (ref, position, message_id, json, in_context) VALUES (?, ?, ?, ?, 1)
       ON CONFLICT (ref, position) DO UPDATE SET json = excluded.json, in_context = 1`,
    ).run(ref, message.position, message.messageId, message.json);
  }
  for (const position of change.removedFromContext ?? []) {
    db.prepare('UPDATE messages SET in_context = 0 WHERE ref = ? AND position = ?').run(ref, position);
  }
  for (const position of change.deleted ?? []) {
    db.prepare('DELETE FROM messages WHERE ref = ? AND position = ?').run(ref, position);
  }
  for (const run of change.runs ?? []) putRun(db, ref, key, run);
  if (change.appliesOnce !== undefined) {
    db.prepare('UPDATE once SET applied = 1 WHERE owner = ? AND key = ?').run(key.owner, change.appliesOnce);
  }
  if (change.checkpoint) {
    const { runId = null, step = null, nodes, at, metadata = null } = change.checkpoint;
    db.prepare(
      'INSERT INTO checkpoints (ref, version, run_id, step, nodes, at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ).run(ref, head.version, runId, step, JSON.stringify(nodes), at, metadata);
    db.prepare('DELETE FROM checkpoints WHERE ref = ? AND version <= ?').run(ref, head.version - checkpointsKept);
  }
}

/** Versions of a thread whose checkpoint is kept. */
const checkpointsKept = 100;

function insertThread(db: Sqlite, { owner, threadId }: ThreadKey, head: Head): number {
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO threads (name, metadata, created_at, updated_at, owner, thread_id, version, epoch, step, active_run,
         active_status, newest_run, queue, next_position, open_calls, next, interrupted_run, open_interrupts,
         claims, progress, deleting)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      head.name ?? null,
      head.metadata ?? null,
      head.createdAt,
      head.updatedAt,
      owner,
      threadId,
      ...headColumns(head),
    );
  return Number(lastInsertRowid);
}

function updateHead(db: Sqlite, ref: number, head: Head, before: Head | undefined): void {
  db.prepare(
    `UPDATE threads SET version = ?, epoch = ?, step = ?, active_run = ?, active_status = ?, newest_run = ?, queue = ?,
       next_position = ?, open_calls = ?, next = ?, interrupted_run = ?, open_interrupts = ?, claims = ?, progress = ? WHERE ref = ?`,
  ).run(...headColumns(head).slice(0, -1), ref);
  // Columns of an index are written only when they change: SQLite rewrites the index entry of every column it is told to set.
  if (head.updatedAt !== before?.updatedAt)
    db.prepare('UPDATE threads SET updated_at = ? WHERE ref = ?').run(head.updatedAt, ref);
  if (head.deleting !== before?.deleting)
    db.prepare('UPDATE threads SET deleting = ? WHERE ref = ?').run(Number(head.deleting), ref);
}

const headColumns = (head: Head): (string | number | Uint8Array | null)[] => [
  head.version,
  head.epoch,
  head.step,
  head.activeRun ?? null,
  head.activeStatus ?? null,
  head.newestRun ?? null,
  toList(head.queue),
  head.nextPosition,
  toList(head.openCalls),
  toList(head.next),
  head.interruptedRun ?? null,
  toList(head.openInterrupts),
  head.claims,
  head.progress ?? null,
  Number(head.deleting),
];

function putRun(db: Sqlite, ref: number, { owner }: ThreadKey, run: RunRecord): void {
  const { changes } = db
    .prepare(
      `INSERT INTO runs (owner, run_id, ref, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at,
       resumes, "end", options, input, answers, has_new_input, resume, output_from, output_to)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at, resumes = excluded.resumes,
       "end" = excluded."end", input = excluded.input, output_from = excluded.output_from, output_to = excluded.output_to
       WHERE ref = excluded.ref`,
    )
    .run(
      owner,
      run.runId,
      ref,
      run.threadId,
      run.requestId,
      run.status,
      run.granularity,
      Number(run.isNewThread),
      run.createdAt,
      run.updatedAt,
      run.resumes ?? null,
      run.end ? JSON.stringify(run.end) : null,
      run.options,
      run.input ?? null,
      toList(run.answers),
      Number(run.hasNewInput),
      run.resume ? toList(run.resume) : null,
      run.outputFrom ?? null,
      run.outputTo ?? null,
    );
  if (changes === 0) throw conflict(`run "${run.runId}" belongs to another thread`);
}

const noList = '[]';
const toList = (items: readonly unknown[]): string => (items.length === 0 ? noList : JSON.stringify(items));
const fromList = (json: unknown): readonly unknown[] =>
  json === noList ? [] : (JSON.parse(json as string) as unknown[]);

const toLogEntry = (row: Row): LogEntry => ({
  position: row['position'] as number,
  messageId: row['message_id'] as string,
  json: row['json'] as Uint8Array,
});

/** A column as an optional key: SQLite's null is our absent. */
const optional = <K extends string, V extends string | number | Uint8Array | RunEnd>(
  key: K,
  value: V | null,
): Partial<Record<K, V>> => (value === null ? {} : { [key]: value }) as Partial<Record<K, V>>;

const listed = 'thread_id, name, metadata, created_at, updated_at, newest_run, version';

/** The columns of `listed`, in their order. */
type ListedRow = [string, string | null, Uint8Array | null, number, number, string | null, number];

/** Rows as arrays: a list is read in two thirds of the time that named columns take. */
function arraysOf(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

function toThreadRow([threadId, name, metadata, createdAt, updatedAt, newestRun, version]: ListedRow): ThreadRow {
  const row: { -readonly [K in keyof ThreadRow]: ThreadRow[K] } = { threadId, createdAt, updatedAt, version };
  if (name !== null) row.name = name;
  if (metadata !== null) row.metadata = metadata;
  if (newestRun !== null) row.newestRun = newestRun;
  return row;
}

const toHead = (row: Row): Head => ({
  ...optional('name', row['name'] as string | null),
  ...optional('metadata', row['metadata'] as Uint8Array | null),
  createdAt: row['created_at'] as number,
  updatedAt: row['updated_at'] as number,
  version: row['version'] as number,
  epoch: row['epoch'] as number,
  step: row['step'] as number,
  ...optional('activeRun', row['active_run'] as string | null),
  ...optional('activeStatus', row['active_status'] as 'queued' | 'running' | null),
  ...optional('newestRun', row['newest_run'] as string | null),
  queue: fromList(row['queue']) as readonly string[],
  nextPosition: row['next_position'] as number,
  openCalls: fromList(row['open_calls']) as readonly OpenCall[],
  next: fromList(row['next']) as readonly string[],
  ...optional('interruptedRun', row['interrupted_run'] as string | null),
  openInterrupts: fromList(row['open_interrupts']) as readonly string[],
  claims: row['claims'] as number,
  ...optional('progress', row['progress'] as Uint8Array | null),
  deleting: row['deleting'] === 1,
});

const toRun = (row: Row): RunRecord => ({
  runId: row['run_id'] as string,
  threadId: row['thread_id'] as string,
  requestId: row['request_id'] as string,
  status: row['status'] as RunStatus,
  granularity: row['granularity'] as string,
  isNewThread: row['is_new_thread'] === 1,
  createdAt: row['created_at'] as number,
  updatedAt: row['updated_at'] as number,
  ...optional('resumes', row['resumes'] as string | null),
  ...optional('end', row['end'] === null ? null : (JSON.parse(row['end'] as string) as RunEnd)),
  options: row['options'] as Uint8Array,
  ...optional('input', row['input'] as Uint8Array | null),
  answers: fromList(row['answers']) as readonly string[],
  hasNewInput: row['has_new_input'] === 1,
  ...(row['resume'] === null ? {} : { resume: fromList(row['resume']) as readonly string[] }),
  ...optional('outputFrom', row['output_from'] as number | null),
  ...optional('outputTo', row['output_to'] as number | null),
});
