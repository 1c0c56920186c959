import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ThreadHistory } from '../../ports/history.ts';
import type { ThreadLists } from '../../ports/lists.ts';
import type { LogEntry } from '../../ports/record.ts';
import { logBounds } from '../../record/log-bounds.ts';
import { checkpointBytes, messageBytes, runBytes, threadBytes } from '../../record/row-sizes.ts';
import {
  checkpointColumns,
  headOfRunColumns,
  runColumns,
  take,
  toCheckpointRow,
  toOwnRunsPart,
  toRunRow,
  type Row,
} from '../../record/sql-rows.ts';
import { selectUndos } from './checkpoints.ts';
import {
  arraysOf,
  listed,
  runsOfThreads,
  toCheckpointColumns,
  toRunColumns,
  toThreadRow,
  type ListedRow,
} from './rows.ts';
import { selectRef } from './snapshot.ts';

/** Pages of lists. */
export function createLists(db: Sqlite): ThreadLists & ThreadHistory {
  const { prepare } = db;
  return {
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
      // Rows are arrays here, which the types of node:sqlite do not know.
      return Promise.resolve(take(rows, (row) => toThreadRow(row as unknown as ListedRow), threadBytes, bytes));
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

    listMessages: (key, page) => {
      const { limit, offset = 0, bytes, newestFirst } = page;
      const { above, below } = logBounds(page);
      const rows = arraysOf(
        prepare(
          `SELECT position, message_id, json, version FROM messages
           WHERE ref = (SELECT ref FROM threads WHERE owner = ? AND thread_id = ?) AND position > ? AND position < ?
           ORDER BY position ${newestFirst ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`,
        ),
      ).iterate(key.owner, key.threadId, above, below, limit, offset);
      // Rows are arrays here, which the types of node:sqlite do not know.
      return Promise.resolve(take(rows, (row) => toEntry(row as unknown as EntryRow), messageBytes, bytes));
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
  };
}

/** The columns of an entry of the log. */
type EntryRow = [number, string, Uint8Array, number | null];

const toEntry = ([position, messageId, json, version]: EntryRow): LogEntry =>
  version === null ? { position, messageId, json } : { position, messageId, json, version };

function* eachRun(rows: Iterable<Record<string, unknown>>): Generator<Row> {
  for (const row of rows) yield toRunColumns(row);
}
