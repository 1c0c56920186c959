import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { OwnerVectors } from './owner-vectors.ts';
import { bytesAt, headColumns, rowsAtOnce, shortRowsAtOnce, toHead, type Row } from './rows.ts';
import type { OwnerSize, VectorCache } from './vector-cache.ts';

const selectSizes = `SELECT count(*) AS count, total(length(metadata)) AS bytes, max(memory_id) AS last FROM (
  SELECT memory_id, metadata FROM memories WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?)`;
const selectVectors = `SELECT seq, ${headColumns}, vector FROM memories
  WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?`;

/** Gives an owner's vectors from the cache, which it fills from the file; `undefined` when they do not fit. */
export type ReadVectors = (owner: string) => Promise<OwnerVectors | undefined>;

export function createReadVectors(db: Sqlite, cache: VectorCache): ReadVectors {
  /** Owners whose vectors are being read; everyone who needs them waits for the same read. */
  const reading = new Map<string, Promise<OwnerVectors | undefined>>();

  const fill = async (owner: string): Promise<OwnerVectors | undefined> => {
    const vectors = cache.make(owner, await measureOwner(db, owner));
    if (!vectors) return undefined;
    // A write during the read goes to these vectors too; a row that is read before or after it is the same.
    for await (const row of vectorRowsOf(db, owner)) {
      const metadata = bytesAt(row, 'metadata');
      vectors.put(toHead(row), bytesAt(row, 'vector'), {
        seq: Number(row['seq']),
        metadataBytes: metadata.byteLength,
      });
    }
    // An owner that was dropped during the read may lack the writes since.
    return cache.get(owner) === vectors ? vectors : undefined;
  };

  return async (owner) => {
    const known = reading.get(owner) ?? cache.get(owner);
    if (known) return known;
    const read = fill(owner).finally(() => reading.delete(owner));
    reading.set(owner, read);
    try {
      return await read;
    } catch (error) {
      cache.drop(owner);
      throw error;
    }
  };
}

/** How many memories an owner has, and the bytes of their metadata. */
async function measureOwner(db: Sqlite, owner: string): Promise<OwnerSize> {
  const yielder = createYielder();
  let [count, metadataBytes] = [0, 0];
  for (let after = ''; ;) {
    const sizes = db.prepare(selectSizes).get(owner, after, shortRowsAtOnce);
    count += Number(sizes?.['count']);
    metadataBytes += Number(sizes?.['bytes']);
    if (Number(sizes?.['count']) < shortRowsAtOnce) return { count, metadataBytes };
    after = String(sizes?.['last']);
    if (yielder.isDue()) await yielder.yield();
  }
}

/** Every row of an owner, some at a time; other work can run between two reads. */
export async function* vectorRowsOf(db: Sqlite, owner: string): AsyncGenerator<Row> {
  const yielder = createYielder();
  for (let after = ''; ;) {
    const rows = db.prepare(selectVectors).all(owner, after, rowsAtOnce);
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < rowsAtOnce || !last) return;
    after = String(last['memory_id']);
    if (yielder.isDue()) await yielder.yield();
  }
}
