import { openSqlite, type SqliteOptions, type Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { EmbedderIdentity } from '../../ports/embedder.ts';
import type { MemoryStore } from '../../ports/store.ts';
import { termsVersion } from '../../words/terms.ts';
import { createKeywordIndex, type KeywordIndex } from './keyword-index.ts';
import { createRecords } from './records.ts';
import { createVectorCache, type OwnerSize, type VectorCache } from './vector-cache.ts';
import type { MemoryBackup } from '../../ports/backup.ts';
import type { OwnedMemory, MemoryHead } from '../../ports/memory.ts';
import type { MemoryRecords } from '../../ports/records.ts';
import { headColumns, toStored, vectorAt, toHead, bytesAt, rowsAtOnce, shortRowsAtOnce, type Row } from './rows.ts';
import { ConfigError } from '@agent-workflow/kit/env';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { KeywordHit, MemorySearch, VectorHit } from '../../ports/search.ts';
import { bestScoreFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import { distancesFrom } from '../../vectors/distances.ts';
import { createTop } from '../../vectors/top.ts';
import type { Visit, OwnerVectors } from './owner-vectors.ts';

interface SqliteMemoryStoreOptions extends Pick<SqliteOptions, 'path' | 'health'> {
  /** Whose vectors the file holds. */
  readonly embedder: EmbedderIdentity;
  /** How many bytes of vectors are cached. The owners used longest ago are dropped first. */
  readonly cacheBytes?: number;
}

/**
 * Memories in one SQLite file. FTS5 finds keywords. A query's vector is compared with every vector of the owner, so the nearest are
 * exact; the vectors of the owners used last stay in memory.
 * @throws ConfigError when the file holds memories of another embedder.
 */
export function openSqliteMemoryStore(options: SqliteMemoryStoreOptions): MemoryStore {
  const { path, embedder, health, cacheBytes = 256 * 1024 * 1024 } = options;
  const { dimension } = embedder;
  const db = openSqlite({ path, durability: 'full', migrations, health });
  try {
    recordEmbedder(db, embedder);
    recordTerms(db, termsVersion);
  } catch (error) {
    db[Symbol.dispose]();
    throw error;
  }
  const cache = createVectorCache(dimension, cacheBytes);
  const index = createKeywordIndex(db);
  const records = createRecords({ db, index, cache });
  return {
    ...records,
    ...createSearch(db, index, createReadVectors(db, cache), dimension),
    ...createBackup(db, records.put, dimension),
    [Symbol.asyncDispose]: async () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

const selectPage = `SELECT seq, owner, ${headColumns}, vector, content, vector_json FROM memories WHERE seq > ? ORDER BY seq LIMIT ?`;
const rowsOfPage = 50;

const createBackup = (db: Sqlite, put: MemoryRecords['put'], dimension: number): MemoryBackup => ({
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

/**
 * The schema: the first migration makes it, and a change of it is one more. Small columns come first, because SQLite reads a row's
 * overflow pages in order.
 */
const migrations: readonly string[] = [
  `CREATE TABLE memories (
     seq INTEGER PRIMARY KEY, owner TEXT NOT NULL, memory_id TEXT NOT NULL,
     memory_type TEXT NOT NULL, category TEXT NOT NULL, thread_id TEXT NOT NULL, timestamp INTEGER NOT NULL,
     happened_at INTEGER, expires_at INTEGER,
     metadata BLOB NOT NULL, vector BLOB NOT NULL, content TEXT NOT NULL, vector_json BLOB NOT NULL,
     UNIQUE (owner, memory_id)) STRICT;
   CREATE INDEX memories_by_time ON memories (owner, timestamp, memory_id, memory_type, category);
   CREATE INDEX memories_by_thread ON memories (owner, thread_id) WHERE thread_id <> '';
   CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;
   CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '+'");
   -- Up to which row the terms are in the index, and the version of the terms.
   CREATE TABLE indexed (until INTEGER NOT NULL, terms INTEGER NOT NULL DEFAULT 0) STRICT;
   INSERT INTO indexed (until) VALUES (0);
   CREATE TABLE embedder (model TEXT NOT NULL, dimension INTEGER NOT NULL) STRICT;
   CREATE TABLE requests (
     owner TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, outcome BLOB NOT NULL, PRIMARY KEY (owner, id)) STRICT;
   CREATE INDEX requests_by_time ON requests (until)`,
];

/** Empties the index of terms when another version of the terms is in it; it is then filled again as rows that wait for it are. */
function recordTerms(db: Sqlite, version: number): void {
  if (db.prepare('SELECT terms FROM indexed').get()?.['terms'] === version) return;
  db.prepare("INSERT INTO memory_terms (memory_terms) VALUES ('delete-all')").run();
  db.prepare('UPDATE indexed SET until = 0, terms = ?').run(version);
}

/**
 * Writes down which embedder makes the vectors of the file.
 * @throws ConfigError when the file holds memories of another one.
 */
function recordEmbedder(db: Sqlite, { model, dimension }: EmbedderIdentity): void {
  const known = db.prepare('SELECT model, dimension FROM embedder').get();
  if (known?.['model'] === model && known['dimension'] === dimension) return;
  if (known && db.prepare('SELECT 1 FROM memories LIMIT 1').get()) {
    const recorded = `${String(known['model'])} (${String(known['dimension'])} numbers)`;
    throw new ConfigError(
      `the memories of this data folder were embedded by ${recorded}, not ${model} (${String(dimension)} numbers): ` +
        'set EMBEDDINGS_PROVIDER, EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or use another DATA_DIR',
    );
  }
  db.prepare('DELETE FROM embedder').run();
  db.prepare('INSERT INTO embedder VALUES (?, ?)').run(model, dimension);
}

const selectHeadAt = `SELECT ${headColumns} FROM memories WHERE seq = ? AND owner = ?`;

/** Compares a query with every vector of its owner, and finds keywords in the full-text index. */
function createSearch(db: Sqlite, index: KeywordIndex, readVectors: ReadVectors, dimension: number): MemorySearch {
  const readHeadAt = (owner: string, seq: number): MemoryHead | undefined => {
    const row = db.prepare(selectHeadAt).get(seq, owner);
    return row && toHead(row);
  };

  return {
    findByVector: async ({ owner, narrowing, accepts, limit, vector, measure, order, maxDistance = Infinity }) => {
      const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
      const distanceTo = distancesFrom(vector, measure);
      const visit: Visit = (head, vectors, offset) => {
        if (!isWithin(narrowing, head)) return;
        const hit = { head, distance: distanceTo(vectors, offset) };
        if (hit.distance > maxDistance || !top.wants(hit)) return;
        if (accepts === undefined || accepts(head)) top.add(hit);
      };
      const cached = await readVectors(owner);
      if (cached) {
        await cached.scan(visit);
        return top.items();
      }
      for await (const row of vectorRowsOf(db, owner)) {
        const stored = vectorAt(row, dimension);
        // Parsing the rest of a row costs more than comparing its vector.
        if (order === 'nearest' && distanceTo(stored, 0) > (top.last()?.distance ?? Infinity)) continue;
        visit(toHead(row), stored, 0);
      }
      return top.items();
    },

    findByKeywords: async ({ owner, narrowing, accepts, limit, text }) => {
      const top = createTop<KeywordHit>(limit, bestScoreFirst);
      const yielder = createYielder();
      const matches = await index.find(owner, text);
      const cached = matches.length > 0 ? await readVectors(owner) : undefined;
      for (const { seq, score } of matches) {
        const head = cached ? cached.headAt(seq) : readHeadAt(owner, seq);
        const hit = head && isWithin(narrowing, head) && { head, score };
        if (hit && top.wants(hit) && (accepts === undefined || accepts(hit.head))) top.add(hit);
        if (yielder.isDue()) await yielder.yield();
      }
      return top.items();
    },

    incompleteSince: () => undefined,
  };
}

const selectSizes = `SELECT count(*) AS count, total(length(metadata)) AS bytes, max(memory_id) AS last FROM (
  SELECT memory_id, metadata FROM memories WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?)`;
const selectVectors = `SELECT seq, ${headColumns}, vector FROM memories
  WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?`;

/** Gives an owner's vectors from the cache, which it fills from the file; `undefined` when they do not fit. */
type ReadVectors = (owner: string) => Promise<OwnerVectors | undefined>;

function createReadVectors(db: Sqlite, cache: VectorCache): ReadVectors {
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
async function* vectorRowsOf(db: Sqlite, owner: string): AsyncGenerator<Row> {
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
