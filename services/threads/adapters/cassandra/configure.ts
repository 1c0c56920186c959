import type { Log } from '@agent-workflow/kit/log';
import type { PartHealth } from '@agent-workflow/runtime/health';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { observeRequests } from '@agent-workflow/runtime/requests';
import { logRetries } from '@agent-workflow/runtime/retries';
import type { ThreadStore } from '../../ports/store.ts';
import { cassandraMetrics } from './metrics.ts';
import { readCassandra, type CassandraValues } from './settings.ts';

interface Watching {
  readonly checkpointTtl: number;
  readonly log: Log;
  readonly health: PartHealth;
  readonly registry: Registry | undefined;
}

interface Migrating {
  readonly waitMs: number;
  readonly log: Log;
}

/**
 * The record on the Cassandra that the settings name. The driver is loaded only when it is used.
 * @throws ConfigError naming every setting that does not hold with the others.
 */
export function configureCassandra(values: CassandraValues) {
  const reach = readCassandra(values);
  return {
    server: 'Cassandra',

    opener: async ({ checkpointTtl, log, health, registry }: Watching): Promise<() => Promise<ThreadStore>> => {
      const { openCassandraThreadStore } = await import('./store.ts');
      const onRequest = observeRequests({ health, meters: registry?.make(cassandraMetrics) });
      const onError = (error: unknown): void => {
        log.error({ err: error }, 'a write beside a call failed; a later write or sweep repairs it');
      };
      return () => openCassandraThreadStore({ ...reach, checkpointTtl, onError, onRequest });
    },

    migrate: async ({ waitMs, log }: Migrating): Promise<number> => {
      const { migrateCassandra } = await import('./migrate.ts');
      return migrateCassandra({
        ...reach,
        waitMs,
        onStep: (text) => log.info(text),
        onRetry: logRetries({ log, text: 'Cassandra does not answer; the migration is tried again' }),
      });
    },
  };
}
