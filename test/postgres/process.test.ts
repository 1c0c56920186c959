import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openCluster } from '../servers/cluster.ts';
import { nats } from '../servers/nats.ts';
import { postgres } from '../servers/postgres.ts';
import { redis } from '../servers/redis.ts';
import { withServer } from '../servers/real-suite.ts';
import { byLoad } from '../by-load.ts';

withServer(test, postgres, () => {
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
