import type { DueMark, FileKey, FileRecords, FileRow, FileTotals } from '../../ports/files.ts';
import type { ThreadKey } from '../../ports/record.ts';
import { pauseBetweenTries, tryBatch, type InLine } from './change/change.ts';
import type { Row, Session, Statement } from './client/client.ts';
import { mapConcurrently } from './rows/log.ts';
import { long } from './rows/rows.ts';
import { createJournal, type Noted } from './sweeps/journal.ts';

interface FilesOptions {
  readonly session: Session;
  readonly now: () => number;
  readonly newStamp: () => string;
  readonly inLine: InLine;
  readonly deadlineMs: number;
  /** Runs work in the background. */
  readonly aside: (work: () => Promise<void>) => void;
}

/** The width of the buckets in which the journal notes when files are due, in milliseconds. */
const bucketMs = 10 * 60 * 1000;

const ofFile = 'WHERE owner = ? AND file_id = ?';
const selectRow = `SELECT owner, file_id, stamp, row FROM file ${ofFile}`;
const selectOwn = 'SELECT file_id, row FROM file WHERE owner = ? ORDER BY file_id DESC LIMIT ?';
const selectOwnAfter = 'SELECT file_id, row FROM file WHERE owner = ? AND file_id < ? ORDER BY file_id DESC LIMIT ?';
const selectTotals = 'SELECT totals_stamp, files, bytes FROM file WHERE owner = ? LIMIT 1';
const putRow = `UPDATE file SET stamp = ?, row = ? ${ofFile} IF stamp = ?`;
const dropRow = `DELETE FROM file ${ofFile} IF stamp = ?`;
const putTotals = 'UPDATE file SET totals_stamp = ?, files = ?, bytes = ? WHERE owner = ? IF totals_stamp = ?';
const putNote = 'INSERT INTO file_note (owner, file_id, thread_id, at) VALUES (?, ?, ?, ?)';
const putOfThread = 'INSERT INTO file_of_thread (owner, thread_id, file_id, noted) VALUES (?, ?, ?, true)';
const dropNote = `DELETE FROM file_note ${ofFile} AND thread_id = ?`;
const dropOfThread = 'DELETE FROM file_of_thread WHERE owner = ? AND thread_id = ? AND file_id = ?';
const selectNotes = `SELECT thread_id, at FROM file_note ${ofFile} AND thread_id > ? LIMIT ?`;
const selectOfThread = 'SELECT file_id FROM file_of_thread WHERE owner = ? AND thread_id = ? AND file_id > ? LIMIT ?';

/**
 * Records of files, those of one owner in one partition, so that one conditional batch changes a file and the totals of its owner. The
 * time at which a file is due is written to the journal before it is written to the row.
 */
export function createFiles({ session, now, newStamp, inLine, deadlineMs, aside }: FilesOptions): FileRecords {
  const due = createJournal({ session, now, topic: 'due files', bucketMs, isTimely: false });

  const write = async (key: FileKey, { file, totals }: Seen, after: FileRow | undefined): Promise<boolean> => {
    const isNewlyDue = after?.dueAt !== undefined && after.dueAt !== file?.row.dueAt;
    if (isNewlyDue) {
      const { statements, onWritten } = due.note(...noteOf(key, after.dueAt));
      await session.write(...statements);
      onWritten?.();
    }
    return (await tryBatch(session, batchOf(key, { file, totals }, after, newStamp))) === 'applied';
  };

  const endNote = (key: FileKey, before: FileRow | undefined, after: FileRow | undefined): void => {
    const dueAt = before?.dueAt;
    if (dueAt !== undefined && dueAt !== after?.dueAt) aside(() => session.write(due.end(...noteOf(key, dueAt))));
  };

  const checkDue = async (noted: Noted): Promise<FileRow | undefined> => {
    const { owner, fileId, dueAt } = fromNote(noted);
    const file = await readFile(session, { owner, fileId });
    if (file?.row.dueAt === dueAt) return file.row;
    if (noted.isOld) due.settle(noted);
    return undefined;
  };

  return {
    getFile: async (key) => (await readFile(session, key))?.row,

    changeFile: (key, reads, decide) =>
      inLine(lineOf(key), async () => {
        const until = Date.now() + deadlineMs;
        for (let tries = 1; ; tries += 1) {
          const seen = await readSeen(session, key, reads);
          const { change, reply } = decide({ file: seen.file?.row, totals: seen.totals?.sums ?? none });
          if (!change) return reply;
          const after = 'put' in change ? change.put : undefined;
          if (await write(key, seen, after)) {
            endNote(key, seen.file?.row, after);
            return reply;
          }
          await pauseBetweenTries(tries, until);
        }
      }),

    listOwnFiles: async (owner, { after, limit }) => {
      const rows = await session.read(
        after === undefined
          ? { cql: selectOwn, params: [owner, limit] }
          : { cql: selectOwnAfter, params: [owner, after, limit] },
      );
      // Of an owner whose files are all gone the totals alone are a row.
      return rows.filter((row) => isThere(row['file_id'])).map((row) => toRow(owner, row));
    },

    listDueFiles: async ({ until, after = { dueAt: 0, fileId: '' }, limit }) => {
      const files: FileRow[] = [];
      for await (const some of chunked(due.inOrder(toMark(after), until), Math.min(limit, checkedAtOnce))) {
        const marked = some.filter((noted) => fromNote(noted).dueAt <= until);
        for (const file of await mapConcurrently(marked, checkDue)) {
          if (file) files.push(file);
          if (files.length === limit) return files;
        }
        // All that follow are due later.
        if (marked.length < some.length) return files;
      }
      return files;
    },

    putFileNote: async ({ owner, fileId }, { threadId, at }) =>
      session.write(
        { cql: putNote, params: [owner, fileId, threadId, long(at)] },
        { cql: putOfThread, params: [owner, threadId, fileId] },
      ),

    dropFileNote: async ({ owner, fileId }, threadId) =>
      session.write(
        { cql: dropNote, params: [owner, fileId, threadId] },
        { cql: dropOfThread, params: [owner, threadId, fileId] },
      ),

    listFileNotes: async ({ owner, fileId }, { after = '', limit }) => {
      const rows = await session.read({ cql: selectNotes, params: [owner, fileId, after, limit] });
      return rows.map((row) => ({ threadId: row['thread_id'] as string, at: Number(row['at']) }));
    },

    listFilesOf: async ({ owner, threadId }, { after = '', limit }) => {
      const rows = await session.read({ cql: selectOfThread, params: [owner, threadId, after, limit] });
      return rows.map((row) => row['file_id'] as string);
    },
  };
}

