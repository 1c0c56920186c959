import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { connect } from 'nats';
import { rulesWith } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { createClient, readChunks, user, type Chunk } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openNatsCluster } from '../servers/nats-cluster.ts';
import { accountsWith, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { agentAt } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

/*
 * An installation with one NATS user, whose streams are in the account `$G`, is given accounts: one for the service and one for the pool.
 * The steps are those of deploy/guide/nats-accounts.md: the execution processes are stopped, the streams deleted, the configuration of NATS is changed.
 */

const oneUser = 'authorization { users: [{ user: "api", password: "x" }] }';
const agents = { support: agentAt('working') };
const { names } = rulesWith(poolsPrefix);
const opened = new AsyncDisposableStack();
test.after.always(async () => opened.disposeAsync());
let server: Awaited<ReturnType<typeof openNatsCluster>>;
const urlOf = (name: string): string => server.url.replace('nats://', `nats://${name}:x@`);

const open = async () => {
  server = opened.use(await openNatsCluster({ servers: 1, lines: oneUser }));
  return {
    agent: null,
    ...{ gateways: 1, threads: 1, executions: 2 },
    service: { agent: undefined, agents, default_agent: 'support' },
    env: { RATE_LIMIT_REQUESTS: '0', NATS_URL: urlOf('api'), NATS_PREFIX: poolsPrefix },
    workers: [{ service: { agent: undefined, agents } }],
  };
};

/** The user of the pool, once there are accounts. */
const ofPool = () => ({ NATS_URL: urlOf('support'), NATS_ACCESS: 'pool' });

/** As `nats stream rm` does. */
async function deleteStreams(): Promise<void> {
  const connection = await connect({ servers: server.url.replace('nats://', ''), user: 'api', pass: 'x' });
  const { streams } = await connection.jetstreamManager();
  for (const name of [names.events, names.runs]) await streams.delete(name);
  await connection.close();
  // The server deletes the files after its reply.
  const reply = await fetch(`${server.monitorUrl}/jsz`);
  const { config } = (await reply.json()) as { readonly config: { readonly store_dir: string } };
  await until(async () => (await readdir(join(config.store_dir, '$G/streams')).catch(() => [])).length === 0);
}

/** Its streams, as the monitoring port of the server shows those of every account. */
async function streamsByAccount(): Promise<Readonly<Record<string, readonly string[]>>> {
  const reply = await fetch(`${server.monitorUrl}/jsz?streams=true&accounts=true`);
  const { account_details: found = [] } = (await reply.json()) as {
    readonly account_details?: readonly {
      readonly name: string;
      readonly stream_detail?: readonly { readonly name: string }[];
    }[];
  };
  return Object.fromEntries(
    found.map(({ name, stream_detail: streams = [] }) => [name, streams.map((each) => each.name).toSorted()]),
  );
}

withCluster(test, open, (cluster) => {
  test.serial('runs that waited in streams of before are executed once the server has accounts', async (t) => {
    t.timeout(byLoad(180_000));
    const client = createClient(cluster().urls[0] ?? '');
    const [worker] = cluster().workers;
    const start = async (): Promise<string> => {
      const { status, body } = await client.send('POST', '/v1/runs', { messages: [user('go')] });
      t.is(status, 202);
      return (body.data as { run_id: string }).run_id;
    };
    const endOf = async (id: string): Promise<string> =>
      JSON.stringify((await client.send('GET', `/v1/runs/${id}/wait`)).body);
    const eventsOf = async (id: string): Promise<readonly Chunk[]> =>
      Array.fromAsync(readChunks(await fetch(`${cluster().urls[0] ?? ''}/v1/runs/${id}/stream`)));
    const ended = await start();
    t.regex(await endOf(ended), /"status":"completed"/);
    const before = await eventsOf(ended);
    t.true(before.length > 2);
    await worker?.stop();
    const waiting = await Promise.all(Array.from({ length: 20 }, start));
    t.deepEqual(await streamsByAccount(), { $G: [names.events, names.runs].toSorted() });

    for (const process of cluster().executions) await process.stop();
    await deleteStreams();
    await server.kill(0);
    await server.restart(0, accountsWith(['support']));
    for (const process of cluster().executions) await process.start();
    await worker?.start(ofPool());

    for (const id of waiting) t.regex(await endOf(id), /"status":"completed"/);
    t.regex(await endOf(await start()), /"status":"completed"/);
    for (const id of waiting) t.true((await eventsOf(id)).length > 2, id);
    t.deepEqual(await streamsByAccount(), { SERVICE: [names.events, names.runs].toSorted() });
    const after = await eventsOf(ended);
    t.deepEqual(
      after.map(({ event }) => event),
      before.map(({ event }) => event),
    );
  });
});

withServer(test, privateNats(), () => {
  test.serial('a server with accounts is not healthy while streams of before are there', async (t) => {
    await using old = await openNatsCluster({ servers: 1, lines: oneUser });
    const connection = await connect({ servers: old.url.replace('nats://', ''), user: 'api', pass: 'x' });
    await (await connection.jetstreamManager()).streams.add({ name: 'QUEUE', subjects: ['runs.>'] });
    await connection.close();
    await old.kill(0);
    const healthy = old.restart(0, accountsWith(['support']));
    const health = async (): Promise<string> =>
      fetch(`${old.monitorUrl}/healthz`).then(
        async (reply) => `${reply.status} ${await reply.text()}`,
        () => '',
      );
    await until(async () => (await health()).startsWith('503') && (await health()).includes('could not be recovered'));
    await old.kill(0);
    await t.throwsAsync(healthy, { message: /before it was healthy/ });
  });
});
