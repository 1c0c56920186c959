import { canBeRetried, ServiceError } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import { missingMigrations } from '@agent-workflow/runtime/data-version';
import { openSession, type Session } from './client.ts';
import type { PostgresReach } from './connections.ts';
import { migrations, storeName } from './schema.ts';

interface MigrateOptions extends PostgresReach {
  /** How long to wait for a server that does not answer and for another process that migrates, in milliseconds. */
  readonly waitMs: number;
  readonly onStep?: (text: string) => void;
  /** Called for each attempt that failed and is made again. */
  readonly onRetry?: (error: unknown) => void;
}

/**
 * Makes the schema when it is absent and applies the migrations that are missing, in order, each in a transaction of its own.
 * Processes that call it at once wait for each other. While the server is unavailable it is tried again, for at most `waitMs`.
 * @returns the version that the schema has now.
 * @throws Unavailable when the server cannot be reached for long, or another process migrates for too long; ConfigError when the schema is of a newer
 * release, or older than the first one.
 */
export async function migratePostgres(options: MigrateOptions): Promise<number> {
  const deadline = Date.now() + options.waitMs;
  return retry(() => migrateNow(options, deadline), {
    ...{ firstMs: retryMs, maxMs: retryMs, jitter: 0, deadline },
    mayHelp: canBeRetried,
    ...(options.onRetry && { onRetry: options.onRetry }),
  });
}

const retryMs = 1000;

async function migrateNow(options: MigrateOptions, until: number): Promise<number> {
  await using session = await openSession(options, { deadlineMs: 0 });
  for (;;) {
    const { version, isDone } = await step(session, options.schema, Math.max(1, until - Date.now()));
    if (isDone) return version;
    options.onStep?.(`the schema has version ${String(version)} now`);
  }
}

/** Names cannot be bound: nothing but a plain one is let through. */
const plainName = /^[a-z][a-z0-9_]{0,47}$/;

interface Step {
  readonly version: number;
  /** Whether nothing was left to apply. */
  readonly isDone: boolean;
}

/** Applies one migration. The lock ends with the transaction, so a process that dies leaves none behind. */
const step = ({ transaction }: Session, schema: string, statementTimeoutMs: number): Promise<Step> => {
  if (!plainName.test(schema)) throw new ServiceError('Internal', `"${schema}" is not a plain name of a schema`);
  return transaction<Step>(
    async ({ query, write }) => {
      await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent-workflow-threads/${schema}`]);
      await makeSchema(query, schema);
      const [row] = await query('SELECT version FROM schema_version');
      const version = (row?.['version'] as number | undefined) ?? 0;
      const [next] = missingMigrations(migrations, version, storeName(schema));
      if (!next) return { isWritten: true, reply: { version, isDone: true } };
      for (const statement of next.migration.split(';')) await write(statement);
      await write('UPDATE schema_version SET version = $1', [next.version]);
      return { isWritten: true, reply: { version: next.version, isDone: false } };
    },
    { statementTimeoutMs },
  );
};

/** A role that may not make schemas finds the one that an administrator has made for it. */
async function makeSchema(
  query: (sql: string, params?: readonly string[]) => Promise<readonly unknown[]>,
  schema: string,
): Promise<void> {
  const known = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (known.length === 0) await query(`CREATE SCHEMA ${schema}`);
  const [table] = (await query('SELECT to_regclass($1) IS NOT NULL AS is_there', [
    `${schema}.schema_version`,
  ])) as readonly {
    readonly is_there: boolean;
  }[];
  if (table?.is_there === true) return;
  await query(`CREATE TABLE ${schema}.schema_version (id bigint PRIMARY KEY CHECK (id = 0), version bigint NOT NULL)`);
  await query(`INSERT INTO ${schema}.schema_version (id, version) VALUES (0, 0)`);
}
