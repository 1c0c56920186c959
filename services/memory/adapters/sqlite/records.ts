import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { MemoryRecord, MemoryHead } from '../../ports/memory.ts';
import type { MemoryRecords, IdempotentRequest, ListPage, ListPosition, ListQuery } from '../../ports/records.ts';
import {
  fromKeptRemoval,
  fromKeptUpdate,
  toKeptRemoval,
  toKeptUpdate,
  toRemoved,
  toUpdated,
} from '../../record/outcomes.ts';
import type { KeywordIndex } from './keyword-index.ts';
import { headColumns, headOf, toBytes, toStored, valuesOf, rowsAtOnce, shortRowsAtOnce, toHead } from './rows.ts';
import type { VectorCache } from './vector-cache.ts';
import { createYielder } from '@agent-workflow/kit/yielder';
import { toListPage } from '../../record/list-page.ts';
import { byRecency, isWithin } from '../../record/order.ts';

interface Parts {
  readonly db: Sqlite;
  readonly index: KeywordIndex;
  readonly cache: VectorCache;
}

const insertMemory = `INSERT INTO memories (owner, ${headColumns}, vector, content, vector_json)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const updateMemory = `UPDATE memories SET memory_type = ?, category = ?, thread_id = ?, timestamp = ?, happened_at = ?, expires_at = ?, metadata = ?,
  vector = ?, content = ?, vector_json = ? WHERE seq = ?`;
const selectMemory = `SELECT seq, ${headColumns}, content, vector_json FROM memories WHERE owner = ? AND memory_id = ?`;
const deleteMemory =
  'DELETE FROM memories WHERE owner = ? AND memory_id = ? AND ifnull(expires_at, 0) <= ? RETURNING seq';
const selectExpired = 'SELECT owner, memory_id FROM memories WHERE expires_at <= ? LIMIT ?';
/** How many expired memories are removed at once. */
const expiredAtOnce = 200;

export function createRecords({ db, index, cache }: Parts): MemoryRecords {
  /** Runs a write that changes the cache too. A write that fails drops the owner from the cache, which may hold its changes. */
  const writeFor = async <T>(owner: string, work: () => T): Promise<T> => {
    try {
      return await db.write(work);
    } catch (error) {
      cache.drop(owner);
      throw error;
    }
  };

  const putInCache = (owner: string, seq: number, memory: MemoryRecord): void => {
    const row = { seq, metadataBytes: memory.metadataJson.byteLength };
    cache.get(owner)?.put(headOf(memory), toBytes(memory.vector), row);
  };

  /** Removes a memory; with `expiredBy` only when it has expired by then. */
  const removeOne = (owner: string, memoryId: string, expiredBy = Number.MAX_SAFE_INTEGER): boolean => {
    const row = db.prepare(deleteMemory).get(owner, memoryId, expiredBy);
    if (!row) return false;
    index.remove(Number(row['seq']));
    cache.get(owner)?.remove(memoryId);
    return true;
  };

  return {
    put: async (owner, memory) =>
      writeFor(owner, () => {
        const { changes, lastInsertRowid } = db.prepare(insertMemory).run(owner, memory.memoryId, ...valuesOf(memory));
        if (changes === 0) return false;
        const seq = Number(lastInsertRowid);
        index.add({ seq, owner, content: memory.content });
        putInCache(owner, seq, memory);
        return true;
      }),

    update: async (owner, memoryId, change, request) =>
      writeFor(owner, () => {
        const kept = request && findOutcome(db, owner, request);
        if (kept) return fromKeptUpdate(kept);
        const row = db.prepare(selectMemory).get(owner, memoryId);
        if (!row) return undefined;
        const memory = change(toStored(row));
        const seq = Number(row['seq']);
        db.prepare(updateMemory).run(...valuesOf(memory), seq);
        index.replace({ seq, owner, content: memory.content });
        putInCache(owner, seq, memory);
        const updated = toUpdated(memory);
        if (request) keepOutcome(db, { owner, request, outcome: toKeptUpdate(updated) });
        return updated;
      }),

    findUpdated: async (owner, request) => {
      const kept = findOutcome(db, owner, request);
      return Promise.resolve(kept && fromKeptUpdate(kept));
    },

    get: async (owner, memoryIds) =>
      Promise.resolve(
        memoryIds.flatMap((memoryId) => {
          const row = db.prepare(selectMemory).get(owner, memoryId);
          return row ? [toStored(row)] : [];
        }),
      ),

    remove: async (owner, memoryIds, request) =>
      writeFor(owner, () => {
        const kept = request && findOutcome(db, owner, request);
        if (kept) return fromKeptRemoval(kept);
        const removed = toRemoved(memoryIds.filter((memoryId) => removeOne(owner, memoryId)));
        if (request) keepOutcome(db, { owner, request, outcome: toKeptRemoval(removed) });
        return removed;
      }),

    list: async (query) => listMemories(db, query),

    removeExpired: async (at) => {
      for (;;) {
        const expired = db.prepare(selectExpired).all(at, expiredAtOnce);
        for (const [owner, rows] of Map.groupBy(expired, (row) => String(row['owner'])))
          await writeFor(owner, () => rows.filter((row) => removeOne(owner, String(row['memory_id']), at)).length);
        if (expired.length < expiredAtOnce) return;
      }
    },
  };
}

/** The outcome that was kept of a request; `undefined` when the request was not applied, or its outcome has expired. */
function findOutcome(db: Sqlite, owner: string, { id, at }: IdempotentRequest): Uint8Array | undefined {
  const row = db.prepare('SELECT outcome FROM requests WHERE owner = ? AND id = ? AND until > ?').get(owner, id, at);
  return row?.['outcome'] as Uint8Array | undefined;
}

/** How many expired outcomes are deleted for each that is kept: more than one, so that the table shrinks. */
const deletedAtOnce = 4;

/** Keeps a request's outcome. It runs in the transaction of the request's effect, so that both are there or neither is. */
function keepOutcome(
  db: Sqlite,
  {
    owner,
    request,
    outcome,
  }: { readonly owner: string; readonly request: IdempotentRequest; readonly outcome: Uint8Array },
): void {
  const { id, at, keptMs } = request;
  for (const expired of db.prepare('SELECT rowid FROM requests WHERE until <= ? LIMIT ?').all(at, deletedAtOnce))
    db.prepare('DELETE FROM requests WHERE rowid = ?').run(Number(expired['rowid']));
  const put = 'INSERT OR REPLACE INTO requests (owner, id, until, outcome) VALUES (?, ?, ?, ?)';
  db.prepare(put).run(owner, id, at + keptMs, outcome);
}

const newestOrder = 'ORDER BY timestamp DESC, memory_id DESC';
const selectHead = `SELECT ${headColumns} FROM memories WHERE owner = ? AND memory_id = ?`;
/** `{}` in place of the metadata. */
const shortColumns = headColumns.replace('metadata', `x'7b7d' AS metadata`);

const listMemories = async (db: Sqlite, query: ListQuery): Promise<ListPage> =>
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
