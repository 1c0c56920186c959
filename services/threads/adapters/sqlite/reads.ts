import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ThreadReads, ContextPage } from '../../ports/reads.ts';
import {
  toStoredMessage,
  toLogEntry,
  checkpointColumns,
  headOfRunColumns,
  runColumns,
  take,
  toCheckpointRow,
  toAllRunsPart,
  toOwnRunsPart,
  toRunRow,
  type Row,
} from '../../record/sql-rows.ts';
import {
  arraysOf,
  runsOfThreads,
  selectedRun,
  toPlacedEntry,
  toRun,
  listed,
  toCheckpointColumns,
  toRunColumns,
  toThreadRow,
  type ColumnsOfRun,
  type ListedRow,
} from './rows.ts';
import { readFields, selectContextRef, selectFields, selectHead, selectRef } from './snapshot.ts';
import type { LogEntry } from '../../ports/record.ts';
import { contextRows, type ContextRef } from './gaps.ts';
import type { ThreadHistory } from '../../ports/history.ts';
import type { ThreadLists } from '../../ports/lists.ts';
import { logBounds } from '../../record/log-bounds.ts';
import { checkpointBytes, messageBytes, runBytes, threadBytes } from '../../record/row-sizes.ts';
import { selectTraces, selectUndos } from './checkpoints.ts';

/** What is read of one thread. */
export function createReads(db: Sqlite): ThreadReads {
  const { prepare } = db;
  return {
    getHead: (key) => Promise.resolve(selectHead(db, key)?.head),

    getState: (key, maxBytes = Infinity) => {
      const contextRef = selectContextRef(db, key);
      if (contextRef === undefined) return Promise.resolve({ fields: {}, context: [], isTruncated: false });
      const { entries, bottom } = newestOfContext(db, contextRef, { maxBytes });
      return Promise.resolve({
        fields: selectFields(db, contextRef.ref),
        context: entries.map(({ json }) => json),
        isTruncated: bottom > 0,
      });
    },

    getFields: (key, names) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? {} : readFields(db, ref, names ?? 'all'));
    },

    listContext: (key, page) => {
      const contextRef = selectContextRef(db, key);
      if (contextRef === undefined) return Promise.resolve({ entries: [], bottom: 0 });
      const { entries, bottom } = newestOfContext(db, contextRef, page);
      if (entries.length > 0 || bottom === 0) return Promise.resolve({ entries, bottom });
      return Promise.resolve(newestOfContext(db, contextRef, { ...page, maxBytes: Infinity, limit: 1 }));
    },

    getEntries: (key, positions) => {
      const contextRef = selectContextRef(db, key);
      if (contextRef === undefined) return Promise.resolve([]);
      const one = prepare('SELECT position, message_id, json, in_context FROM messages WHERE ref = ? AND position = ?');
      const ordered = positions.toSorted((a, b) => a - b);
      return Promise.resolve(
        ordered.flatMap((position) => {
          const row = one.get(contextRef.ref, position);
          return row ? [toPlacedEntry(row, contextRef.contextNumber)] : [];
        }),
      );
    },

    getMessage: (key, messageId) => {
      const row = prepare(
        `SELECT position, json, version FROM messages
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND message_id = ?`,
      ).get(key.owner, key.threadId, messageId);
      return Promise.resolve(row && toStoredMessage(row));
    },

    getRun: (owner, runId) => {
      const row = arraysOf(
        prepare(`SELECT ${selectedRun}, thread_id FROM ${runsOfThreads} WHERE owner = ? AND run_id = ?`),
      ).get(owner, toStoredId(runId)) as unknown[] | undefined;
      // Rows are arrays here, which the types of node:sqlite do not know.
      return Promise.resolve(row && toRun(row.pop() as string, row as unknown as ColumnsOfRun));
    },
  };
}

interface NewestPage {
  readonly below?: number;
  readonly maxBytes: number;
  readonly limit?: number;
}

/** The newest messages of a context that fit: the others are not read. */
function newestOfContext(
  db: Sqlite,
  of: ContextRef,
  { below = Number.MAX_SAFE_INTEGER, maxBytes, limit = Infinity }: NewestPage,
): ContextPage {
  const entries: LogEntry[] = [];
  let bytes = 0;
  for (const row of contextRows(db, of, { columns: 'position, message_id, json', below })) {
    const bottom = entries.at(-1)?.position ?? below;
    if (entries.length === limit) return { entries: entries.reverse(), bottom };
    const entry = toLogEntry(row);
    bytes += entry.json.byteLength + 1;
    if (bytes > maxBytes) return { entries: entries.reverse(), bottom };
    entries.push(entry);
  }
  return { entries: entries.reverse(), bottom: 0 };
}

