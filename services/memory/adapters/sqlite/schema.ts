import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import type { EmbedderIdentity } from '../../ports/embedder.ts';

/**
 * The schema: the first migration makes it, and a change of it is one more. Small columns come first, because SQLite reads a row's
 * overflow pages in order.
 */
export const migrations: readonly string[] = [
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
export function recordTerms(db: Sqlite, version: number): void {
  if (db.prepare('SELECT terms FROM indexed').get()?.['terms'] === version) return;
  db.prepare("INSERT INTO memory_terms (memory_terms) VALUES ('delete-all')").run();
  db.prepare('UPDATE indexed SET until = 0, terms = ?').run(version);
}

/**
 * Writes down which embedder makes the vectors of the file.
 * @throws ConfigError when the file holds memories of another one.
 */
export function recordEmbedder(db: Sqlite, { model, dimension }: EmbedderIdentity): void {
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
