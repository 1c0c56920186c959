import { isServiceError } from '@agent-workflow/kit/errors';
import { createQuota } from '@agent-workflow/kit/pages';
import { retry } from '@agent-workflow/kit/retry';
import type { ResourceKind } from '@agent-workflow/protos/lists';
import type {
  DueResource,
  DueResourceMark,
  IdRange,
  ResourceKey,
  ResourceMark,
  ResourceRecords,
  ResourceRow,
  ResourceWrite,
} from '../../ports/resources.ts';
import { makes, markColumns, resourceBytes, resourceColumns, toMark, toResource } from '../../record/resource-rows.ts';
import { betweenTries } from './change/change.ts';
import type { Row, Session, Statement } from './client/client.ts';
import { chunksOf, mapConcurrently, pagesOf } from './rows/log.ts';
import { fromBlob, long, toBlob } from './rows/rows.ts';
import { createJournal, type Journal, type Noted } from './sweeps/journal.ts';

interface ResourcesOptions {
  readonly session: Session;
  readonly now: () => number;
  readonly deadlineMs: number;
  /** Runs work in the background. */
  readonly aside: (work: () => Promise<void>) => void;
}

/** The width of the buckets in which the journal notes when objects are due, in milliseconds. */
const bucketMs = 5000;

/** Rows of a list that are read first: each may be as large as an object may be. Those after them are read by their size. */
const firstRows = 8;
const marksAtOnce = 2000;

const ofKey = 'WHERE owner = ? AND kind = ? AND id = ?';
const selectRow = `SELECT ${resourceColumns}, attempt FROM resource ${ofKey}`;
const insertRow = `INSERT INTO resource (owner, kind, id, version, attempt, json, created_at, updated_at, due_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS`;
const insertFinal = insertRow.replace(' IF NOT EXISTS', '');
const updateRow = `UPDATE resource SET version = ?, attempt = ?, json = ?, updated_at = ?, due_at = ? ${ofKey} IF version = ?`;
const deleteRow = `DELETE FROM resource ${ofKey} IF version = ?`;
const selectRows = `SELECT ${resourceColumns} FROM resource WHERE owner = ? AND kind = ?`;
const selectMarks = `SELECT ${markColumns} FROM resource WHERE owner = ? AND kind = ?`;
const selectVersions = 'SELECT version FROM resource WHERE owner = ? AND kind = ? LIMIT ?';

/**
 * Objects that an owner has beside threads, those of one kind in one partition. The time at which an object is due is noted in the journal
 * before the row is written; each write has a note of its own, so that the end of one ends no other.
 */
export function createResources({ session, now, deadlineMs, aside }: ResourcesOptions): ResourceRecords {
  const journals = new Map<ResourceKind, Journal>();
  const journalOf = (kind: ResourceKind): Journal => {
    const journal =
      journals.get(kind) ?? createJournal({ session, now, topic: `due ${kind}`, bucketMs, isTimely: true });
    journals.set(kind, journal);
    return journal;
  };

  const again = <T>(work: () => Promise<T>): Promise<T> =>
    retry(work, {
      ...betweenTries,
      deadline: Date.now() + deadlineMs,
      mayHelp: (error) => isServiceError(error, 'Unavailable'),
    });

  const note = async (write: ResourceWrite): Promise<void> => {
    if (write.dueAt === undefined) return;
    const { statements, onWritten } = journalOf(write.kind).note(...noteOf(write, write.dueAt));
    await session.write(...statements);
    onWritten?.();
  };

  const endNote = async ({ row, attempt }: Stored): Promise<void> => {
    if (row.dueAt !== undefined)
      await session.write(journalOf(row.kind).end(...noteOf({ ...row, attempt }, row.dueAt)));
  };

  const put = async (write: ResourceWrite): Promise<number | undefined> => {
    if (write.isFinal) {
      await session.write(finalStatement(write));
      return write.at;
    }
    const before = makes(write) ? undefined : await readRow(session, write);
    // Later versions are final: only one that is being written may not be seen yet.
    if (before && before.row.version >= write.version) return timeOf(before, write);
    await note(write);
    const { isApplied } = await session.writeIf(statementOf(write));
    if (!isApplied) return timeOf(await readRow(session, write, true), write);
    if (before?.row.version === write.version - 1) aside(() => endNote(before));
    return write.at;
  };

  const checkDue = async (kind: ResourceKind, { noted, attempt, ...due }: Due): Promise<DueResource | undefined> => {
    const key = { kind, ...due };
    const isWrittenOver = (stored: Stored | undefined): boolean =>
      stored !== undefined && stored.row.version >= due.version;
    const isIt = (stored: Stored | undefined): boolean => stored?.attempt === attempt && stored.row.dueAt === due.dueAt;
    let stored = await readRow(session, key);
    if (isIt(stored)) return due;
    // A write that was left half done is completed by a serial read, or never takes place.
    if (noted.isOld && !isWrittenOver(stored)) stored = await readRow(session, key, true);
    if (isIt(stored)) return due;
    if (noted.isOld || isWrittenOver(stored)) journalOf(kind).settle(noted);
    return undefined;
  };

  return {
    getResource: async (key) => (await readRow(session, key))?.row,

    putResource: (write) => again(() => put(write)),

    deleteResource: (key, version) =>
      again(async () => {
        const before = await readRow(session, key);
        const { isApplied } = await session.writeIf({ cql: deleteRow, params: [...keyOf(key), long(version)] });
        if (isApplied && before?.row.version === version) aside(() => endNote(before));
        return isApplied;
      }),

    listResources: async ({ owner, kind }, { limit, bytes, ...range }) => {
      const rows: ResourceRow[] = [];
      const isEnough = createQuota(bytes);
      const statement = inRange(selectRows, [owner, kind], range);
      for await (const page of pagesOf(session, statement, { most: limit, first: firstRows })) {
        for (const row of page.map(fromRow)) {
          rows.push(row);
          if (rows.length === limit || isEnough(resourceBytes(row))) return rows;
        }
      }
      return rows;
    },

    listResourceMarks: async ({ owner, kind }, { limit, ...range }) => {
      const marks: ResourceMark[] = [];
      const statement = inRange(selectMarks, [owner, kind], range);
      for await (const page of pagesOf(session, statement, { most: limit, first: marksAtOnce })) {
        marks.push(...page.map(toMark));
        if (marks.length >= limit) break;
      }
      return marks.slice(0, limit);
    },

    countResources: async ({ owner, kind }, atMost) =>
      (await session.read({ cql: selectVersions, params: [owner, kind, atMost] })).length,

    listDueResources: async (kind, { until, after, limit }) => {
      const found: DueResource[] = [];
      for await (const notes of journalOf(kind).walk(until)) {
        const due = notes
          .map(toDue)
          .filter((one) => one.dueAt <= until && (!after || compareDue(one, after) > 0))
          .toSorted(compareDue);
        for (const some of chunksOf(due, limit)) {
          for (const one of await mapConcurrently(some, (each) => checkDue(kind, each))) {
            if (one) found.push(one);
            if (found.length === limit) return found;
          }
        }
      }
      return found;
    },
  };
}