/** Pages of lists. */
export function createLists(db: Sqlite): ThreadLists & ThreadHistory {
  const { prepare } = db;
  return {
    listThreads: (owner, { limit, offset = 0, after, bytes = Infinity }) => {
      const from = after ? 'AND (updated_at, thread_id) < (?, ?)' : '';
      const rows = arraysOf(
        prepare(
          `SELECT ${listed} FROM threads WHERE owner = ? AND deleting = 0 ${from}
           ORDER BY updated_at DESC, thread_id DESC LIMIT ? OFFSET ?`,
        ),
      ).all(bytes / limit, owner, ...(after ? [after.updatedAt, after.threadId] : []), limit, offset);
      const readMetadata = (threadId: string): Uint8Array =>
        prepare('SELECT metadata FROM threads WHERE owner = ? AND thread_id = ?').get(owner, threadId)?.[
          'metadata'
        ] as Uint8Array;
      // Rows are arrays here, which the types of node:sqlite do not know.
      const listedRows = rows as unknown as ListedRow[];
      return Promise.resolve(take(listedRows, (row) => toThreadRow(row, readMetadata), threadBytes, bytes));
    },

    listRuns: (key, { limit, offset = 0, after, bytes }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const rows = prepare(
        `SELECT ${runColumns} FROM ${runsOfThreads}
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND (created_at, run_id) < (?, ?)
         ORDER BY created_at DESC, run_id DESC LIMIT ? OFFSET ?`,
      ).iterate(key.owner, key.threadId, createdAt, toStoredId(runId), limit, offset);
      return Promise.resolve(take(rows, (row) => toRunRow(toRunColumns(row)), runBytes, bytes));
    },

    listOwnRuns: (owner, { limit, after, bytes, agent }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const rows = prepare(
        `SELECT ${runColumns}, head.* FROM runs CROSS JOIN (SELECT ${headOfRunColumns}, thread_id FROM threads) AS head
           ON head.thread_ref = runs.ref
         WHERE owner = ? ${agent === undefined ? '' : 'AND runs.agent = ?'} AND (created_at, run_id) < (?, ?)
         ORDER BY created_at DESC, run_id DESC LIMIT ?`,
      ).iterate(owner, ...(agent === undefined ? [] : [agent]), createdAt, toStoredId(runId), limit);
      return Promise.resolve(toOwnRunsPart(eachRun(rows), { limit, bytes }));
    },

    listAllRuns: ({ limit, after, bytes }) => {
      const { createdAt, runId } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, runId: '' };
      const rows = prepare(
        `SELECT ${runColumns}, owner, head.* FROM runs CROSS JOIN (SELECT ${headOfRunColumns}, thread_id FROM threads) AS head
           ON head.thread_ref = runs.ref
         WHERE (created_at, run_id) < (?, ?) ORDER BY created_at DESC, run_id DESC LIMIT ?`,
      ).iterate(createdAt, toStoredId(runId), limit);
      return Promise.resolve(toAllRunsPart(eachRun(rows), { limit, bytes }));
    },

    listMessages: (key, page) => {
      const { limit, offset = 0, bytes = Infinity, newestFirst } = page;
      const { above, below } = logBounds(page);
      const { owner, threadId } = key;
      const rows = arraysOf(
        prepare(
          `SELECT position, message_id, CASE WHEN length(json) <= ? THEN CAST(json AS TEXT) END, version FROM messages
           WHERE ${ofThread} AND position > ? AND position < ?
           ORDER BY position ${newestFirst ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`,
        ),
      ).all(bytes / limit, owner, threadId, above, below, limit, offset);
      const readJson = (position: number): Uint8Array =>
        prepare(`SELECT json FROM messages WHERE ${ofThread} AND position = ?`).get(owner, threadId, position)?.[
          'json'
        ] as Uint8Array;
      // Rows are arrays here, which the types of node:sqlite do not know.
      return Promise.resolve(take(rows as unknown as EntryRow[], (row) => toEntry(row, readJson), messageBytes, bytes));
    },

    listCheckpoints: (key, { limit, offset = 0, below = Number.MAX_SAFE_INTEGER, bytes }) => {
      const rows = prepare(
        `SELECT ${checkpointColumns} FROM checkpoints
         WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND version < ?
         ORDER BY version DESC LIMIT ? OFFSET ?`,
      ).iterate(key.owner, key.threadId, below, limit, offset);
      return Promise.resolve(take(rows, (row) => toCheckpointRow(toCheckpointColumns(row)), checkpointBytes, bytes));
    },

    listUndos: (key, { above, below = Number.MAX_SAFE_INTEGER, limit, bytes }) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? [] : selectUndos(db, ref, { above, below, limit }, bytes));
    },

    listTraces: (key, range) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? [] : selectTraces(db, ref, range));
    },
  };
}

const ofThread = 'ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?)';

/**
 * The columns of an entry of the log. The JSON is there where so many of its length fit on the page, so that reading all rows at once is
 * bounded; and it is a text, for a BLOB takes twice the time: Node makes an `ArrayBuffer` each time.
 */
type EntryRow = [position: number, messageId: string, json: string | null, version: number | null];

function toEntry([position, messageId, text, version]: EntryRow, readJson: (position: number) => Uint8Array): LogEntry {
  const json = text === null ? readJson(position) : Buffer.from(text);
  return version === null ? { position, messageId, json } : { position, messageId, json, version };
}

function* eachRun(rows: Iterable<Record<string, unknown>>): Generator<Row> {
  for (const row of rows) yield toRunColumns(row);
}
