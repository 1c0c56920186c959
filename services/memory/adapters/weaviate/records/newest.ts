import { unavailable } from '@agent-workflow/kit/errors';
import type { ListPosition } from '../../../ports/records.ts';
import { allOf, countRows, findRows, type Row, type Where } from '../client/queries.ts';
import type { Scope } from '../client/weaviate.ts';
import { headFields, toHex } from '../objects/objects.ts';
import { eachById, idOf, readableOf, type Reads } from './by-id.ts';
import { followChanges, type FollowedChanges } from './changes.ts';

interface Newest {
  readonly scope: Scope;
  readonly where?: Where | undefined;
  readonly after?: ListPosition | undefined;
  /** By which time they are ordered: when they were stored or updated, unless given. Objects without the other are left out. */
  readonly by?: 'at' | 'happenedAt';
  /** How many objects one request reads, and how many it reads by their ids. */
  readonly atOnce: number;
  readonly atOnceById?: number;
  readonly fields?: string;
}

/** One read of the newest objects. */
interface NewestRows {
  /** Newest first, then the greater id, each object once. They are read lazily: no more than the caller takes. */
  readonly rows: AsyncIterable<Row>;
  /**
   * The objects that `rows` may have missed, in no order, whether they meet `where` or not: those that were replaced meanwhile. It is
   * called when the caller has taken enough of `rows`.
   */
  readonly missed: () => AsyncIterable<Row>;
  /** The ids of all that were replaced meanwhile, when `missed` was read. */
  readonly replaced: () => Promise<ReadonlySet<string>>;
}

/** The objects that meet `where`: an object that meets it before, during and after the read is in `rows` or in `missed`. */
export function newestRows(reads: Reads, newest: Newest): NewestRows {
  const { scope, fields = headFields, atOnceById = newest.atOnce } = newest;
  const changes = followChanges(reads.changes, scope);
  const seen = new Set<string>();
  const unseen = async function* (rows: AsyncIterable<Row>): AsyncGenerator<Row> {
    for await (const row of rows) {
      if (seen.has(idOf(row))) continue;
      seen.add(idOf(row));
      yield row;
    }
  };
  const replaced = async (): Promise<ReadonlySet<string>> => (await changes.collect()).replaced;
  return {
    replaced,
    rows: unseen(readNewest(reads, { ...newest, fields }, changes)),
    missed: async function* () {
      const ids = [...(await replaced())].filter((id) => !seen.has(id));
      yield* unseen(eachById(reads, { scope, ids, fields, atOnce: atOnceById }));
    },
  };
}

/** How often a query may find nothing where a count says that there is something. */
const maxTries = 3;

export const disagreeing = (): Error =>
  unavailable('the memories are being changed: what was read three times was not the same');

/** The same by the time of what the memories describe, and without one by when they were stored or updated. */
export function newestByTime(reads: Reads, newest: Newest): Pick<NewestRows, 'rows' | 'missed'> {
  const stored = newestRows(reads, newest);
  const happened = newestRows(reads, { ...newest, by: 'happenedAt' });
  const seen = new Set<string>();
  const isNew = (row: Row): boolean => !seen.has(idOf(row)) && seen.add(idOf(row)).size > 0;
  return {
    rows: merged(stored.rows, happened.rows, isNew),
    missed: async function* () {
      for (const { missed } of [stored, happened]) for await (const row of missed()) if (isNew(row)) yield row;
    },
  };
}

/** Two orders as one; a row with a time of its own stands in the second alone. */
async function* merged(
  stored: AsyncIterable<Row>,
  happened: AsyncIterable<Row>,
  isNew: (row: Row) => boolean,
): AsyncGenerator<Row> {
  const [others, own] = [stored[Symbol.asyncIterator](), happened[Symbol.asyncIterator]()];
  const nextOther = async (): Promise<Row | undefined> => {
    for (;;) {
      const { done, value } = (await others.next()) as IteratorResult<Row, undefined>;
      if (done === true || typeof value['happenedAt'] !== 'number') return value;
    }
  };
  const nextOwn = async (): Promise<Row | undefined> => ((await own.next()) as IteratorResult<Row, undefined>).value;
  let [other, mine] = await Promise.all([nextOther(), nextOwn()]);
  while (other || mine) {
    const isMine = mine !== undefined && !(other && Number(other['at']) > Number(mine['happenedAt']));
    const row = isMine ? mine : other;
    if (row && isNew(row)) yield row;
    if (isMine) mine = await nextOwn();
    else other = await nextOther();
  }
}

/** Yields the objects that no change hides, newest first, then the greater id. */
async function* readNewest(
  { weaviate, onUnreadable }: Reads,
  { scope, where: given, after, by = 'at', atOnce, fields = headFields }: Newest,
  changes: FollowedChanges,
): AsyncGenerator<Row> {
  const atOf = (row: Row | undefined): number => Number(row?.[by]);
  const isAt = (operator: 'Equal' | 'LessThan', valueNumber: number): Where => ({ operator, path: [by], valueNumber });
  const byAtAndId = (a: Row, b: Row): number => atOf(b) - atOf(a) || (String(a['idHex']) < String(b['idHex']) ? 1 : -1);
  const where = by === 'at' ? given : allOf([given, { operator: 'GreaterThanEqual', path: [by], valueNumber: 0 }]);
  const find = async (condition: Where | undefined, sort: 'at' | 'happenedAt' | 'idHex'): Promise<Row[]> =>
    findRows(weaviate, {
      scope,
      fields,
      limit: atOnce,
      where: allOf([where, condition]),
      sort: { path: sort, order: 'desc' },
    });
  /** Whether nothing more meets the condition of a query that missed no more than `count`. */
  const isLast = async (rows: readonly Row[], count: number, condition: Where | undefined): Promise<boolean> =>
    rows.length + count < atOnce ||
    (rows.length === 0 && (await countRows(weaviate, { scope, where: allOf([where, condition]) })) === 0);

  // Weaviate sorts fast by one property only. So rows are read by time, and rows of one timestamp are read again by id.
  let position = after && { at: after.timestamp, idHex: toHex(after.memoryId) };
  for (let tries = 0; tries < maxTries;) {
    const isTied: Where | undefined = position && allOf([isAt('Equal', position.at), isBelow(position.idHex)]);
    const isOlder: Where | undefined = position && isAt('LessThan', position.at);
    changes.begin();
    const [tied, older]: [Row[], Row[]] = await Promise.all([isTied ? find(isTied, 'idHex') : [], find(isOlder, by)]);
    await changes.collectInTime();
    const { count } = tied.length < atOnce || older.length < atOnce ? await changes.collect() : { count: 0 };

    const ties = readableOf(tied, onUnreadable);
    yield* ties;
    if (position && !(await isLast(tied, count, isTied))) {
      const lowest = ties.at(-1);
      if (lowest) position = { at: position.at, idHex: String(lowest['idHex']) };
      tries = ties.length > 0 ? 0 : tries + 1;
      continue;
    }
    const rows = readableOf(older, onUnreadable);
    const oldest = atOf(rows.at(-1));
    const isEnd = await isLast(older, count, isOlder);
    yield* rows.filter((row) => isEnd || atOf(row) > oldest).sort(byAtAndId);
    if (isEnd) return;
    if (rows.length > 0) position = { at: oldest, idHex: afterAllHex };
    tries = rows.length > 0 ? 0 : tries + 1;
  }
  throw disagreeing();
}

/** Sorts after every hex digit. */
const afterAllHex = 'g';

const isBelow = (valueText: string): Where => ({ operator: 'LessThan', path: ['idHex'], valueText });
