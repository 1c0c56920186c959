import { randomUUID } from 'node:crypto';
import { canBeRetried, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { pause, retry } from '@agent-workflow/kit/retry';
import { missingMigrations, newestVersion } from '@agent-workflow/runtime/data-version';
import { openSchemaSession, storeName, type CassandraPlace, type SchemaSession } from './client/client.ts';
import { migrations } from './rows/schema.ts';

interface MigrateOptions extends CassandraPlace {
  /** Data centre to number of replicas, for a keyspace that is not there yet. */
  readonly replication: Readonly<Record<string, number>>;
  /** How long to wait for another process that migrates, and for a cluster that does not answer, in milliseconds. */
  readonly waitMs: number;
  readonly onStep?: (text: string) => void;
  /** Called with the failure of each attempt that is made again. */
  readonly onRetry?: (error: unknown) => void;
}

/**
 * Makes the keyspace when it is absent and applies the migrations that are missing, in order. Processes that call it at once wait for
 * each other. Every statement can be made again: while the cluster is unavailable all of it is tried again, for as long as it may wait.
 * Resolves when all nodes have the schema.
 * @returns the version that the schema has now.
 * @throws Unavailable when the cluster cannot be reached for long, its nodes do not agree, or another process migrates for too long;
 * ConfigError when the schema is of a newer release, or older than the first one.
 */
export async function migrateCassandra(options: MigrateOptions): Promise<number> {
  const turn: Turn = { holder: randomUUID(), until: Date.now() + options.waitMs };
  return retry(() => migrateNow(options, turn), {
    ...{ firstMs: retryPauseMs, maxMs: retryPauseMs, jitter: 0 },
    deadline: turn.until,
    mayHelp: canBeRetried,
    onRetry: (error) => options.onRetry?.(error),
  });
}

const retryPauseMs = 1000;

/** What one migrating process keeps through all attempts, so that a lock taken without an answer is recognised as its own. */
interface Turn {
  readonly holder: string;
  /** When no attempt is begun any more. */
  readonly until: number;
}

async function migrateNow(options: MigrateOptions, turn: Turn): Promise<number> {
  await makeKeyspace(options);
  await using session = await openSchemaSession(options, options.keyspace);
  await makeTables(session, options.keyspace);
  await using lock = await takeLock(session, turn);
  const version = await versionOf(session);
  for (const next of missingMigrations(migrations, version, storeName(options.keyspace))) {
    for (const statement of next.migration) {
      await lock.renew();
      await session.alter(statement);
    }
    await session.run({ cql: putVersion, params: [versionKey, next.version] });
    options.onStep?.(`the schema has version ${next.version} now`);
  }
  return newestVersion(migrations);
}

/** Names cannot be bound, so that nothing but a plain one is let through. */
const plainName = /^[a-z][a-z0-9_]{0,47}$/;
const plainCentre = /^[\w.-]+$/;

async function makeKeyspace(options: MigrateOptions): Promise<void> {
  const { keyspace, replication } = options;
  if (!plainName.test(keyspace)) throw new ServiceError('Internal', `"${keyspace}" is not a plain name of a keyspace`);
  await using session = await openSchemaSession(options);
  const known = await session.run({ cql: selectKeyspace, params: [keyspace] });
  if (known.length > 0) return;
  const centres = Object.entries(replication).map(([centre, count]) => {
    if (!plainCentre.test(centre)) throw new ServiceError('Internal', `"${centre}" is not a name of a data centre`);
    return `'${centre}': ${count}`;
  });
  await session.alter(
    `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = {'class': 'NetworkTopologyStrategy', ${centres.join(', ')}}`,
  );
}

const selectKeyspace = 'SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?';
const selectTables = 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?';

/** The tables of the migration itself. They are searched first, because two nodes that create one table at once may create two. */
async function makeTables(session: SchemaSession, keyspace: string): Promise<void> {
  const rows = await session.run({ cql: selectTables, params: [keyspace] });
  const known = new Set(rows.map((row) => row['table_name']));
  if (!known.has('migration_lock'))
    await session.alter('CREATE TABLE IF NOT EXISTS migration_lock (id int PRIMARY KEY, holder uuid)');
  if (!known.has('schema_version'))
    await session.alter('CREATE TABLE IF NOT EXISTS schema_version (id int PRIMARY KEY, version int)');
}

const versionKey = 0;
const selectVersion = 'SELECT version FROM schema_version WHERE id = ?';
const putVersion = 'INSERT INTO schema_version (id, version) VALUES (?, ?)';

async function versionOf(session: SchemaSession): Promise<number> {
  const [row] = await session.run({ cql: selectVersion, params: [versionKey] });
  return (row?.['version'] as number | undefined) ?? 0;
}

/** A lock whose holder died expires after so many seconds. */
const lockSeconds = 60;
const lockPauseMs = 250;

const takeCql = `INSERT INTO migration_lock (id, holder) VALUES (0, ?) IF NOT EXISTS USING TTL ${lockSeconds}`;
const renewCql = `UPDATE migration_lock USING TTL ${lockSeconds} SET holder = ? WHERE id = 0 IF holder = ?`;
const releaseCql = 'DELETE FROM migration_lock WHERE id = 0 IF holder = ?';

interface Lock extends AsyncDisposable {
  /** @throws Unavailable when another has it by now. */
  readonly renew: () => Promise<void>;
}

async function takeLock(session: SchemaSession, { holder, until }: Turn): Promise<Lock> {
  const take = (): Promise<boolean> => session.writeIf({ cql: takeCql, params: [holder] });
  const renew = (): Promise<boolean> => session.writeIf({ cql: renewCql, params: [holder, holder] });
  while (!(await take()) && !(await renew())) {
    if (Date.now() > until) throw unavailable('another process migrates the record and has not finished in time');
    await pause(lockPauseMs);
  }
  return {
    renew: async () => {
      if (!(await renew())) throw unavailable('another process took over the migration of the record');
    },
    [Symbol.asyncDispose]: async () => {
      // A lock that stays expires by itself; a failure here must not hide why the migration failed.
      await session.writeIf({ cql: releaseCql, params: [holder] }).catch(() => false);
    },
  };
}
