import { readCommandLine } from '@agent-workflow/kit/command-line';
import { beginProcess, processSettings } from '@agent-workflow/runtime/process';
import { ConfigError, processEnv } from '@agent-workflow/kit/env';
import { canBeRetried, isServiceError } from '@agent-workflow/kit/errors';
import { configureStore, storeChecks, storeSettings } from './stores.ts';

// `agent-workflow migrate` imports this file, and has read its command line itself.
if (import.meta.main)
  readCommandLine({
    usage: `usage: node services/threads/migrate.ts
  Brings the schema of the record up to this release. Its settings are environment variables: deploy/settings.md`,
  });

/** How long to wait for another process that migrates, and for a server that does not answer. */
const waitMs = 5 * 60_000;

/** Brings the schema of the record up to this release, and ends. It runs before the release itself is started. */
try {
  const { values, log } = beginProcess('threads-migrate', {
    settings: { ...processSettings, ...storeSettings },
    checks: storeChecks,
    env: processEnv(),
  });
  const version = await configureStore(values).migrate({ waitMs, log });
  process.stdout.write(`The record is at schema version ${version}.\n`);
} catch (error) {
  const line = lineOf(error);
  if (line === undefined) throw error;
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}

/** The line that an operator sees; `undefined` for an error that is a fault of the code. */
function lineOf(error: unknown): string | undefined {
  if (error instanceof ConfigError) return error.message;
  const isOutside = canBeRetried(error) || isServiceError(error, 'Internal');
  return isOutside && error instanceof Error ? `The record was not migrated: ${error.message}.` : undefined;
}