/** A list of one partition, of the ids of a range. */
const inRange = (cql: string, params: readonly string[], { from, after }: IdRange): Statement => ({
  cql: `${cql} ${after === undefined ? '' : 'AND id < ?'} ${from === undefined ? '' : 'AND id >= ?'}`,
  params: [...params, ...[after, from].filter((id) => id !== undefined)],
});

interface Stored {
  readonly row: ResourceRow;
  readonly attempt: string;
}

async function readRow(session: Session, key: ResourceKey, isSerial = false): Promise<Stored | undefined> {
  const statement = { cql: selectRow, params: keyOf(key) };
  const [row] = await (isSerial ? session.readSerial(statement) : session.read(statement));
  return row && { row: fromRow(row), attempt: String(row['attempt']) };
}

const keyOf = ({ owner, kind, id }: ResourceKey): readonly string[] => [owner, kind, id];

const fromRow = (row: Row): ResourceRow => ({ ...toResource(row), json: fromBlob(row['json']) });

/** When the write took place, if it is the one that is stored. */
const timeOf = (stored: Stored | undefined, { version, attempt }: ResourceWrite): number | undefined =>
  stored?.row.version === version && stored.attempt === attempt ? stored.row.updatedAt : undefined;

/** What writes an object that never changes. */
export const finalStatement = (write: ResourceWrite): Statement => ({ ...statementOf(write), cql: insertFinal });

function statementOf(write: ResourceWrite): Statement {
  const { version, attempt, json, at, dueAt } = write;
  const due = dueAt === undefined ? null : long(dueAt);
  const values = [long(version), attempt, toBlob(json)];
  return makes(write)
    ? { cql: insertRow, params: [...keyOf(write), ...values, long(at), long(at), due] }
    : { cql: updateRow, params: [...values, long(at), due, ...keyOf(write), long(version - 1)] };
}

/** What a note of the journal says: a write with this version and id makes the object due then. */
interface Due extends DueResource {
  readonly attempt: string;
  readonly noted: Noted;
}

const noteOf = (
  { owner, id, version, attempt }: Pick<ResourceWrite, 'owner' | 'id' | 'version' | 'attempt'>,
  dueAt: number,
): Parameters<Journal['note']> => [{ owner, threadId: id }, `${String(dueAt)}/${String(version)}/${attempt}`, dueAt];

function toDue(noted: Noted): Due {
  const [dueAt, version, attempt = ''] = noted.id.split('/');
  return {
    ...{ owner: noted.owner, id: noted.threadId },
    dueAt: Number(dueAt),
    version: Number(version),
    attempt,
    noted,
  };
}

const compareDue = (a: DueResourceMark, b: DueResourceMark): number =>
  a.dueAt - b.dueAt || compareTexts(a.owner, b.owner) || compareTexts(a.id, b.id);

/** As the server orders texts: by their bytes. */
const compareTexts = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));
