import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { MemoryBackup } from '../../ports/backup.ts';
import type { OwnedMemory } from '../../ports/memory.ts';
import type { MemoryRecords } from '../../ports/records.ts';
import { headColumns, toStored, vectorAt } from './rows.ts';

const selectPage = `SELECT seq, owner, ${headColumns}, vector, content, vector_json FROM memories WHERE seq > ? ORDER BY seq LIMIT ?`;
const rowsOfPage = 50;

interface Parts {
  readonly db: Sqlite;
  readonly put: MemoryRecords['put'];
  readonly dimension: number;
}

export const createBackup = ({ db, put, dimension }: Parts): MemoryBackup => ({
  scan: () => scanAll(db, dimension),

  load: async (memories) => {
    const added = await Promise.all(memories.map(async ({ owner, memory }) => put(owner, memory)));
    return added.filter(Boolean).length;
  },
});

/** Reads a page of rows at a time, so that writes between two pages do not wait for the reader. */
async function* scanAll(db: Sqlite, dimension: number): AsyncGenerator<OwnedMemory> {
  for (let seq = 0; ;) {
    const rows = db.prepare(selectPage).all(seq, rowsOfPage);
    for (const row of rows) {
      seq = Number(row['seq']);
      const memory = { ...toStored(row), vector: vectorAt(row, dimension) };
      yield { owner: String(row['owner']), memory };
    }
    if (rows.length < rowsOfPage) return;
  }
}
