import { createQuota } from '@agent-workflow/kit/pages';
import type { MessagesPage, ThreadLists } from '../../ports/lists.ts';
import type { ContextPage, StoredState, ThreadReads } from '../../ports/reads.ts';
import type { LogEntry, PlacedEntry, ThreadKey } from '../../ports/record.ts';
import { logBounds } from '../../record/log-bounds.ts';
import { messageBytes, checkpointBytes, traceBytes, undoBytes } from '../../record/row-sizes.ts';
import type { Row, Session } from './client/client.ts';
import {
  isPlacedAlike,
  isUntouched,
  readAt,
  readEntries,
  readNewest,
  readRanges,
  skip,
  pagesOf,
  type Log,
} from './rows/log.ts';
import {
  hasTrace,
  isGone,
  long,
  toEntry,
  toHead,
  toLayout,
  toCheckpoint,
  toTrace,
  toUndo,
  type Layout,
  type Seen,
} from './rows/rows.ts';
import { kinds } from './rows/schema.ts';
import { createWatch, headName, nameOfField, readHead, toFields, toTuple } from './change/snapshot.ts';
import { subtract, within, type Range } from './rows/ranges.ts';
import { pauseBetweenTries } from './change/change.ts';
import type { ThreadHistory } from '../../ports/history.ts';

type Reading = Omit<ThreadReads, 'getRun'> & Pick<ThreadLists, 'listMessages'>;

const ofThread = 'owner = ? AND thread_id = ?';
const selectState = `SELECT kind, stamp, head, layout, id, field, generation FROM thread
  WHERE ${ofThread} AND kind <= ${kinds.field}`;
const selectNamedFields = `SELECT kind, stamp, head, layout, id, field, generation FROM thread
  WHERE ${ofThread} AND (kind, n, id) IN ?`;
const selectMessageId = `SELECT position FROM thread WHERE ${ofThread} AND kind = ${kinds.messageId} AND n = 0 AND id = ?`;
const selectPage = `SELECT rolled_to, n, message_id, json, version FROM thread WHERE ${ofThread} AND kind = ${kinds.log} AND n > ? AND n < ?`;
const selectNewestPage = `${selectPage} ORDER BY kind DESC, n DESC`;

export function createReading({ session, deadlineMs }: ReadByOptions): Reading {
  const readBy = createReadBy({ session, deadlineMs });
  const stateRows = async ({ owner, threadId }: ThreadKey): Promise<readonly Row[]> =>
    session.read({ cql: selectState, params: [owner, threadId] });

  const namedRows = async ({ owner, threadId }: ThreadKey, names: readonly string[]): Promise<readonly Row[]> =>
    session.read({
      cql: selectNamedFields,
      params: [owner, threadId, [headName, ...names.map(nameOfField)].map(toTuple)],
    });

  const context = async (log: Log): Promise<readonly LogEntry[]> => readRanges(session, log, log.layout.context);

  return {
    getHead: async (key) => (await readHead(session, key)).head,

    getState: async (key, maxBytes = Infinity) => {
      let rows: readonly Row[] = [];
      const first = async (): Promise<Found> => headIn((rows = await stateRows(key)));
      const read = async (log: Log): Promise<StoredState> => {
        const isSmall = (sizeIn(rows) ?? maxBytes) < maxBytes || maxBytes === Infinity;
        const page = isSmall
          ? { entries: await context(log), bottom: 0 }
          : await readNewest(session, log, log.layout.context, maxBytes);
        const { entries, bottom } = page;
        return {
          fields: fieldsIn(rows, log.layout),
          context: entries.map(({ json }) => json),
          isTruncated: bottom > 0,
        };
      };
      return (
        (await readBy(key, { isAlike: isUntouched, first, read })) ?? { fields: {}, context: [], isTruncated: false }
      );
    },

    getFields: async (key, names) => {
      const rows = await (names ? namedRows(key, names) : stateRows(key));
      return fieldsIn(rows, headIn(rows).layout);
    },

    listContext: async (key, { below = Number.MAX_SAFE_INTEGER, maxBytes }) => {
      let seen: Seen | undefined;
      const first = async (): Promise<Seen> => (seen = await readHead(session, key));
      const read = async (log: Log): Promise<ContextPage> => {
        if ((seen?.head?.size.context ?? maxBytes) < maxBytes && below === Number.MAX_SAFE_INTEGER)
          return { entries: await context(log), bottom: 0 };
        const ranges = subtract(log.layout.context, [[below, Number.MAX_SAFE_INTEGER]]);
        return readNewest(session, log, ranges, maxBytes);
      };
      return (await readBy(key, { isAlike: isUntouched, first, read })) ?? { entries: [], bottom: 0 };
    },

    listMessages: async (key, page) => {
      const known = await readShortPage(session, key, page);
      if (known) return known;
      // The newest rows are read first: stamps beside them say nothing of the segments that are read later, so the head is read again.
      const seenBy = (log: Log): Log => (page.newestFirst ? { key: log.key, layout: log.layout } : log);
      const read = (log: Log): Promise<readonly LogEntry[]> => readPage(session, seenBy(log), page);
      return (await readBy(key, { isAlike: isPlacedAlike, read })) ?? [];
    },

    getEntries: async (key, positions) => {
      const read = async (log: Log): Promise<readonly PlacedEntry[]> => {
        const entries = await readAt(session, log, positions);
        return entries.map((entry) => ({ ...entry, inContext: within(log.layout.context, entry.position) }));
      };
      return (await readBy(key, { isAlike: isUntouched, read })) ?? [];
    },

    getMessage: async (key, messageId) => {
      const [row] = await session.read({ cql: selectMessageId, params: [key.owner, key.threadId, messageId] });
      if (!row) return undefined;
      const read = (log: Log): Promise<readonly LogEntry[]> => readAt(session, log, [Number(row['position'])]);
      const [entry] = (await readBy(key, { isAlike: isPlacedAlike, read })) ?? [];
      return entry?.messageId === messageId ? entry : undefined;
    },
  };
}

