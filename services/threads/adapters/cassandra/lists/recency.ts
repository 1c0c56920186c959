import { types } from 'cassandra-driver';
import { createQuota } from '@agent-workflow/kit/pages';
import type { PageLimits, RecencyMark, ThreadRow } from '../../../ports/lists.ts';
import type { Head, ThreadKey } from '../../../ports/record.ts';
import { threadBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Row, Session, Statement } from '../client/client.ts';
import { mapConcurrently, pagesOf } from '../rows/log.ts';
import {
  fromListed,
  long,
  nothing,
  toBlob,
  toListed,
  toListedMetadata,
  type Layout,
  type Listed,
} from '../rows/rows.ts';
import { readHead } from '../change/snapshot.ts';
import { createHours, type Hours } from './hours.ts';
import { hourOf, hourOfSlot, slotOf } from '../rows/times.ts';

/**
 * The list of an owner's threads by recency. A thread has a row in the slot of its last update; a move to a later slot leaves an
 * empty row behind rather than a tombstone. Hours in which an owner has rows are listed by themselves, so that a page reads as
 * many partitions as it has hours. Writes carry the time that the thread's layout gives, which orders them as their changes were.
 */
export interface Recency {
  /** Called before the change is written; if it is not written, the hour is listed without rows. */
  readonly announce: (owner: string, head: Head) => Announcement;
  /** `beside` goes in the same request. */
  readonly put: (key: ThreadKey, head: Head, layout: Layout, beside?: readonly Statement[]) => Promise<void>;
  readonly drop: (key: ThreadKey, layout: Layout) => Promise<void>;
  readonly list: (owner: string, page: RecencyPage) => Promise<readonly ThreadRow[]>;
}

interface RecencyPage extends PageLimits {
  readonly offset?: number;
  readonly after?: RecencyMark | undefined;
}

const putRow = `INSERT INTO threads_by_recency (owner, hour, slot, thread_id, updated_at, row, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`;
const selectRows = `SELECT slot, thread_id, updated_at, row FROM threads_by_recency
  WHERE owner = ? AND hour = ? AND slot <= ?`;
const selectMetadata = `SELECT slot, thread_id, row, metadata FROM threads_by_recency
  WHERE owner = ? AND hour = ? AND (slot, thread_id) IN ?`;

interface RecencyOptions {
  readonly session: Session;
  readonly now: () => number;
  /** Runs work in the background; the store waits for it when it closes. */
  readonly aside: (work: () => Promise<void>) => void;
}

export function createRecency({ session, now, aside }: RecencyOptions): Recency {
  const rows = { table: 'threads_by_recency', column: 'row' };
  const hours = createHours({ session, now, table: 'hours_by_owner', rows });

  /** Rows in the slots, all empty except the one of `listed`. */
  const write = async (
    key: ThreadKey,
    layout: Layout,
    listed?: Head,
    beside: readonly Statement[] = [],
  ): Promise<void> => {
    const present = listed && slotOf(listed.updatedAt);
    const statements = layout.slots.map((slot) => ({
      slot,
      statement: rowOf(key, slot, slot === present ? listed : undefined, layout.listedAt),
    }));
    const [first, ...others] = [...Map.groupBy(statements, ({ slot }) => hourOfSlot(slot)).values()];
    const put = async (group: typeof first = [], more: readonly Statement[] = []): Promise<void> =>
      session.write(...group.map(({ statement }) => statement), ...more);
    // The present slot comes first: for a moment the list has the thread twice rather than not at all.
    if (first) await put(first, beside);
    await Promise.all(others.map((group) => put(group)));
    for (const [left] of others) if (left) aside(() => hours.prune(key.owner, hourOfSlot(left.slot)));
  };

  return {
    announce: (owner, head) => hours.announce(owner, hourOf(head.updatedAt)),
    put: (key, head, layout, beside) => write(key, layout, head, beside),
    drop: (key, layout) => write(key, layout),
    list: (owner, page) => listRecent({ session, hours }, owner, page),
  };
}

function rowOf({ owner, threadId }: ThreadKey, slot: number, head: Head | undefined, at: number): Statement {
  const row = head ? [long(head.updatedAt), fromListed(head), toBlob(head.metadata)] : [long(0), '', nothing];
  return { cql: putRow, params: [owner, long(hourOfSlot(slot)), long(slot), threadId, ...row, long(at)] };
}

interface Lists {
  readonly session: Session;
  readonly hours: Hours;
}

/** Rows are read without their metadata, and the metadata of the page's rows afterwards, in parts that fit into memory. */
async function listRecent(
  { session, hours }: Lists,
  owner: string,
  { limit, offset = 0, after, bytes }: RecencyPage,
): Promise<readonly ThreadRow[]> {
  const page = (await listPlaces({ session, hours }, owner, { limit: offset + limit, after })).slice(offset);
  const threads: ThreadRow[] = [];
  const isEnough = createQuota(bytes);
  for (const some of inBatches(page)) {
    const metadata = await readMetadata(session, owner, some);
    for (const { thread } of some) {
      const row = { ...thread, ...metadata.get(thread.threadId) };
      threads.push(row);
      if (isEnough(threadBytes(row))) return threads;
    }
  }
  return threads;
}

