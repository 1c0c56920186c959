import { fileURLToPath } from 'node:url';
import test from 'ava';
import { migratePostgres } from '@agent-workflow/threads/adapters/postgres/migrate';
import { createClient, user } from '../servers/client.ts';
import { openCluster } from '../servers/cluster.ts';
import { nats } from '../servers/nats.ts';
import { dropSchemas, newSchemaName } from '../servers/postgres-schema.ts';
import { postgres } from '../servers/postgres.ts';
import { startProcess } from '../servers/process.ts';
import { freePorts } from '../servers/real-process.ts';
import { redis } from '../servers/redis.ts';
import { withServer } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';
import { until } from '../until.ts';

withServer(test, postgres, (server) => {
  test('a record that is not migrated is said once to fail while its server answers, until it is migrated', async (t) => {
    const { host, port, username, password, database } = await server();
    const [metricsPort = 0] = await freePorts(1);
    const options = {
      connections: 1,
      requestTimeoutMs: 20_000,
      host,
      port,
      username,
      database,
      schema: newSchemaName(),
      ...(password !== undefined && { password }),
    };
    const lines: string[] = [];
    const starting = startProcess({
      entry: fileURLToPath(new URL('../../services/threads/main.ts', import.meta.url)),
      env: {
        ...{ THREAD_STORE: 'postgres', POSTGRES_HOST: host, POSTGRES_PORT: String(port), POSTGRES_USERNAME: username },
        ...{ POSTGRES_DATABASE: database, POSTGRES_SCHEMA: options.schema, GRPC_HOST: '127.0.0.1', GRPC_PORT: '0' },
        ...{
          SERVICE_TOKEN: 'one',
          LOG_FORMAT: 'json',
          LOG_LEVEL: 'info',
          METRICS_PORT: String(metricsPort),
          METRICS_HOST: '127.0.0.1',
        },
        ...(password !== undefined && { POSTGRES_PASSWORD: password }),
      },
      onLine: (line) => lines.push(line),
    });
    t.teardown(() => dropSchemas([{ ...options, deadlineMs: 40_000 }]));
    await until(() => lines.some((line) => line.includes('a part fails')));
    await until(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${String(metricsPort)}/metrics`)).text();
      return Number(/^agent_workflow_part_failures_total\{part="postgres"\} (\d+)$/m.exec(metrics)?.[1]) >= 4;
    });
    const failures = lines.filter((line) => /a part (fails|works)/.test(line));
    t.is(failures.length, 1, failures.join('\n'));
    t.regex(failures[0] ?? '', /has to be migrated/);
    await migratePostgres({ ...options, waitMs: 60_000 });
    await using _process = await starting;
  });

  withServer(test, nats, () => {
    withServer(test, redis, () => {
      test('with THREAD_STORE=postgres the processes of a cluster keep runs and threads through a restart of the threads service', async (t) => {
        t.timeout(byLoad(180_000));
        const processes = { gateways: 1, threads: 1, executions: 1, env: { DRAIN_SECONDS: '1' } };
        await using cluster = await openCluster({ agent: 'echo', record: 'postgres', ...processes });
        const [url = ''] = cluster.urls;
        const { send } = createClient(url);
        const first = await send('POST', '/v1/graph/invoke', { messages: [user('hello')] });
        t.is(first.status, 200, JSON.stringify(first.body));
        const { meta } = first.body.data as {
          readonly meta: { readonly thread_id: string; readonly run_id: string; readonly status: string };
        };
        t.is(meta.status, 'completed');

        const [threads] = cluster.threads;
        await threads?.kill();
        await threads?.start();

        const run = await send('GET', `/v1/runs/${meta.run_id}`);
        t.is(run.status, 200, JSON.stringify(run.body));
        const next = { messages: [user('again')], config: { thread_id: meta.thread_id } };
        t.is((await send('POST', '/v1/graph/invoke', next)).status, 200);
        const { body } = await send('GET', `/v1/threads/${meta.thread_id}/messages`);
        const { messages } = body.data as { readonly messages: readonly { readonly role: string }[] };
        t.deepEqual(
          messages.map(({ role }) => role),
          ['user', 'assistant', 'user', 'assistant'],
        );
        const { body: state } = await send('GET', `/v1/threads/${meta.thread_id}/state`);
        t.is((state.data as { readonly state: { readonly turns: number } }).state.turns, 2);
        t.is((await send('DELETE', `/v1/threads/${meta.thread_id}`)).status, 200);
        t.is((await send('GET', `/v1/runs/${meta.run_id}`)).status, 404);
      });
    });
  });
});
