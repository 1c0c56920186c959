import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '@agent-workflow/runtime/sqlite/data-folder';
import { ConfigError, type Values } from '@agent-workflow/kit/env';
import type { Health } from '@agent-workflow/runtime/health';
import type { Reindex } from '../../ports/backup.ts';
import type { EmbedderIdentity } from '../../ports/embedder.ts';
import type { MemoryStore } from '../../ports/store.ts';
import type { sqliteSettings } from './settings.ts';
import { openSqliteMemoryStore } from './store.ts';

interface Parts {
  readonly embedder: EmbedderIdentity;
  readonly health?: Health;
}

interface SqliteStore {
  readonly absence: () => string | undefined;
  readonly open: (parts: Parts) => Promise<MemoryStore>;
  readonly openReindex: () => Promise<Reindex>;
}

const fileName = 'memory.sqlite';

/** The file `memory.sqlite` in `DATA_DIR`, of which this process is the only user. */
export const sqliteStore = ({ DATA_DIR }: Values<typeof sqliteSettings>): SqliteStore => ({
  absence: () => (existsSync(join(DATA_DIR, fileName)) ? undefined : `DATA_DIR ${DATA_DIR} holds no ${fileName}`),

  open: async ({ embedder, health }) => {
    await using opened = new AsyncDisposableStack();
    const { pathOf } = opened.use(openDataFolder(DATA_DIR));
    const path = pathOf(fileName);
    const store = opened.use(openSqliteMemoryStore({ path, embedder, health: health?.part('memory') }));
    const everything = opened.move();
    return { ...store, [Symbol.asyncDispose]: () => everything.disposeAsync() };
  },

  openReindex: async () =>
    Promise.reject(new ConfigError('WEAVIATE_URL must be set: the file of DATA_DIR has no index to make anew')),
});
