import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { MemoryHead } from '../../ports/memory.ts';
import type { ListPage, ListPosition, ListQuery } from '../../ports/records.ts';
import { toListPage } from '../../record/list-page.ts';
import { byRecency, isWithin } from '../../record/order.ts';
import { headColumns, rowsAtOnce, shortRowsAtOnce, toHead } from './rows.ts';

const newestOrder = 'ORDER BY timestamp DESC, memory_id DESC';
const selectHead = `SELECT ${headColumns} FROM memories WHERE owner = ? AND memory_id = ?`;
/** `{}` in place of the metadata. */
const shortColumns = headColumns.replace('metadata', `x'7b7d' AS metadata`);

export const listMemories = async (db: Sqlite, query: ListQuery): Promise<ListPage> =>
  query.narrowing.memoryIds ? listByIds(db, query, query.narrowing.memoryIds) : listNewest(db, query);

async function listByIds(db: Sqlite, query: ListQuery, memoryIds: ReadonlySet<string>): Promise<ListPage> {
  const { owner, narrowing, accepts } = query;
  const yielder = createYielder();
  const heads: MemoryHead[] = [];
  for (const memoryId of memoryIds) {
    const row = db.prepare(selectHead).get(owner, memoryId);
    const head = row && toHead(row);
    if (head && isWithin(narrowing, head) && accepts?.(head) !== false) heads.push(head);
    if (yielder.isDue()) await yielder.yield();
  }
  return toListPage(heads.sort(byRecency), { ...query, accepts: undefined });
}

async function listNewest(db: Sqlite, query: ListQuery): Promise<ListPage> {
  const where = toWhere(query);
  if (query.accepts) return toListPage(newestOf(db, where, { columns: headColumns }), query);
  const { offset = 0, limit, after, without } = query;
  const counted = db.prepare(`SELECT count(*) AS total FROM memories WHERE ${where.where}`).get(...where.values);
  const columns = without === undefined ? headColumns : shortColumns;
  const heads = await Array.fromAsync(newestOf(db, where, { columns, after, offset, limit }));
  return { heads: heads.sort(byRecency).slice(0, limit), total: Number(counted?.['total']) };
}

interface Newest {
  readonly columns: string;
  readonly after?: ListPosition | undefined;
  /** How many to skip. */
  readonly offset?: number;
  readonly limit?: number;
}

/**
 * Newest first, some rows at a time; other work can run between two reads. A memory that is updated then moves to the front, so what has
 * moved there is read again at the end. Each memory comes once.
 */
async function* newestOf(
  db: Sqlite,
  { where, values }: Where,
  { columns, after, offset = 0, limit = Infinity }: Newest,
  seen = new Set<string>(),
): AsyncGenerator<MemoryHead> {
  const yielder = createYielder();
  const isWhole = !after && offset === 0;
  let first: MemoryHead | undefined;
  let position = after;
  let toSkip = offset;
  for (let left = limit; left > 0;) {
    const behind = position ? 'AND (timestamp, memory_id) < (?, ?)' : '';
    const page = `SELECT ${columns} FROM memories WHERE ${where} ${behind} ${newestOrder} LIMIT ? OFFSET ?`;
    const from = position ? [position.timestamp, position.memoryId] : [];
    const count = Math.min(left, columns === headColumns ? rowsAtOnce : shortRowsAtOnce);
    const heads = db
      .prepare(page)
      .all(...values, ...from, count, toSkip)
      .map(toHead);
    const isOneRead = first === undefined && (heads.length < count || left <= count);
    first ??= heads[0];
    for (const head of heads) {
      if (seen.has(head.memoryId)) continue;
      seen.add(head.memoryId);
      yield head;
    }
    position = heads.at(-1);
    if (isOneRead) return;
    if (heads.length < count || !position) break;
    toSkip = 0;
    left -= count;
    if (yielder.isDue()) await yielder.yield();
  }
  if (!isWhole || !first) return;
  const newer = {
    where: `${where} AND (timestamp, memory_id) > (?, ?)`,
    values: [...values, first.timestamp, first.memoryId],
  };
  yield* newestOf(db, newer, { columns }, seen);
}

interface Where {
  readonly where: string;
  readonly values: (string | number)[];
}

function toWhere({ owner, narrowing: { memoryType, category, threadId, aliveAt } }: ListQuery): Where {
  const conditions = ['owner = ?'];
  const values: (string | number)[] = [owner];
  const narrow = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  narrow('(expires_at IS NULL OR expires_at > ?)', aliveAt);
  narrow('memory_type = ?', memoryType);
  narrow('category = ?', category);
  // `thread_id <> ''` lets SQLite use the partial index, which has no memory without a thread.
  narrow(threadId === '' ? 'thread_id = ?' : "thread_id = ? AND thread_id <> ''", threadId);
  return { where: conditions.join(' AND '), values };
}