function headIn(rows: readonly Row[]): Found {
  const row = rows.find(({ kind }) => kind === kinds.head);
  return { stamp: row && String(row['stamp']), layout: row && toLayout(row['layout'] as string) };
}

/** The context's size; `undefined` without the thread. */
function sizeIn(rows: readonly Row[]): number | undefined {
  const row = rows.find(({ kind }) => kind === kinds.head);
  return row && toHead(row).size.context;
}

const fieldsIn = (rows: readonly Row[], layout: Layout | undefined): StoredState['fields'] =>
  toFields(
    rows.filter(({ kind }) => kind === kinds.field),
    layout?.generation,
  );

/** Pages of up to so many entries are tried without reading the head. */
const shortPage = 200;

/** A page that is wholly in the thread's partition; `undefined` when it is not. */
async function readShortPage(
  session: Session,
  { owner, threadId }: ThreadKey,
  page: MessagesPage,
): Promise<readonly LogEntry[] | undefined> {
  const { limit, offset = 0, bytes, newestFirst } = page;
  if (offset > 0 || limit > shortPage) return undefined;
  const { above, below } = logBounds(page);
  const params = [owner, threadId, long(above), long(below)];
  const cql = newestFirst ? selectNewestPage : selectPage;
  const { rows, next } = await session.readPage({ cql, params }, { rows: limit });
  const [first] = rows;
  if (!first) return undefined;
  const entries: LogEntry[] = [];
  const isEnough = createQuota(bytes);
  let isFull = false;
  for (const row of rows) {
    if (isGone(row)) continue;
    const entry = toEntry(row);
    entries.push(entry);
    isFull = isEnough(messageBytes(entry)) || entries.length === limit;
    if (isFull) break;
  }
  // The page holds all entries from there on: it is in the partition when none of these has rolled over.
  const lowest = newestFirst && isFull ? (entries.at(-1)?.position ?? 0) : above + 1;
  return Number(first['rolled_to']) <= lowest && (isFull || next === undefined) ? entries : undefined;
}

async function readPage(session: Session, log: Log, page: MessagesPage): Promise<readonly LogEntry[]> {
  const { limit, offset = 0, bytes, newestFirst = false } = page;
  const { above, below } = logBounds(page);
  let range: Range = [above + 1, below - 1];
  if (offset > 0) {
    const place = await skip(session, log, { range, newestFirst, count: offset });
    if (place === undefined) return [];
    range = newestFirst ? [range[0], place] : [place, range[1]];
  }
  const entries: LogEntry[] = [];
  const isEnough = createQuota(bytes);
  for await (const some of readEntries(session, log, { range, newestFirst })) {
    for (const entry of some) {
      entries.push(entry);
      if (entries.length === limit || isEnough(messageBytes(entry))) return entries;
    }
  }
  return entries;
}

interface ReadByOptions {
  readonly session: Session;
  readonly deadlineMs: number;
}

/** Which head the rows belong to, and how it places them. */
type Found = Pick<Seen, 'stamp' | 'layout'>;

interface ReadBy<T> {
  readonly first?: () => Promise<Found>;
  readonly read: (log: Log) => Promise<T>;
  readonly isAlike: (layout: Layout, now: Layout | undefined) => boolean;
}

