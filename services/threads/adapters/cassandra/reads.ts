import { createQuota } from '@agent-workflow/kit/pages';
import type {
  ContextPage,
  LogEntry,
  MeasuredSize,
  PlacedEntry,
  StoredState,
  ThreadKey,
  ThreadStore,
} from '../../ports/port.ts';
import { checkpointBytes, messageBytes, undoBytes } from '../../record/row-sizes.ts';
import { pause } from './change.ts';
import type { Row, Session } from './client.ts';
import {
  isPlacedAlike,
  isUntouched,
  measureSpans,
  pagesOf,
  readAt,
  readEntries,
  readNewest,
  readSpans,
  skip,
  type Log,
} from './log.ts';
import { isGone, long, toCheckpoint, toEntry, toHead, toLayout, toUndo, type Layout, type Seen } from './rows.ts';
import { kinds } from './schema.ts';
import { createWatch, lookAtHead, toFields } from './snapshot.ts';
import { subtract, within } from './spans.ts';
import { sizeOfFields } from '../../record/size.ts';

type Reading = Pick<
  ThreadStore,
  | 'getHead'
  | 'getState'
  | 'measure'
  | 'getFields'
  | 'listMessages'
  | 'listContext'
  | 'getEntries'
  | 'listCheckpoints'
  | 'listUndos'
  | 'getMessage'
>;

interface ReadingOptions {
  readonly session: Session;
  readonly deadlineMs: number;
}

const ofThread = 'owner = ? AND thread_id = ?';
const selectState = `SELECT kind, stamp, head, layout, id, field, generation FROM thread
  WHERE ${ofThread} AND kind <= ${kinds.field}`;
const selectMessageId = `SELECT position FROM thread WHERE ${ofThread} AND kind = ${kinds.messageId} AND n = 0 AND id = ?`;
const selectPage = `SELECT rolled_to, n, message_id, json FROM thread WHERE ${ofThread} AND kind = ${kinds.log} AND n > ? AND n < ?`;
const ofCheckpoints = `${ofThread} AND kind = ${kinds.checkpoint}`;
const newestFirst = 'ORDER BY kind DESC, n DESC, id DESC LIMIT ?';
const selectCheckpoints = `SELECT n, checkpoint, metadata FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectVersions = `SELECT n FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectUndos = `SELECT n, undo FROM thread WHERE ${ofCheckpoints} AND n > ? AND n < ? ${newestFirst}`;

/** Rows read at once that may have the largest metadata, and undos, each as large as what one step changed. */
const metadataAtOnce = 64;
const undosAtOnce = 4;

export function createReading({ session, deadlineMs }: ReadingOptions): Reading {
  /**
   * Reads by the layout of a head. Rows that are read in the thread's partition tell which head they belong to; when that does not
   * settle it, the head is looked at again, and when it has changed in a way that matters, all is read again.
   */
  const readBy = async <T>(
    key: ThreadKey,
    { isAlike, read, first = () => lookAtHead(session, key) }: ReadBy<T>,
  ): Promise<T | undefined> => {
    const until = Date.now() + deadlineMs;
    for (let tries = 1; ; tries += 1) {
      const { layout, stamp } = await first();
      if (!layout) return undefined;
      const watch = createWatch(stamp);
      const result = await read({ key, layout, saw: watch.saw });
      if (watch.isSteady() && watch.hasSeen()) return result;
      if (isAlike(layout, (await lookAtHead(session, key)).layout)) return result;
      await pause(tries, until);
    }
  };

  const stateRows = async ({ owner, threadId }: ThreadKey): Promise<readonly Row[]> =>
    session.read({ cql: selectState, params: [owner, threadId] });

  const context = async (log: Log): Promise<readonly LogEntry[]> => readSpans(session, log, log.layout.context);

  return {
    getHead: async (key) => (await lookAtHead(session, key)).head,

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

    measure: async (key) => {
      let rows: readonly Row[] = [];
      const first = async (): Promise<Found> => headIn((rows = await stateRows(key)));
      const read = async (log: Log): Promise<MeasuredSize> => ({
        version: versionIn(rows),
        fields: sizeOfFields(fieldsIn(rows, log.layout)),
        context: await measureSpans(session, log, log.layout.context),
      });
      return readBy(key, { isAlike: isUntouched, first, read });
    },

    getFields: async (key) => {
      const rows = await stateRows(key);
      return fieldsIn(rows, headIn(rows).layout);
    },

    listContext: async (key, { below = Number.MAX_SAFE_INTEGER, maxBytes }) => {
      let seen: Seen | undefined;
      const first = async (): Promise<Seen> => (seen = await lookAtHead(session, key));
      const read = async (log: Log): Promise<ContextPage> => {
        if ((seen?.head?.size?.context ?? maxBytes) < maxBytes && below === Number.MAX_SAFE_INTEGER)
          return { entries: await context(log), bottom: 0 };
        const spans = subtract(log.layout.context, [[below, Number.MAX_SAFE_INTEGER]]);
        return readNewest(session, log, spans, maxBytes);
      };
      return (await readBy(key, { isAlike: isUntouched, first, read })) ?? { entries: [], bottom: 0 };
    },

    listMessages: async (key, page) => {
      const known = await readShortPage(session, key, page);
      if (known) return known;
      return (await readBy(key, { isAlike: isPlacedAlike, read: (log) => readPage(session, log, page) })) ?? [];
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
      return entry?.messageId === messageId ? entry.json : undefined;
    },

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
  };
}

