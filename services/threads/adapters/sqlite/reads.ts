import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ThreadReads } from '../../ports/reads.ts';
import { toStoredMessage } from '../../record/sql-rows.ts';
import { newestOfContext } from './context.ts';
import { arraysOf, runsOfThreads, selectedRun, toPlacedEntry, toRun, type ColumnsOfRun } from './rows.ts';
import { selectContextRef, selectFields, selectHead, selectRef } from './snapshot.ts';

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

    getFields: (key) => {
      const ref = selectRef(db, key);
      return Promise.resolve(ref === undefined ? {} : selectFields(db, ref));
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
        `SELECT json, version FROM messages
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