const none: FileTotals = { files: 0, bytes: 0 };

interface SeenFile {
  readonly stamp: string;
  readonly row: FileRow;
}

interface SeenTotals {
  readonly sums: FileTotals;
  /** `null` before the first file of the owner. */
  readonly stamp: string | null;
}

interface Seen {
  readonly file: SeenFile | undefined;
  readonly totals: SeenTotals | undefined;
}

async function readSeen(session: Session, key: FileKey, reads: { readonly totals: boolean }): Promise<Seen> {
  const [file, totals] = await Promise.all([
    readFile(session, key, true),
    reads.totals ? readTotals(session, key.owner) : undefined,
  ]);
  return { file, totals };
}

async function readFile(session: Session, { owner, fileId }: FileKey, isSerial = false): Promise<SeenFile | undefined> {
  const statement = { cql: selectRow, params: [owner, fileId] };
  const [row] = await (isSerial ? session.readSerial(statement) : session.read(statement));
  return row && { stamp: String(row['stamp']), row: toRow(owner, row) };
}

const toRow = (owner: string, row: Row): FileRow => ({
  ...{ owner, fileId: row['file_id'] as string },
  ...(JSON.parse(row['row'] as string) as RowJson),
});

type RowJson = Omit<FileRow, keyof FileKey>;

const fromFile = ({ owner: _, fileId: __, ...row }: FileRow): string => JSON.stringify(row satisfies RowJson);

async function readTotals(session: Session, owner: string): Promise<SeenTotals> {
  const [row] = await session.readSerial({ cql: selectTotals, params: [owner] });
  return toTotals(row);
}

const toTotals = (row: Row | undefined): SeenTotals => ({
  stamp: isThere(row?.['totals_stamp']) ? String(row?.['totals_stamp']) : null,
  sums: { files: Number(row?.['files'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) },
});

const isThere = (value: unknown): boolean => value !== null && value !== undefined;

/** The row of the file, and the totals where they change. Each is written only if it is as it was read. */
function batchOf(
  { owner, fileId }: FileKey,
  { file, totals }: Seen,
  after: FileRow | undefined,
  newStamp: () => string,
): readonly Statement[] {
  const known = file?.stamp ?? null;
  const row = after
    ? { cql: putRow, params: [newStamp(), fromFile(after), owner, fileId, known] }
    : { cql: dropRow, params: [owner, fileId, known] };
  const files = Number(after !== undefined) - Number(file !== undefined);
  const bytes = (after?.size ?? 0) - (file?.row.size ?? 0);
  if (!totals) {
    if (files !== 0 || bytes !== 0) throw new Error('a change of the totals was decided without them');
    return [row];
  }
  const sums = [newStamp(), long(totals.sums.files + files), long(totals.sums.bytes + bytes)];
  return [row, { cql: putTotals, params: [...sums, owner, totals.stamp] }];
}

/** Notes whose files are read together. */
const checkedAtOnce = 100;

async function* chunked<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let some: T[] = [];
  for await (const item of items) {
    some.push(item);
    if (some.length < size) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

/**
 * A note in the journal, which sorts a bucket by `owner`, `thread_id` and `id`: here these are the time at which the file is due, the
 * file's id, and its owner, so that a page of due files is a range of notes.
 */
const noteOf = ({ owner, fileId }: FileKey, dueAt: number): readonly [ThreadKey, string, number] => [
  toMark({ dueAt, fileId }),
  owner,
  dueAt,
];

const toMark = ({ dueAt, fileId }: DueMark): ThreadKey & { readonly time: number } => ({
  owner: String(dueAt).padStart(timeDigits, '0'),
  threadId: fileId,
  time: dueAt,
});

/** The digits of `Number.MAX_SAFE_INTEGER`. */
const timeDigits = 16;

const fromNote = ({ owner: dueAt, threadId: fileId, id: owner }: Noted): DueMark & FileKey => ({
  ...{ owner, fileId },
  dueAt: Number(dueAt),
});

/**
 * The line in which changes of the files of one owner wait for each other, named like a thread: they meet in one partition, and at the same time
 * would only make each other try again.
 */
const lineOf = ({ owner }: FileKey): ThreadKey => ({ owner, threadId: '/files' });