async function listPlaces(
  lists: Lists,
  owner: string,
  { limit, after }: Pick<RecencyPage, 'limit' | 'after'>,
): Promise<readonly Listed[]> {
  const listed = new Map<string, Listed>();
  const take = (rows: readonly Row[]): void => {
    const found = rows.map(toListed).filter((row) => row !== undefined);
    // A thread that moves while the list is read may come twice: its first row is the present one.
    for (const row of found.toSorted((a, b) => byRecency(a.thread, b.thread))) {
      const { thread } = row;
      if (!listed.has(thread.threadId) && (!after || byRecency(after, thread) < 0)) listed.set(thread.threadId, row);
    }
  };
  let newest: number | undefined;
  let reads = 0;
  const onRead = (): void => void (reads += 1);
  for await (const rows of slotsOf(lists, owner, after?.updatedAt ?? Number.MAX_SAFE_INTEGER, onRead)) {
    newest ??= Number(rows[0]?.['slot']);
    take(rows);
    if (listed.size >= limit) break;
  }
  // A thread that moved to the front after that was read, and before its old place was, is in neither: the front is read again.
  if (!after && reads > 1 && newest !== undefined) {
    for await (const rows of slotsOf(lists, owner, Number.MAX_SAFE_INTEGER)) {
      if (Number(rows[0]?.['slot']) < newest) break;
      take(rows);
    }
  }
  return [...listed.values()].sort((a, b) => byRecency(a.thread, b.thread)).slice(0, limit);
}

/** How many rows are completed at once, and how many bytes their metadata may take together. */
const rowsAtOnce = 64;
const metadataBytesAtOnce = 8 * 1024 * 1024;

function* inBatches(rows: readonly Listed[]): Generator<readonly Listed[]> {
  let batch: Listed[] = [];
  let bytes = 0;
  let unread = 0;
  for (const row of rows) {
    const isRead = row.metadataBytes === 0;
    if (
      batch.length > 0 &&
      (bytes + row.metadataBytes > metadataBytesAtOnce || unread + Number(!isRead) > rowsAtOnce)
    ) {
      yield batch;
      [batch, bytes, unread] = [[], 0, 0];
    }
    batch.push(row);
    bytes += row.metadataBytes;
    unread += Number(!isRead);
  }
  if (batch.length > 0) yield batch;
}

/** The metadata of those rows that have some, by thread. */
async function readMetadata(
  session: Session,
  owner: string,
  rows: readonly Listed[],
): Promise<ReadonlyMap<string, Pick<ThreadRow, 'metadata'>>> {
  const found = new Map<string, Pick<ThreadRow, 'metadata'>>();
  const byHour = Map.groupBy(
    rows.filter(({ metadataBytes }) => metadataBytes !== 0),
    ({ slot }) => hourOfSlot(Number(slot)),
  );
  await mapConcurrently([...byHour], async ([hour, some]) => {
    const places = some.map(({ slot, thread }) => new types.Tuple(slot, thread.threadId));
    for (const row of await session.read({ cql: selectMetadata, params: [owner, long(hour), places] })) {
      const metadata = toListedMetadata(row);
      if (row['row'] !== '') found.set(row['thread_id'] as string, metadata ? { metadata } : {});
    }
    // What has left its place since then says by itself what it is.
    for (const { thread } of some) {
      if (found.has(thread.threadId)) continue;
      const { head } = await readHead(session, { owner, threadId: thread.threadId });
      if (head?.metadata) found.set(thread.threadId, { metadata: head.metadata });
    }
  });
  return found;
}

const byRecency = (a: RecencyMark, b: RecencyMark): number =>
  b.updatedAt - a.updatedAt || (a.threadId < b.threadId ? 1 : a.threadId > b.threadId ? -1 : 0);

/** The rows of one slot after another, the newest first. `onRead` is called with each page that is taken from a partition. */
async function* slotsOf(
  { session, hours }: Lists,
  owner: string,
  from: number,
  onRead: () => void = () => undefined,
): AsyncGenerator<readonly Row[]> {
  const slot = long(slotOf(from));
  for await (const some of hours.upTo(owner, hourOf(from))) {
    const pages = await mapConcurrently(some, async (hour) => firstPageOf(session, [owner, long(hour), slot]));
    for (const page of pages) yield* wholeSlots(counted(page, onRead));
  }
}

/** The pages of an hour, of which the first is there already. */
async function firstPageOf(session: Session, params: readonly unknown[]): Promise<AsyncGenerator<readonly Row[]>> {
  const pages = pagesOf(session, { cql: selectRows, params });
  const first = await pages.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* pages;
  })();
}

async function* counted<T>(pages: AsyncIterable<T>, onRead: () => void): AsyncGenerator<T> {
  for await (const page of pages) {
    onRead();
    yield page;
  }
}

async function* wholeSlots(pages: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let slot: Row[] = [];
  for await (const rows of pages) {
    for (const row of rows) {
      if (slot[0] && slot[0]['slot'] !== row['slot']) {
        yield slot;
        slot = [];
      }
      slot.push(row);
    }
  }
  if (slot.length > 0) yield slot;
}
