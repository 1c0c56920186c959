import { beginProcess, processSettings } from '@agent-workflow/runtime/process';
import { ConfigError, processEnv } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { migrateCassandra } from './adapters/cassandra/migrate.ts';
import { cassandraSettings, readCassandra } from './adapters/cassandra/settings.ts';

/** How long to wait for another who migrates, and for a cluster that does not answer. */
const waitMs = 5 * 60_000;

/** Brings the schema of the record up to this release, and ends: before the release itself is started. */
try {
  const settings = { ...processSettings, ...cassandraSettings };
  const { values, log } = beginProcess('threads-migrate', settings, processEnv());
  const version = await migrateCassandra({
    ...readCassandra(values),
    waitMs,
    onStep: (text) => log.info(text),
    onRetry: (error) => {
      log.warn({ err: error }, 'Cassandra does not answer; the migration is tried again');
    },
  });
  process.stdout.write(`The record is at schema version ${version}.\n`);
} catch (error) {
  const line = lineOf(error);
  if (line === undefined) throw error;
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}

/** What an operator is told of a failure that is none of the code's. */
function lineOf(error: unknown): string | undefined {
  if (error instanceof ConfigError) return error.message;
  const isOutside = isServiceError(error, 'Unavailable') || isServiceError(error, 'Internal');
  return isOutside ? `The record was not migrated: ${error.message}.` : undefined;
}
