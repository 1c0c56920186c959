import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate } from '../servers/gate.ts';
import { openNatsWithPools, poolsPrefix } from '../servers/nats-pools.ts';
import { agentAt } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

const agents = { support: agentAt('working'), billing: agentAt('working'), dunning: agentAt('held') };
const refusals: string[] = [];
const opened = new AsyncDisposableStack();
test.after.always(async () => opened.disposeAsync());

/** Each worker process holds one of the agents, with a NATS user that may do what this agent needs. */
const open = async () => {
  const { urlOf } = opened.use(await openNatsWithPools(Object.keys(agents)));
  return {
    agent: null,
    ...{ gateways: 1, threads: 1, executions: 1 },
    service: { agent: undefined, agents, default_agent: 'support' },
    env: { RATE_LIMIT_REQUESTS: '0', NATS_URL: urlOf('api'), NATS_PREFIX: poolsPrefix },
    workers: Object.entries(agents).map(([name, path]) => ({
      service: { agent: undefined, agents: { [name]: path } },
      env: { NATS_URL: urlOf(name), NATS_ACCESS: 'pool' },
    })),
    onLine: (name: string, line: string) => {
      if (line.includes('NATS refused')) refusals.push(`${name}: ${line}`);
    },
  };
};

withCluster(test, open, (cluster) => {
  test.serial(
    'processes whose NATS users may do only what their agents need serve these, also after kills',
    async (t) => {
      t.timeout(byLoad(120_000));
      const client = createClient(cluster().urls[0] ?? '');
      const bodyFor = (agent: string): object => ({ messages: [user('go')], config: { agent } });
      const ranIn = async (agent: string): Promise<number> => {
        const chunks = await Array.fromAsync(client.stream(bodyFor(agent)));
        return Number(/"text":"(\d+)"/.exec(JSON.stringify(chunks))?.[1]);
      };
      const [support, billing] = cluster().workers;
      for (let turn = 0; turn < 5; turn++) {
        t.is(await ranIn('support'), support?.pid() ?? 0);
        t.is(await ranIn('billing'), billing?.pid() ?? 0);
      }
      await support?.kill();
      const waiting = ranIn('support');
      t.is(await ranIn('billing'), billing?.pid() ?? 0);
      await support?.start();
      t.is(await waiting, support?.pid() ?? 0);
      t.deepEqual(refusals, []);
    },
  );

  test.serial(
    'the deletion of a thread stops its run at once, also in a worker that receives only what names its agent',
    async (t) => {
      t.timeout(byLoad(60_000));
      const client = createClient(cluster().urls[0] ?? '');
      await using gate = await openGate();
      // The tool waits for the gate without an event or a commit.
      const body = {
        messages: [user('go')],
        config: { agent: 'dunning', thread_id: 'deleted', gate: gate.url, once: true },
      };
      t.is((await client.send('POST', '/v1/runs', body)).status, 202);
      await gate.visited(1);
      t.is((await client.send('DELETE', '/v1/threads/deleted')).status, 200);
      await gate.left(1);
      t.deepEqual(refusals, []);
    },
  );
});
