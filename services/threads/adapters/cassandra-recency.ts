import type { Head, RecencyMark, ThreadKey, ThreadRow } from '../port.ts';
import type { Announcement, Row, Session, Statement } from './cassandra-client.ts';
import { inTurn, pagesOf } from './cassandra-log.ts';
import { fromListed, long, nothing, toBlob, toListed, type Layout } from './cassandra-rows.ts';
import { hourOf, hourOfSlot, slotOf } from './cassandra-times.ts';

/**
 * The list of an owner's threads by recency. A thread has a row in the slot of its last update; a move to a later slot leaves an
 * empty row behind rather than a tombstone. Hours in which an owner has rows are listed by themselves, so that a page reads as
 * many partitions as it has hours. Writes carry the time that the thread's layout gives, which orders them as their changes were.
 */
export interface Recency {
  /** Before the change is written: the hour may be listed in vain. */
  readonly announce: (owner: string, head: Head) => Announcement;
  readonly put: (key: ThreadKey, head: Head, layout: Layout) => Promise<void>;
  readonly drop: (key: ThreadKey, layout: Layout) => Promise<void>;
  readonly list: (owner: string, page: RecencyPage) => Promise<readonly ThreadRow[]>;
}

interface RecencyPage {
  readonly limit: number;
  readonly offset?: number;
  readonly after?: RecencyMark;
}

const putRow = `INSERT INTO threads_by_recency (owner, hour, slot, thread_id, updated_at, row, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`;
const putHour = 'INSERT INTO hours_by_owner (owner, hour, noted) VALUES (?, ?, true)';
const selectHours = 'SELECT hour FROM hours_by_owner WHERE owner = ? AND hour <= ?';
const selectRows = `SELECT slot, thread_id, updated_at, row, metadata FROM threads_by_recency
  WHERE owner = ? AND hour = ? AND slot <= ?`;

interface RecencyOptions {
  readonly session: Session;
  readonly now: () => number;
  /** Runs what nobody waits for. */
  readonly aside: (work: () => Promise<void>) => void;
}

export function createRecency({ session, now, aside }: RecencyOptions): Recency {
  const announced = createRecent(announcedKept);

  /** Rows in the slots, all empty but for the one of `listed`. */
  const write = async (key: ThreadKey, layout: Layout, listed?: Head): Promise<void> => {
    const present = listed && slotOf(listed.updatedAt);
    const statements = layout.slots.map((slot) => ({
      slot,
      statement: rowOf(key, slot, slot === present ? listed : undefined, layout.listedAt),
    }));
    const [first, ...others] = [...Map.groupBy(statements, ({ slot }) => hourOfSlot(slot)).values()];
    const put = async (group: typeof first = []): Promise<void> =>
      session.write(...group.map(({ statement }) => statement));
    // The present slot comes first: a thread stands in the list twice for a moment rather than not at all.
    if (first) await put(first);
    await Promise.all(others.map(put));
    for (const [left] of others) if (left) aside(() => prune(session, key.owner, hourOfSlot(left.slot), now()));
  };

  return {
    announce: (owner, head) => {
      const hour = hourOf(head.updatedAt);
      const name = JSON.stringify([owner, hour]);
      if (announced.has(name)) return { statements: [] };
      return {
        statements: [{ cql: putHour, params: [owner, long(hour)] }],
        onWritten: () => {
          // What was announced of an hour that is over may have been pruned since.
          if (hour >= hourOf(now())) announced.add(name);
        },
      };
    },
    put: (key, head, layout) => write(key, layout, head),
    drop: (key, layout) => write(key, layout),
    list: (owner, page) => listRecent(session, owner, page),
  };
}

/** Names that are remembered as announced. */
const announcedKept = 10_000;

function rowOf({ owner, threadId }: ThreadKey, slot: number, head: Head | undefined, at: number): Statement {
  const row = head ? [long(head.updatedAt), fromListed(head), toBlob(head.metadata)] : [long(0), '', nothing];
  return { cql: putRow, params: [owner, long(hourOfSlot(slot)), long(slot), threadId, ...row, long(at)] };
}

async function listRecent(
  session: Session,
  owner: string,
  { limit, offset = 0, after }: RecencyPage,
): Promise<readonly ThreadRow[]> {
  const wanted = offset + limit;
  const listed = new Map<string, ThreadRow>();
  for await (const rows of slotsOf(session, owner, after?.updatedAt ?? Number.MAX_SAFE_INTEGER)) {
    const threads = rows.map(toListed).filter((row) => row !== undefined);
    // One that moves while the list is read may stand in it twice: where it stands first is where it is.
    for (const thread of threads.toSorted(byRecency))
      if (!listed.has(thread.threadId) && (!after || byRecency(after, thread) < 0)) listed.set(thread.threadId, thread);
    if (listed.size >= wanted) break;
  }
  return [...listed.values()].slice(offset, wanted);
}

const byRecency = (a: RecencyMark, b: RecencyMark): number =>
  b.updatedAt - a.updatedAt || (a.threadId < b.threadId ? 1 : a.threadId > b.threadId ? -1 : 0);

/** The rows of one slot after another, the newest first. */
async function* slotsOf(session: Session, owner: string, from: number): AsyncGenerator<readonly Row[]> {
  const slot = long(slotOf(from));
  for await (const hours of pagesOf(session, { cql: selectHours, params: [owner, long(hourOf(from))] })) {
    for (const some of growing(hours)) {
      const pages = await inTurn(some, async ({ hour }) => firstPageOf(session, [owner, hour, slot]));
      for (const page of pages) yield* wholeSlots(page);
    }
  }
}

/** 1, 2, 4 … of them: most pages are full after the first. */
function* growing<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0, size = 1; at < items.length; at += size, size = Math.min(size * 2, maxHoursAtOnce))
    yield items.slice(at, at + size);
}

const maxHoursAtOnce = 8;

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

const selectHour = 'SELECT writetime(noted) AS written FROM hours_by_owner WHERE owner = ? AND hour = ?';
const selectRowTimes = 'SELECT row, writetime(row) AS written FROM threads_by_recency WHERE owner = ? AND hour = ?';
const dropRows = 'DELETE FROM threads_by_recency USING TIMESTAMP ? WHERE owner = ? AND hour = ?';
const dropHour = 'DELETE FROM hours_by_owner USING TIMESTAMP ? WHERE owner = ? AND hour = ?';

/** So many hours are left alone, that clocks may differ. */
const hoursOfDoubt = 2;

/** Removes an hour that every thread has left. Whoever writes into it again does so later, and announces it again. */
async function prune(session: Session, owner: string, hour: number, now: number): Promise<void> {
  if (hour > hourOf(now) - hoursOfDoubt) return;
  const params = [owner, long(hour)];
  const [listed] = await session.read({ cql: selectHour, params });
  if (!listed) return;
  let last = 0n;
  for await (const rows of pagesOf(session, { cql: selectRowTimes, params })) {
    if (rows.some((row) => row['row'] !== '')) return;
    for (const row of rows) if ((row['written'] as bigint) > last) last = row['written'] as bigint;
  }
  await session.write({ cql: dropRows, params: [last, ...params] });
  await session.write({ cql: dropHour, params: [listed['written'], ...params] });
}

/** A set that forgets what it was told first. */
export function createRecent(size: number): Pick<Set<string>, 'has'> & { readonly add: (name: string) => void } {
  const names = new Set<string>();
  return {
    has: (name) => names.has(name),
    add: (name) => {
      names.add(name);
      for (const oldest of names) {
        if (names.size <= size) return;
        names.delete(oldest);
      }
    },
  };
}
