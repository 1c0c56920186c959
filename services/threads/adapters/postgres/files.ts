import type { FileKey, FileRecords, FileRow, FileTotals } from '../../ports/files.ts';
import { fileColumns, fileValues, toFileNote, toFileRow } from '../../record/sql-files.ts';
import type { Session } from './client.ts';
import type { Transaction } from './transaction.ts';

const columns = fileColumns.join(', ');
const putFile = `INSERT INTO files (owner, file_id, ${columns})
  VALUES ($1, $2, ${fileColumns.map((_, index) => `$${String(index + 3)}`).join(', ')})
  ON CONFLICT (owner, file_id) DO UPDATE SET ${fileColumns.map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** Changes of files of one owner that need his totals wait for each other; the number keeps their locks apart from other locks. */
const lockOwner = 'SELECT pg_advisory_xact_lock(1718185061, hashtext($1))';
const lockFile = 'SELECT * FROM files WHERE owner = $1 AND file_id = $2 FOR UPDATE';

/** Records of files, and the notes which threads name them. */
export const createFiles = ({ query, transaction }: Session): FileRecords => ({
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
