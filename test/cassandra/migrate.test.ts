import { randomBytes } from 'node:crypto';
import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { newestVersion } from '@agent-workflow/runtime/data-version';
import { openCassandraThreadStore } from '@agent-workflow/threads/adapters/cassandra/store';
import { migrateCassandra } from '@agent-workflow/threads/adapters/cassandra/migrate';
import { migrations } from '@agent-workflow/threads/adapters/cassandra/rows/schema';
import { openClient } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { openCqlProxy } from '../servers/cql-proxy.ts';
import { withServer } from '../servers/real-suite.ts';

const newest = newestVersion(migrations);

type Options = Parameters<typeof migrateCassandra>[0];

withServer(test, cassandra, (server) => {
  const keyspace = `migrate_${randomBytes(6).toString('hex')}`;
  const place = async (): Promise<Options> => {
    const { contactPoints, localDataCenter } = await server();
    const replication = { [localDataCenter]: 1 };
    return { contactPoints, localDataCenter, keyspace, replication, requestTimeoutMs: 10_000, waitMs: 20_000 };
  };

  const migrateAt = async (
    { contactPoints, localDataCenter }: Options,
    cql: string,
    params: unknown[] = [],
  ): Promise<readonly Row[]> => {
    const socketOptions = { readTimeout: 60_000 };
    await using client = openClient({ contactPoints: [...contactPoints], localDataCenter, socketOptions });
    const result: { readonly rows?: readonly Row[] } = await client.execute(cql, params, {
      prepare: params.length > 0,
    });
    return result.rows ?? [];
  };

  test.after.always(async () => migrateAt(await place(), `DROP KEYSPACE IF EXISTS ${keyspace}`));

  test.serial('whoever migrates at once with others finds the whole schema, and each step is made once', async (t) => {
    const options = await place();
    // The first one makes the keyspace: two that make one at once may disagree about it for a moment.
    await migrateCassandra(options);
    await migrateAt(options, `TRUNCATE ${options.keyspace}.schema_version`);
    const steps: string[] = [];
    const versions = await Promise.all(
      [1, 2, 3].map(() => migrateCassandra({ ...options, onStep: (text) => void steps.push(text) })),
    );
    t.deepEqual(versions, [newest, newest, newest]);
    t.is(steps.length, migrations.length);
  });

  test.serial(
    'a migration that was cut short goes on where it was, after the lock of the dead has ended',
    async (t) => {
      const options = await place();
      await migrateCassandra(options);
      await migrateAt(options, `TRUNCATE ${options.keyspace}.schema_version`);
      await migrateAt(options, `DROP TABLE ${options.keyspace}.once`);
      await migrateAt(
        options,
        `INSERT INTO ${options.keyspace}.migration_lock (id, holder) VALUES (0, uuid()) IF NOT EXISTS USING TTL 2`,
      );
      t.is(await migrateCassandra(options), newest);
      const tables = await migrateAt(options, 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?', [
        options.keyspace,
      ]);
      t.true(tables.some((row) => row['table_name'] === 'once'));
    },
  );

  test.serial(
    'a lock that is held for too long is unavailable, and a schema of a newer release or of before version 100 is refused',
    async (t) => {
      const options = await place();
      await migrateCassandra(options);
      await migrateAt(
        options,
        `INSERT INTO ${options.keyspace}.migration_lock (id, holder) VALUES (0, uuid()) IF NOT EXISTS`,
      );
      const held = await t.throwsAsync<Error & { code?: string }>(migrateCassandra({ ...options, waitMs: 300 }));
      t.is(held.code, 'Unavailable');
      await migrateAt(options, `DELETE FROM ${options.keyspace}.migration_lock WHERE id = 0 IF EXISTS`);
      await migrateAt(options, `INSERT INTO ${options.keyspace}.schema_version (id, version) VALUES (0, 1000)`);
      await t.throwsAsync(migrateCassandra(options), {
        instanceOf: ConfigError,
        message: /\(schema 1000, known \d+\)/,
      });
      await migrateAt(options, `INSERT INTO ${options.keyspace}.schema_version (id, version) VALUES (0, 7)`);
      const old = `the keyspace ${options.keyspace} of Cassandra: the data has schema 7, and the last commit that reads it is `;
      for (const refused of [
        migrateCassandra(options),
        openCassandraThreadStore({ ...options, deadlineMs: 1000, checkpointTtl: 0 }),
      ])
        t.true((await t.throwsAsync(refused, { instanceOf: ConfigError })).message.startsWith(old));
    },
  );

  test('a migration goes on when the server answers again, and keeps the lock that it took without an answer', async (t) => {
    const options = { ...(await place()), keyspace: `${keyspace}_away` };
    t.teardown(async () => migrateAt(options, `DROP KEYSPACE IF EXISTS ${options.keyspace}`));
    await using proxy = await openCqlProxy(options.contactPoints[0] ?? '');
    const failures: unknown[] = [];
    // Of what is prepared, the third statement takes the lock.
    let prepared = 0;
    proxy.judge = ({ isPrepared }) => {
      if (isPrepared) prepared += 1;
      return isPrepared && prepared >= 3 && failures.length === 0 ? 'drop' : 'pass';
    };
    const version = await migrateCassandra({
      ...options,
      ...{ contactPoints: [proxy.contactPoint], requestTimeoutMs: 2000 },
      onRetry: (error) => void failures.push(error),
    });
    t.is(version, newest);
    t.true(failures.length > 0);
  });

  test('a store does not open before the migration', async (t) => {
    const options = { ...(await place()), deadlineMs: 1000, checkpointTtl: 0 };
    const absent = { ...options, keyspace: 'migrate_absent' };
    const refusal = await t.throwsAsync<Error & { code?: string }>(openCassandraThreadStore(absent));
    t.is(refusal.code, 'Unavailable');
    t.regex(refusal.message, /migrated to version/);
  });

  test('a record that cannot be reached has the setting to look at in its cause, and not in its message', async (t) => {
    const options = { ...(await place()), deadlineMs: 1000, checkpointTtl: 0 };
    const wrong: readonly [RegExp, object][] = [
      [/^CASSANDRA_LOCAL_DATACENTER: .*'elsewhere'/, { localDataCenter: 'elsewhere' }],
      [/^CASSANDRA_CONTACT_POINTS: .*ECONNREFUSED/, { contactPoints: ['127.0.0.1:1'] }],
    ];
    for (const [reason, reach] of wrong) {
      const error = await t.throwsAsync(openCassandraThreadStore({ ...options, ...reach }), {
        message: 'the record of threads is unavailable for now',
      });
      t.regex(String((error.cause as Error | undefined)?.message), reason);
    }
  });

  test('a keyspace or data centre whose name is not plain is refused', async (t) => {
    const options = await place();
    await t.throwsAsync(migrateCassandra({ ...options, keyspace: 'a; DROP KEYSPACE b' }), { message: /plain name/ });
    await t.throwsAsync(migrateCassandra({ ...options, keyspace: 'migrate_absent', replication: { "x': 1}": 1 } }), {
      message: /data centre/,
    });
  });
});

type Row = Readonly<Record<string, unknown>>;