/** The version below which the list goes on behind `count` others; 0 when there are no more. */
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

/** Which head the rows belong to, and how it places them. */
type Found = Pick<Seen, 'stamp' | 'layout'>;

interface ReadBy<T> {
  readonly first?: () => Promise<Found>;
  readonly read: (log: Log) => Promise<T>;
  readonly isAlike: (layout: Layout, now: Layout | undefined) => boolean;
}

function headIn(rows: readonly Row[]): Found {
  const row = rows.find(({ kind }) => kind === kinds.head);
  return { stamp: row && String(row['stamp']), layout: row && toLayout(row['layout'] as string) };
}

/** What the head says of the context's size; `undefined` where it does not. */
function sizeIn(rows: readonly Row[]): number | undefined {
  const row = rows.find(({ kind }) => kind === kinds.head);
  return row && toHead(row).size?.context;
}

function versionIn(rows: readonly Row[]): number {
  const row = rows.find(({ kind }) => kind === kinds.head);
  return row ? toHead(row).version : 0;
}

const fieldsIn = (rows: readonly Row[], layout: Layout | undefined): StoredState['fields'] =>
  toFields(
    rows.filter(({ kind }) => kind === kinds.field),
    layout?.generation,
  );

type MessagesPage = Parameters<ThreadStore['listMessages']>[1];

/** Entries that are read without a look at the head. */
const shortPage = 200;

/** A page that the thread's partition has whole; `undefined` when there is more to it. */
async function readShortPage(
  session: Session,
  { owner, threadId }: ThreadKey,
  { limit, offset = 0, after = -1, below = Number.MAX_SAFE_INTEGER, bytes }: MessagesPage,
): Promise<readonly LogEntry[] | undefined> {
  if (offset > 0 || limit > shortPage) return undefined;
  const params = [owner, threadId, long(after), long(below)];
  const { rows, next } = await session.readPage({ cql: selectPage, params }, { rows: limit });
  const isHere = rows[0] !== undefined && Number(rows[0]['rolled_to']) <= after + 1;
  const entries: LogEntry[] = [];
  const isEnough = createQuota(bytes);
  for (const row of rows) {
    if (isGone(row)) continue;
    const entry = toEntry(row);
    entries.push(entry);
    if (isEnough(messageBytes(entry))) return isHere ? entries : undefined;
  }
  return isHere && (next === undefined || entries.length === limit) ? entries : undefined;
}

async function readPage(
  session: Session,
  log: Log,
  { limit, offset = 0, after = -1, below = Number.MAX_SAFE_INTEGER, bytes }: MessagesPage,
): Promise<readonly LogEntry[]> {
  const last = below - 1;
  const first = offset === 0 ? after + 1 : await skip(session, log, [after + 1, last], offset);
  if (first === undefined) return [];
  const entries: LogEntry[] = [];
  const isEnough = createQuota(bytes);
  for await (const some of readEntries(session, log, [first, last])) {
    for (const entry of some) {
      entries.push(entry);
      if (entries.length === limit || isEnough(messageBytes(entry))) return entries;
    }
  }
  return entries;
}
