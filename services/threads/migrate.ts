import { beginProcess, processSettings } from '@agent-workflow/kit/process';
import { ConfigError, processEnv } from '@agent-workflow/kit/env';
import { migrateCassandra } from './adapters/cassandra-migrate.ts';
import { cassandraSettings, readCassandra } from './cassandra-settings.ts';

/** How long to wait for another who migrates. */
const waitMs = 5 * 60_000;

/** Brings the schema of the record up to this release, and ends: before the release itself is started. */
try {
  const settings = { ...processSettings, ...cassandraSettings };
  const { values, log } = beginProcess('threads-migrate', settings, processEnv());
  const version = await migrateCassandra({
    ...readCassandra(values),
    waitMs,
    onStep: (text) => log.info(text),
  });
  process.stdout.write(`The record is at schema version ${version}.\n`);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