type ReadByLayout = <T>(key: ThreadKey, by: ReadBy<T>) => Promise<T | undefined>;

/**
 * Reads by the layout of a head. Rows of the thread's partition carry the stamp of their head; when that does not
 * decide, the head is read again, and when it has changed in a way that matters, all is read again.
 */
const createReadBy =
  ({ session, deadlineMs }: ReadByOptions): ReadByLayout =>
  async <T>(
    key: ThreadKey,
    { isAlike, read, first = () => readHead(session, key) }: ReadBy<T>,
  ): Promise<T | undefined> => {
    const until = Date.now() + deadlineMs;
    for (let tries = 1; ; tries += 1) {
      const { layout, stamp } = await first();
      if (!layout) return undefined;
      const watch = createWatch(stamp);
      const result = await read({ key, layout, saw: watch.saw });
      if (watch.isSteady() && watch.hasSeen()) return result;
      if (isAlike(layout, (await readHead(session, key)).layout)) return result;
      await pauseBetweenTries(tries, until);
    }
  };

const ofCheckpoints = `owner = ? AND thread_id = ? AND kind = ${kinds.checkpoint}`;
const newestFirst = 'ORDER BY kind DESC, n DESC, id DESC LIMIT ?';
const selectCheckpoints = `SELECT n, checkpoint, metadata FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectVersions = `SELECT n FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectUndos = `SELECT n, undo FROM thread WHERE ${ofCheckpoints} AND n > ? AND n < ? ${newestFirst}`;

const tracesOf = (columns: string): string =>
  `SELECT n, ${columns} FROM thread WHERE ${ofCheckpoints} AND n >= ? AND n <= ?`;
const selectTraces = tracesOf('trace');
const selectTracesWithContent = tracesOf('trace, trace_content');

async function* tracesIn(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  for await (const rows of pages) yield rows.filter(hasTrace);
}

/** Rows read at once that may have the largest metadata, and undos, each as large as what one step changed. */
const metadataAtOnce = 64;
const undosAtOnce = 4;

/** Traces read first, and at once where those before were small: each has up to 256 KiB of spans and 1 MiB of content. */
const firstTraces = 4;
const tracesAtOnce = 64;
const contentsAtOnce = 16;

/** The checkpoints of a thread are in its partition. A page of them needs no head. */
export const createHistory = (session: Session): ThreadHistory => ({
  listCheckpoints: async (key, { limit, offset = 0, below = Number.MAX_SAFE_INTEGER, bytes }) => {
    const start = offset === 0 ? below : await skipCheckpoints(session, key, below, offset);
    const params = [key.owner, key.threadId, long(start), limit];
    const pages = pagesOf(session, { cql: selectCheckpoints, params }, { most: metadataAtOnce });
    return take(pages, toCheckpoint, checkpointBytes, bytes);
  },

  listUndos: async ({ owner, threadId }, { above, below = Number.MAX_SAFE_INTEGER, limit, bytes }) => {
    const params = [owner, threadId, long(above), long(below), limit];
    return take(pagesOf(session, { cql: selectUndos, params }, { most: undosAtOnce }), toUndo, undoBytes, bytes);
  },

  listTraces: async ({ owner, threadId }, { from, to, withContent, bytes }) => {
    const params = [owner, threadId, long(from), long(to)];
    const cql = withContent ? selectTracesWithContent : selectTraces;
    const most = withContent ? contentsAtOnce : tracesAtOnce;
    const pages = pagesOf(session, { cql, params }, { first: firstTraces, most });
    return take(tracesIn(pages), toTrace, traceBytes, bytes);
  },
});

/** The version below which the list continues after `count` others; 0 when there are no more. */
async function skipCheckpoints(
  session: Session,
  { owner, threadId }: ThreadKey,
  below: number,
  count: number,
): Promise<number> {
  let left = count;
  const statement = { cql: selectVersions, params: [owner, threadId, long(below), count] };
  for await (const rows of pagesOf(session, statement)) {
    const last = rows[left - 1];
    if (last) return Number(last['n']);
    left -= rows.length;
  }
  return 0;
}

/** The items of a list that is read page by page, as far as it is to hold more than `bytes`. */
async function take<T>(
  pages: AsyncIterable<readonly Row[]>,
  toItem: (row: Row) => T,
  sizeOf: (item: T) => number,
  bytes: number | undefined,
): Promise<readonly T[]> {
  const items: T[] = [];
  const isEnough = createQuota(bytes);
  for await (const rows of pages) {
    for (const row of rows) {
      const item = toItem(row);
      items.push(item);
      if (isEnough(sizeOf(item))) return items;
    }
  }
  return items;
}
