import { openDataFolder } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Values } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { unwatchedPart, type Health } from '@agent-workflow/runtime/health';
import type { Log } from '@agent-workflow/kit/log';
import { openSqliteMemoryStore } from './adapters/sqlite/store.ts';
import type { memoryStoreSettings } from './config.ts';
import type { EmbedderIdentity, MemoryStore } from './ports/port.ts';
import { watchStore } from './watch-store.ts';
import { readWeaviate, type WeaviateReach } from './adapters/weaviate/settings.ts';

export interface StoreParts {
  readonly values: Values<typeof memoryStoreSettings>;
  readonly embedder: EmbedderIdentity;
  readonly log: Log;
  /** Absent: failures of the store are in the log alone. */
  readonly health?: Health;
  /** Ends the wait for a Weaviate that is not there yet. */
  readonly stopping: AbortSignal;
}

/**
 * The store that the settings name: Weaviate, for which it waits, or the file in `DATA_DIR`.
 * @throws ConfigError when a setting does not hold, or the store was written with another embedder.
 */
export async function openStore(parts: StoreParts): Promise<MemoryStore> {
  const reach = readWeaviate(parts.values);
  return reach ? openCluster(reach, parts) : openFile(parts);
}

async function openFile({ values, embedder, health }: StoreParts): Promise<MemoryStore> {
  await using opened = new AsyncDisposableStack();
  const { pathOf } = opened.use(openDataFolder(values.DATA_DIR));
  const store = opened.use(
    openSqliteMemoryStore({
      path: pathOf('memory.sqlite'),
      embedder,
      health: health?.part('memory'),
    }),
  );
  const everything = opened.move();
  return { ...store, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

async function openCluster(
  reach: WeaviateReach,
  { embedder, log, health, stopping }: StoreParts,
): Promise<MemoryStore> {
  const { openWeaviateMemoryStore } = await import('./adapters/weaviate/store.ts');
  const open = async (): Promise<MemoryStore> =>
    openWeaviateMemoryStore({
      ...reach,
      embedder,
      onRepair: (count) => {
        log.info({ count }, 'the index of memories is checked');
      },
      onFailure: (error) => {
        log.warn({ err: error }, 'a request to Weaviate failed in the background');
      },
    });
  const part = health?.part('weaviate') ?? unwatchedPart;
  const store = await retry(open, {
    ...serverAway,
    signal: stopping,
    mayHelp: (error) => isServiceError(error, 'Unavailable'),
    onRetry: (error) => {
      part.fails('it is away', error);
      log.warn({ err: error }, 'waiting for Weaviate');
    },
  });
  part.works();
  return watchStore(store, part);
}
