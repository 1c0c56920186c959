import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { FileKey, FileRecords, FileRow, FileTotals } from '../../ports/files.ts';
import { fileColumns, fileValues, toFileNote, toFileRow } from '../../record/sql-files.ts';

const columns = fileColumns.join(', ');
const putFile = `INSERT INTO files (owner, file_id, ${columns}) VALUES (?, ?, ${fileColumns.map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET ${fileColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** Records of files, and the notes which threads name them. */
export function createFiles(db: Sqlite): FileRecords {
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
