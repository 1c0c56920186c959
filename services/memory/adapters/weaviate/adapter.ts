import { canBeRetried, unavailable, isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { unwatchedPart, type Health, type PartHealth } from '@agent-workflow/runtime/health';
import type { Reindex } from '../../ports/backup.ts';
import type { EmbedderIdentity } from '../../ports/embedder.ts';
import type { MemoryStore } from '../../ports/store.ts';
import { logRetries } from '@agent-workflow/runtime/retries';
import { readWeaviateConfig, type WeaviateConfig, type WeaviateValues } from './settings.ts';

interface Parts {
  readonly embedder: EmbedderIdentity;
  readonly log: Log;
  readonly health?: Health;
  readonly stopping: AbortSignal;
}

interface WeaviateStore {
  readonly open: (parts: Parts) => Promise<MemoryStore>;
  readonly openReindex: (parts: Pick<Parts, 'log'>) => Promise<Reindex>;
}

/** The Weaviate at `WEAVIATE_URL`; `undefined` while that is unset. Its client is loaded when it is opened. */
export function weaviateStore(values: WeaviateValues): WeaviateStore | undefined {
  const config = readWeaviateConfig(values);
  return (
    config && {
      open: async (parts) => openWhenThere(config, parts),
      openReindex: async ({ log }) => {
        const { openReindex } = await import('./reindex.ts');
        return openReindex({ ...config, onFailure: failuresTo(log) });
      },
    }
  );
}

async function openWhenThere(config: WeaviateConfig, { embedder, log, health, stopping }: Parts): Promise<MemoryStore> {
  const { openWeaviateMemoryStore } = await import('./store.ts');
  const open = async (): Promise<MemoryStore> =>
    openWeaviateMemoryStore({
      ...config,
      embedder,
      onRepair: (count) => {
        log.info({ count }, 'the index of memories is checked');
      },
      onFailure: failuresTo(log),
      onOldServer: (version) => {
        log.warn({ version }, 'searches by keywords miss some new memories on this Weaviate: use 1.38.6 or newer');
      },
    });
  const part = health?.part('weaviate') ?? unwatchedPart;
  const onAway = logRetries({ log, text: 'Weaviate does not answer; it is tried again' });
  const store = await retry(open, {
    ...serverAway,
    signal: stopping,
    mayHelp: canBeRetried,
    onRetry: (error) => {
      part.fails('it is unavailable', unavailable('Weaviate at WEAVIATE_URL cannot be used yet', error));
      if (!health) onAway(error);
    },
  });
  part.works();
  return reportHealth(store, part);
}

const failuresTo =
  (log: Log) =>
  (error: unknown): void => {
    log.warn({ err: error }, 'a request to Weaviate failed in the background');
  };

/** The same store. It reports to `part` whether its calls work, and that it is unavailable when they fail for that. */
function reportHealth(store: MemoryStore, part: PartHealth): MemoryStore {
  const reported =
    <A extends readonly unknown[], R>(work: (...values: A) => Promise<R>) =>
    async (...values: A): Promise<R> => {
      try {
        const result = await work(...values);
        part.works();
        return result;
      } catch (error) {
        if (isServiceError(error, 'Unavailable')) part.fails('it is unavailable', error);
        if (isServiceError(error, 'Timeout')) part.fails('it does not answer in time', error);
        throw error;
      }
    };
  return {
    ...store,
    put: reported(store.put),
    update: reported(store.update),
    findUpdated: reported(store.findUpdated),
    get: reported(store.get),
    remove: reported(store.remove),
    list: reported(store.list),
    removeExpired: reported(store.removeExpired),
    findByVector: reported(store.findByVector),
    findByKeywords: reported(store.findByKeywords),
  };
}
