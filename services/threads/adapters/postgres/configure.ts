import type { Log } from '@agent-workflow/kit/log';
import type { PartHealth } from '@agent-workflow/runtime/health';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { observeRequests } from '@agent-workflow/runtime/requests';
import { logRetries } from '@agent-workflow/runtime/retries';
import type { ThreadStore } from '../../ports/store.ts';
import { postgresMetrics } from './metrics.ts';
import { readPostgres, type PostgresValues } from './settings.ts';

interface Watching {
  readonly health: PartHealth;
  readonly registry: Registry | undefined;
}

interface Migrating {
  readonly waitMs: number;
  readonly log: Log;
}

/**
 * The record on the PostgreSQL that the settings name. The driver is loaded only when it is used.
 * @throws ConfigError naming every setting that does not hold with the others.
 */
export function configurePostgres(values: PostgresValues) {
  const reach = readPostgres(values);
  return {
    server: 'PostgreSQL',

    opener: async ({ health, registry }: Watching): Promise<() => Promise<ThreadStore>> => {
      const { openPostgresThreadStore } = await import('./store.ts');
      const onRequest = observeRequests({ health, meters: registry?.make(postgresMetrics) });
      return () => openPostgresThreadStore({ ...reach, onRequest });
    },

    migrate: async ({ waitMs, log }: Migrating): Promise<number> => {
      const { migratePostgres } = await import('./migrate.ts');
      return migratePostgres({
        ...reach,
        waitMs,
        onStep: (text) => log.info(text),
        onRetry: logRetries({ log, text: 'PostgreSQL does not answer; the migration is tried again' }),
      });
    },
  };
}
