import { crossCheck, type Settings, type Values } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import type { Health } from '@agent-workflow/runtime/health';
import { sqliteStore } from './adapters/sqlite/adapter.ts';
import { sqliteSettings } from './adapters/sqlite/settings.ts';
import { weaviateStore } from './adapters/weaviate/adapter.ts';
import { readWeaviateConfig, weaviateSettings } from './adapters/weaviate/settings.ts';
import type { Reindex } from './ports/backup.ts';
import type { EmbedderIdentity } from './ports/embedder.ts';
import type { MemoryStore } from './ports/store.ts';

/** The settings of all stores. */
export const storeSettings = { ...sqliteSettings, ...weaviateSettings } satisfies Settings;

/** What must hold of them together. */
export const storeChecks = [crossCheck(weaviateSettings, readWeaviateConfig)];

type StoreValues = Values<typeof storeSettings>;

/** What a store is opened with. */
interface StoreParts {
  readonly embedder: EmbedderIdentity;
  readonly log: Log;
  /** Absent: failures of the store are in the log alone. */
  readonly health?: Health;
  /** Ends the wait for a store that is unavailable. */
  readonly stopping: AbortSignal;
}

/** A store that the settings name. */
interface ChosenStore {
  /** Why there are no memories yet; `undefined` where there may be some. Absent for a store of which that is known only once it is open. */
  readonly absence?: () => string | undefined;
  /** Waits for the store while it is unavailable. @throws ConfigError when another embedder made its vectors. */
  readonly open: (parts: StoreParts) => Promise<MemoryStore>;
  /** Begins a new copy of all memories, with a new index. @throws ConfigError for a store without such an index. */
  readonly openReindex: (parts: Pick<StoreParts, 'log'>) => Promise<Reindex>;
}

/**
 * The stores that a setting names: another one is a folder of `adapters` and a line here. Each gives `undefined` when the settings do
 * not name it. SQLite is opened when they name none.
 */
const stores: readonly ((values: StoreValues) => ChosenStore | undefined)[] = [weaviateStore];

/** The store that the settings name. @throws ConfigError when a setting is wrong. */
export function chooseStore(values: StoreValues): ChosenStore {
  for (const choose of stores) {
    const chosen = choose(values);
    if (chosen) return chosen;
  }
  return sqliteStore(values);
}
