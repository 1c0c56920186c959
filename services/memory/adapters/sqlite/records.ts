import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { MemoryRecord } from '../../ports/memory.ts';
import type { MemoryRecords } from '../../ports/records.ts';
import {
  fromKeptRemoval,
  fromKeptUpdate,
  toKeptRemoval,
  toKeptUpdate,
  toRemoved,
  toUpdated,
} from '../../record/outcomes.ts';
import { findOutcome, keepOutcome } from './idempotency.ts';
import type { KeywordIndex } from './keyword-index.ts';
import { listMemories } from './lists.ts';
import { headColumns, headOf, toBytes, toStored, valuesOf } from './rows.ts';
import type { VectorCache } from './vector-cache.ts';

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
