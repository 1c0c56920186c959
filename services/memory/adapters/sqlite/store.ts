import { openSqlite, type SqliteOptions } from '@agent-workflow/runtime/sqlite/sqlite';
import type { EmbedderIdentity } from '../../ports/embedder.ts';
import type { MemoryStore } from '../../ports/store.ts';
import { termsVersion } from '../../words/terms.ts';
import { createBackup } from './backup.ts';
import { createKeywordIndex } from './keyword-index.ts';
import { createRecords } from './records.ts';
import { migrations, recordEmbedder, recordTerms } from './schema.ts';
import { createSearch } from './search.ts';
import { createVectorCache } from './vector-cache.ts';
import { createReadVectors } from './vector-reads.ts';

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
    ...createSearch({ db, index, readVectors: createReadVectors(db, cache), dimension }),
    ...createBackup({ db, put: records.put, dimension }),
    [Symbol.asyncDispose]: async () => {
      db[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}
