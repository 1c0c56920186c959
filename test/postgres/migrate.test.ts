import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { newestVersion } from '@agent-workflow/runtime/data-version';
import { migratePostgres } from '@agent-workflow/threads/adapters/postgres/migrate';
import { migrations } from '@agent-workflow/threads/adapters/postgres/schema';
import { openPostgresThreadStore } from '@agent-workflow/threads/adapters/postgres/store';
import { newSchemaName, openClient } from '../servers/postgres-schema.ts';
import { postgres } from '../servers/postgres.ts';
import { withServer } from '../servers/real-suite.ts';

withServer(test, postgres, (server) => {
  const place = async (): Promise<Parameters<typeof migratePostgres>[0] & { readonly deadlineMs: number }> => {
    const limits = { requestTimeoutMs: 20_000, deadlineMs: 20_000, waitMs: 30_000, connections: 1 };
    return { ...(await server()), ...limits, schema: newSchemaName() };
  };

  test('processes that migrate at once find the whole schema, and each step is made once', async (t) => {
    const options = await place();
    await using client = await openClient(options);
    const steps: string[] = [];
    const versions = await Promise.all(
      [1, 2, 3].map(() => migratePostgres({ ...options, onStep: (step) => void steps.push(step) })),
    );
    const newest = newestVersion(migrations);
    t.deepEqual(versions, [newest, newest, newest]);
    t.is(steps.length, migrations.length);
    await client.query(`DROP SCHEMA ${options.schema} CASCADE`);
  });

  test('a record that was not migrated does not open, one of a newer release is not migrated, and one of before version 100 neither', async (t) => {
    const options = await place();
    await using client = await openClient(options);
    await t.throwsAsync(openPostgresThreadStore(options), { message: /has to be migrated to version \d+ first/ });
    await migratePostgres(options);
    await (await openPostgresThreadStore(options))[Symbol.asyncDispose]();
    await client.query(`UPDATE ${options.schema}.schema_version SET version = version + 1`);
    await t.throwsAsync(migratePostgres(options), {
      instanceOf: ConfigError,
      message: /newer version \(schema \d+, known \d+\)/,
    });
    await client.query(`UPDATE ${options.schema}.schema_version SET version = 11`);
    const old = `the schema ${options.schema} of PostgreSQL: the data has schema 11, and the last commit that reads it is `;
    for (const refused of [migratePostgres(options), openPostgresThreadStore(options)])
      t.true((await t.throwsAsync(refused, { instanceOf: ConfigError })).message.startsWith(old));
    await client.query(`DROP SCHEMA ${options.schema} CASCADE`);
  });

  test('a migration that finds no server tries until its time is over', async (t) => {
    const retries: unknown[] = [];
    const options = {
      ...(await place()),
      port: 1,
      waitMs: 5000,
      onRetry: (error: unknown) => void retries.push(error),
    };
    await t.throwsAsync(migratePostgres(options), { message: 'the record of threads is unavailable for now' });
    t.true(retries.length >= 1);
  });

  test('a schema with another name than a plain one is refused before anything is sent', async (t) => {
    await t.throwsAsync(migratePostgres({ ...(await place()), schema: 'a; DROP TABLE b' }), {
      message: /is not a plain name of a schema/,
    });
  });
});
