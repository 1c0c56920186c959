import { createHash } from 'node:crypto';
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { openSqlite, type Sqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import { createTurns } from '@agent-workflow/kit/turns';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type {
  EmbedderIdentity,
  KeywordHit,
  ListMark,
  ListPage,
  ListQuery,
  MemoryHead,
  MemoryRecord,
  MemoryStore,
  OwnedMemory,
  StoredMemory,
  VectorHit,
} from '../../ports/port.ts';
import { closenessTo, createTop } from '../../search/nearness.ts';
import { byRecency, heaviestFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import {
  fromKeptRemoval,
  fromKeptUpdate,
  toKeptRemoval,
  toKeptUpdate,
  toRemoved,
  toUpdated,
} from '../../record/outcomes.ts';
import { findOutcome, keepOutcome } from './requests.ts';
import { createVectorCache, type Consider, type OwnerVectors } from './vectors.ts';

export interface SqliteMemoryStoreOptions extends Pick<SqliteOptions, 'path' | 'health'> {
  /** Whose vectors these are: a file written by another is refused. */
  readonly embedder: EmbedderIdentity;
  /** What the vectors kept in memory may weigh; the owners used longest ago go first. */
  readonly cacheBytes?: number;
}

/**
 * Memories in one SQLite file. Words are found by FTS5; vectors are compared with every vector of the owner, so what is
 * nearest is exact. The vectors of the owners used last stay in memory.
 * @throws ConfigError when the file holds memories of another embedder.
 */
export function openSqliteMemoryStore(options: SqliteMemoryStoreOptions): MemoryStore {
  const { path, embedder, health, cacheBytes = 256 * 1024 * 1024 } = options;
  const db = openSqlite({ path, durability: 'full', migrations, health });
  try {
    recordEmbedder(db, embedder);
  } catch (error) {
    db[Symbol.dispose]();
    throw error;
  }
  const cache = createVectorCache(embedder.dimension, cacheBytes);

  /** Owners whose vectors are being read: whoever needs them meanwhile waits for the same reading. */
  const loading = new Map<string, Promise<OwnerVectors | undefined>>();

  const load = async (owner: string): Promise<OwnerVectors | undefined> => {
    const loaded = cache.make(owner, await measure(db, owner));
    if (!loaded) return undefined;
    // What is written meanwhile goes to these vectors, too: read before or after that, a row is the same.
    for await (const row of rowsOf(db, owner)) {
      const metadata = bytesAt(row, 'metadata');
      loaded.put(toHead(row), bytesAt(row, 'vector'), { seq: Number(row['seq']), metadataBytes: metadata.byteLength });
    }
    // Dropped meanwhile, they may lack what was written since.
    return cache.get(owner) === loaded ? loaded : undefined;
  };

  /** The vectors of an owner, in memory if they fit there. */
  const vectorsOf = async (owner: string): Promise<OwnerVectors | undefined> => {
    const known = loading.get(owner) ?? cache.get(owner);
    if (known) return known;
    const reading = load(owner).finally(() => loading.delete(owner));
    loading.set(owner, reading);
    try {
      return await reading;
    } catch (error) {
      cache.drop(owner);
      throw error;
    }
  };

  /** Runs a write whose effect on the cache is part of it; when it fails the cache may have run ahead, and is dropped. */
  const writeFor = async <T>(owner: string, work: () => T): Promise<T> => {
    try {
      return await db.write(work);
    } catch (error) {
      cache.drop(owner);
      throw error;
    }
  };

  /** Brings the cache into line with a row. */
  const follow = (owner: string, seq: number, memory: MemoryRecord): void => {
    const row = { seq, metadataBytes: memory.metadataJson.byteLength };
    cache.get(owner)?.put(headOf(memory), toBytes(memory.vector), row);
  };

  const put: MemoryStore['put'] = async (owner, memory) =>
    writeFor(owner, () => {
      const { changes, lastInsertRowid } = db.prepare(insertMemory).run(owner, memory.memoryId, ...valuesOf(memory));
      if (changes === 0) return false;
      const seq = Number(lastInsertRowid);
      const indexed = indexedUntil(db);
      if (seq <= indexed) indexWords(db, { seq, owner, content: memory.content });
      else if (seq - indexed >= wordsAtOnce) indexWaiting(db);
      follow(owner, seq, memory);
      return true;
    });

  const removeOne = (owner: string, memoryId: string): boolean => {
    const row = db.prepare('DELETE FROM memories WHERE owner = ? AND memory_id = ? RETURNING seq').get(owner, memoryId);
    if (!row) return false;
    const seq = Number(row['seq']);
    if (seq <= indexedUntil(db)) db.prepare(deleteWords).run(seq);
    cache.get(owner)?.remove(memoryId);
    return true;
  };

  return {
    put,

    update: async (owner, memoryId, change, request) =>
      writeFor(owner, () => {
        const kept = request && findOutcome(db, owner, request);
        if (kept) return fromKeptUpdate(kept);
        const row = db.prepare(selectMemory).get(owner, memoryId);
        if (!row) return undefined;
        const memory = change(toStored(row));
        const seq = Number(row['seq']);
        db.prepare(updateMemory).run(...valuesOf(memory), seq);
        if (seq <= indexedUntil(db)) {
          db.prepare(deleteWords).run(seq);
          indexWords(db, { seq, owner, content: memory.content });
        }
        follow(owner, seq, memory);
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

    list: async (query) => (query.narrowing.memoryIds ? listNamed(db, query) : listAll(db, query)),

    findByVector: async ({ owner, narrowing, accepts, limit, vector, measure, order, atLeast = -Infinity }) => {
      const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
      const closeness = closenessTo(vector, measure);
      const consider: Consider = (head, vectors, offset) => {
        if (!isWithin(narrowing, head)) return;
        const hit = { head, closeness: closeness(vectors, offset) };
        if (hit.closeness < atLeast || !top.wants(hit)) return;
        if (accepts === undefined || accepts(head)) top.add(hit);
      };
      const cached = await vectorsOf(owner);
      if (cached) await cached.scan(consider);
      else {
        for await (const row of rowsOf(db, owner)) {
          const given = vectorAt(row, embedder.dimension);
          // Reading the rest of a row costs more than comparing its vector.
          if (order === 'nearest' && closeness(given, 0) < (top.last()?.closeness ?? -Infinity)) continue;
          consider(toHead(row), given, 0);
        }
      }
      return top.items();
    },

    incompleteSince: () => undefined,

    findByWords: async ({ owner, narrowing, accepts, limit, text }) => {
      const top = createTop<KeywordHit>(limit, heaviestFirst);
      const match = toMatch(owner, text);
      if (match === undefined) return top.items();
      if (db.prepare(selectWaiting).get(indexedUntil(db))) {
        await db.write(() => {
          indexWaiting(db);
        });
      }
      const cached = await vectorsOf(owner);
      const consider = (row: Row): void => {
        const seq = Number(row['seq']);
        const head = cached ? cached.headAt(seq) : readHeadAt(db, owner, seq);
        if (!head || !isWithin(narrowing, head)) return;
        const hit = { head, weight: Number(row['weight']) };
        if (top.wants(hit) && (accepts === undefined || accepts(head))) top.add(hit);
      };
      const turns = createTurns();
      for await (const rows of rowsByWords(db, match)) {
        for (const row of rows) {
          consider(row);
          if (turns.isOver()) await turns.pass();
        }
      }
      return top.items();
    },

    scan: () => scanAll(db, embedder.dimension),

    load: async (memories) => {
      const added = await Promise.all(memories.map(async ({ owner, memory }) => put(owner, memory)));
      return added.filter(Boolean).length;
    },

    [Symbol.asyncDispose]: async () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

type Row = Record<string, SQLOutputValue>;

// Small columns first, the largest last: SQLite reads a row's overflow pages only as far as a query asks.
const migrations = [
  `CREATE TABLE memories (
     seq INTEGER PRIMARY KEY, owner TEXT NOT NULL, memory_id TEXT NOT NULL,
     memory_type TEXT NOT NULL, category TEXT NOT NULL, thread_id TEXT NOT NULL, timestamp INTEGER NOT NULL,
     metadata BLOB NOT NULL, vector BLOB NOT NULL, content TEXT NOT NULL, vector_json BLOB NOT NULL,
     UNIQUE (owner, memory_id)) STRICT;
   CREATE INDEX memories_by_time ON memories (owner, timestamp, memory_id, memory_type, category);
   CREATE INDEX memories_by_thread ON memories (owner, thread_id) WHERE thread_id <> '';
   CREATE VIRTUAL TABLE memory_words USING fts5 (owner, content, content = '', contentless_delete = 1,
     tokenize = 'porter unicode61 remove_diacritics 2');
   CREATE TABLE indexed (until INTEGER NOT NULL) STRICT;
   INSERT INTO indexed VALUES (0);
   CREATE TABLE embedder (model TEXT NOT NULL, dimension INTEGER NOT NULL) STRICT;`,
  `CREATE TABLE requests (
     owner TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL, outcome BLOB NOT NULL, PRIMARY KEY (owner, id)) STRICT;
   CREATE INDEX requests_by_time ON requests (until);`,
];

const headColumns = 'memory_id, memory_type, category, thread_id, timestamp, metadata';
const insertMemory = `INSERT INTO memories (owner, ${headColumns}, vector, content, vector_json)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
const updateMemory = `UPDATE memories SET memory_type = ?, category = ?, thread_id = ?, timestamp = ?, metadata = ?,
  vector = ?, content = ?, vector_json = ? WHERE seq = ?`;
const selectMemory = `SELECT seq, ${headColumns}, content, vector_json FROM memories WHERE owner = ? AND memory_id = ?`;
const selectPage = `SELECT seq, owner, ${headColumns}, vector, content, vector_json FROM memories WHERE seq > ? ORDER BY seq LIMIT ?`;
const selectSizes = `SELECT count(*) AS count, total(length(metadata)) AS bytes, max(memory_id) AS last FROM (
  SELECT memory_id, metadata FROM memories WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?)`;
const selectHead = `SELECT ${headColumns} FROM memories WHERE owner = ? AND memory_id = ?`;
const selectHeadAt = `SELECT ${headColumns} FROM memories WHERE seq = ? AND owner = ?`;
const selectVectors = `SELECT seq, ${headColumns}, vector FROM memories
  WHERE owner = ? AND memory_id > ? ORDER BY memory_id LIMIT ?`;
const deleteWords = 'DELETE FROM memory_words WHERE rowid = ?';
const selectWaiting = 'SELECT seq, owner, content FROM memories WHERE seq > ? ORDER BY seq';
const selectByWords = `SELECT rowid AS seq, -bm25(memory_words, 0.0, 1.0) AS weight
  FROM memory_words WHERE memory_words MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?`;

function recordEmbedder(db: Sqlite, { model, dimension }: EmbedderIdentity): void {
  const known = db.prepare('SELECT model, dimension FROM embedder').get();
  if (known?.['model'] === model && known['dimension'] === dimension) return;
  if (known && db.prepare('SELECT 1 FROM memories LIMIT 1').get()) {
    const was = `${String(known['model'])} (${String(known['dimension'])} numbers)`;
    throw new ConfigError(
      `the memories of this data folder were embedded by ${was}, not ${model} (${String(dimension)} numbers): ` +
        'set EMBEDDINGS_PROVIDER, EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or use another DATA_DIR',
    );
  }
  db.prepare('DELETE FROM embedder').run();
  db.prepare('INSERT INTO embedder VALUES (?, ?)').run(model, dimension);
}

/**
 * Memories whose words wait to be indexed together: alone, each would cost more than its row. Those after `indexed.until`
 * wait; a search by words has them indexed first.
 */
const wordsAtOnce = 32;

const indexedUntil = (db: Sqlite): number => Number(db.prepare('SELECT until FROM indexed').get()?.['until']);

function indexWaiting(db: Sqlite): void {
  let until = indexedUntil(db);
  for (const row of db.prepare(selectWaiting).all(until)) {
    until = Number(row['seq']);
    indexWords(db, { seq: until, owner: String(row['owner']), content: String(row['content']) });
  }
  db.prepare('UPDATE indexed SET until = ?').run(until);
}

function indexWords(db: Sqlite, { seq, owner, content }: { seq: number; owner: string; content: string }): void {
  db.prepare('INSERT INTO memory_words (rowid, owner, content) VALUES (?, ?, ?)').run(seq, ownerWord(owner), content);
}

/** The owner as one word of the index, so that another owner's memories are never walked. */
const ownerWord = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 24);

/** More words than this say no more about what is meant. */
const maxWords = 64;

/** A text as a query of FTS5: every word in quotes, where nothing is syntax. `undefined` when it has no word. */
function toMatch(owner: string, text: string): string | undefined {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu));
  if (words.size === 0) return undefined;
  const quoted = [...words].slice(0, maxWords).map((word) => `"${word}"`);
  return `owner : "${ownerWord(owner)}" AND content : (${quoted.join(' OR ')})`;
}

/** The memories that are named: one look each. */
async function listNamed(db: Sqlite, query: ListQuery): Promise<ListPage> {
  const { owner, narrowing, accepts, without } = query;
  const turns = createTurns();
  const heads: MemoryHead[] = [];
  for (const memoryId of narrowing.memoryIds ?? []) {
    const head = readHead(db, owner, memoryId);
    if (head && isWithin(narrowing, head) && accepts?.(head) !== false)
      heads.push(without === undefined ? head : { ...head, metadata: {} });
    if (turns.isOver()) await turns.pass();
  }
  return pageOf(heads.sort(byRecency), { ...query, accepts: undefined });
}

function readHead(db: Sqlite, owner: string, memoryId: string): MemoryHead | undefined {
  const row = db.prepare(selectHead).get(owner, memoryId);
  return row && toHead(row);
}

function readHeadAt(db: Sqlite, owner: string, seq: number): MemoryHead | undefined {
  const row = db.prepare(selectHeadAt).get(seq, owner);
  return row && toHead(row);
}

async function listAll(db: Sqlite, query: ListQuery): Promise<ListPage> {
  const where = toWhere(query);
  if (query.accepts) return pageOf(newestOf(db, where, { columns: headColumns }), query);
  const { offset = 0, limit, after, without } = query;
  const counted = db.prepare(`SELECT count(*) AS total FROM memories WHERE ${where.where}`).get(...where.values);
  const heads: MemoryHead[] = [];
  const columns = without === undefined ? headColumns : headColumns.replace('metadata', `x'7b7d' AS metadata`);
  for await (const head of newestOf(db, where, { columns, after, offset, limit })) heads.push(head);
  return { heads, total: Number(counted?.['total']) };
}

interface Newest {
  readonly columns: string;
  readonly after?: ListMark | undefined;
  /** How many to pass over. */
  readonly offset?: number;
  readonly limit?: number;
}

/** Newest first, some rows at a time: others have their turn in between. */
async function* newestOf(
  db: Sqlite,
  { where, values }: Where,
  { columns, after, offset = 0, limit = Infinity }: Newest,
): AsyncGenerator<MemoryHead> {
  const turns = createTurns();
  let mark = after;
  let toSkip = offset;
  for (let left = limit; left > 0;) {
    const beyond = mark ? 'AND (timestamp, memory_id) < (?, ?)' : '';
    const page = `SELECT ${columns} FROM memories WHERE ${where} ${beyond} ${newestOrder} LIMIT ? OFFSET ?`;
    const from = mark ? [mark.timestamp, mark.memoryId] : [];
    const count = Math.min(left, columns === headColumns ? rowsAtOnce : briefRowsAtOnce);
    const rows = db.prepare(page).all(...values, ...from, count, toSkip);
    const heads = rows.map(toHead);
    yield* heads;
    mark = heads.at(-1);
    if (heads.length < count || !mark) return;
    toSkip = 0;
    left -= count;
    if (turns.isOver()) await turns.pass();
  }
}

/** The page of heads that come newest first, and how many of them pass. */
async function pageOf(
  heads: Iterable<MemoryHead> | AsyncIterable<MemoryHead>,
  { accepts, after, offset = 0, limit, without }: ListQuery,
): Promise<ListPage> {
  const page: MemoryHead[] = [];
  let total = 0;
  let toSkip = offset;
  for await (const head of heads) {
    if (accepts && !accepts(head)) continue;
    total += 1;
    if (page.length >= limit || (after && byRecency(head, after) <= 0)) continue;
    if (toSkip > 0) toSkip -= 1;
    else page.push(without === undefined ? head : { ...head, metadata: {} });
  }
  return { heads: page, total };
}

const newestOrder = 'ORDER BY timestamp DESC, memory_id DESC';

function toWhere({ owner, narrowing: { memoryType, category, threadId } }: ListQuery): Where {
  const conditions = ['owner = ?'];
  const values = [owner];
  const narrow = (condition: string, value: string | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  narrow('memory_type = ?', memoryType);
  narrow('category = ?', category);
  // The second half lets SQLite use the index, which holds no memory without a thread.
  narrow(threadId === '' ? 'thread_id = ?' : "thread_id = ? AND thread_id <> ''", threadId);
  return { where: conditions.join(' AND '), values };
}

interface Where {
  readonly where: string;
  readonly values: string[];
}

/** How many memories an owner has, and what their metadata takes. */
async function measure(db: Sqlite, owner: string): Promise<{ readonly count: number; readonly metadataBytes: number }> {
  const turns = createTurns();
  let [count, metadataBytes] = [0, 0];
  for (let after = ''; ;) {
    const sizes = db.prepare(selectSizes).get(owner, after, briefRowsAtOnce);
    count += Number(sizes?.['count']);
    metadataBytes += Number(sizes?.['bytes']);
    if (Number(sizes?.['count']) < briefRowsAtOnce) return { count, metadataBytes };
    after = String(sizes?.['last']);
    if (turns.isOver()) await turns.pass();
  }
}

/** Every row of an owner, some at a time: others have their turn in between. */
async function* rowsOf(db: Sqlite, owner: string): AsyncGenerator<Row> {
  const turns = createTurns();
  for (let after = ''; ;) {
    const rows = db.prepare(selectVectors).all(owner, after, rowsAtOnce);
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < rowsAtOnce || !last) return;
    after = String(last['memory_id']);
    if (turns.isOver()) await turns.pass();
  }
}

/** What the words are found in, some rows at a time. Each time the index counts anew how rare a word is, so they are many. */
async function* rowsByWords(db: Sqlite, match: string): AsyncGenerator<readonly Row[]> {
  for (let after = -1; ;) {
    const rows = db.prepare(selectByWords).all(match, after, matchesAtOnce);
    yield rows;
    const last = rows.at(-1);
    if (rows.length < matchesAtOnce || !last) return;
    after = Number(last['seq']);
  }
}

/** Rows that are read at once, each with metadata of up to 64 KiB: together they are no more than a page. */
const rowsAtOnce = 64;
/** Rows of which little is read. */
const briefRowsAtOnce = 2000;
const matchesAtOnce = 5000;

function vectorAt(row: Row, dimension: number): Float32Array {
  const vector = new Float32Array(dimension);
  new Uint8Array(vector.buffer).set(bytesAt(row, 'vector'));
  return vector;
}

/** A page of rows at a time: what is written meanwhile does not wait for whoever reads. */
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

const rowsOfPage = 50;

const valuesOf = (memory: MemoryRecord): SQLInputValue[] => [
  memory.memoryType,
  memory.category,
  memory.threadId,
  memory.timestamp,
  memory.metadataJson,
  toBytes(memory.vector),
  memory.content,
  memory.vectorJson,
];

const toBytes = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

const bytesAt = (row: Row, column: string): Uint8Array => row[column] as Uint8Array;

const fieldsOf = (row: Row): Omit<MemoryHead, 'metadata'> => ({
  memoryId: String(row['memory_id']),
  memoryType: String(row['memory_type']) as MemoryType,
  category: String(row['category']),
  threadId: String(row['thread_id']),
  timestamp: Number(row['timestamp']),
});

const toStored = (row: Row): StoredMemory => ({
  ...fieldsOf(row),
  content: String(row['content']),
  metadataJson: bytesAt(row, 'metadata'),
  vectorJson: bytesAt(row, 'vector_json'),
});

const toHead = (row: Row): MemoryHead => ({ ...fieldsOf(row), metadata: toMetadata(bytesAt(row, 'metadata')) });

const headOf = ({ memoryId, memoryType, category, threadId, timestamp, metadataJson }: StoredMemory): MemoryHead => ({
  memoryId,
  memoryType,
  category,
  threadId,
  timestamp,
  metadata: toMetadata(metadataJson),
});

const toMetadata = ({ buffer, byteOffset, byteLength }: Uint8Array): MemoryHead['metadata'] =>
  JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as MemoryHead['metadata'];
