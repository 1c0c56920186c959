import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { readUpgrade } from '../chart/upgrade-order.ts';
import { createSturdyClient } from '../kill/clients.ts';
import { user } from '../servers/client.ts';
import { packageIn, serviceToken, type Cluster } from '../servers/cluster.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { runToEnd } from '../servers/process.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { allHolds, replace, startLoad } from './load.ts';
import { isAsFast, medianAlone, nothingIsLost, pooledCallers } from './pool-load.ts';
import { byLoad } from '../by-load.ts';

/** A project with the packages of an earlier version: `npm run test:upgrade` makes it of a commit. */
const earlier = processEnv()['EARLIER'];

const drainSeconds = 5;
const agents = ['support', 'billing'];

const held =
  (agent: string) =>
  (root: string): Readonly<Record<string, unknown>> => ({
    agent: undefined,
    agents: { [agent]: agentAt('pooled', root) },
  });
const worker = (agent: string, revision: string) => ({ service: held(agent), env: { AGENT_REVISION: revision } });
const pools = [worker('support', 'v1'), worker('support', 'v2'), worker('support', 'v2'), worker('billing', 'v1')];
/** The workers of the pool `support` at its current revision, by their places. */
const twins = [1, 2];

/** Fit replies in a row, after which each replica of the record knows a registered agent or revision. Until then one may answer 503. */
const settledAfter = 8;
/** So that a dead worker is found soon. */
const leaseMs = 3000;

const options = {
  agent: null,
  ...{ earlier, workers: pools, executions: 2 },
  service: { agent: null, default_agent: 'support' },
  env: { DRAIN_SECONDS: String(drainSeconds), RATE_LIMIT_REQUESTS: '0', LEASE_MS: String(leaseMs) },
};

if (earlier === undefined) {
  test.skip('pools of an earlier version are tested by `npm run test:upgrade`', () => undefined);
} else {
  withCluster(test, options, (cluster) => {
    const client = () => createSturdyClient(cluster().urls, false);
    const asked = { agent: 'support', thread_id: 'asked' };

    /** Registers an agent as the Job of a pool of the earlier version does. */
    const register = async (t: ExecutionContext, agent: string, revision: string): Promise<void> => {
      await using workspace = await makeWorkspace(null, held(agent)(earlier));
      const { code, output } = await runToEnd({
        entry: join(packageIn(earlier), 'services/command/main.js'),
        words: ['agents', 'register'],
        env: {
          ...{ THREADS_ADDRESS: cluster().threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken },
          ...{ SERVICE_CONFIG: workspace.env['SERVICE_CONFIG'] ?? '', AGENT_REVISION: revision },
        },
      });
      t.is(code, 0, output);
    };

    const invoke = async (body: object) => client().send('POST', '/v1/graph/invoke', body);

    /** Waits until all replicas answer runs of an agent so. */
    const settles = async (agent: string, isFit: (reply: Awaited<ReturnType<typeof invoke>>) => boolean) => {
      let settled = 0;
      await until(async () => {
        settled = isFit(await invoke({ messages: [user('hi')], config: { agent } })) ? settled + 1 : 0;
        return settled === settledAfter;
      });
    };

    test.serial('pools of the earlier version serve their agents on its platform', async (t) => {
      for (const agent of agents) await register(t, agent, 'v1');
      for (const agent of agents) await settles(agent, ({ status }) => status === 200);
      const question = await invoke({ messages: [user('ask')], config: asked });
      t.like(question.body, { data: { meta: { status: 'interrupted' } } } as never);
      await register(t, 'support', 'v2');
      const inOld = `kept in ${cluster().workers[0]?.pid() ?? 0}`;
      await settles('support', ({ status, body }) => status === 200 && !JSON.stringify(body).includes(inOld));
    });

    test.serial('the platform is upgraded under load, its pools work on, and no request fails', async (t) => {
      t.timeout(byLoad(240_000));
      const { rolls } = await readUpgrade(drainSeconds);
      const before = await medianAlone(client(), agents);
      const load = await startLoad(cluster(), pooledCallers('upgrade', agents));
      await load.rounds(3);
      const counts = await Promise.all(
        rolls.map(async (roll) => replace(t, cluster(), roll, (replica) => replica.upgrade())),
      );
      t.is(
        counts.reduce((sum, count) => sum + count, 0),
        cluster().replicas.length - pools.length,
        'a replica belongs to no Deployment',
      );
      await load.rounds(6);
      const calls = await allHolds(t, cluster(), load, ['completed', 'interrupted']);
      await nothingIsLost(t, load.clients, calls, load.callers);
      isAsFast(t, before, await medianAlone(client(), agents));
    });

    test.serial('the run of an old worker that is killed is taken over by another one of its pool', async (t) => {
      const { send, follow } = client();
      const { body } = await send('POST', '/v1/runs', {
        messages: [user(`wait ${leaseMs}`)],
        config: { agent: 'support' },
      });
      const { run_id: runId } = body.data as { run_id: string };
      const followed = follow(runId);
      const [first, second] = twins.map((place) => cluster().workers[place]) as [Worker, Worker];
      const begunIn = await workerOf(cluster(), runId, [first, second]);
      const other = begunIn === first ? second : first;
      const pid = begunIn.pid();
      await begunIn.kill();
      const { text } = await followed;
      t.true(text.includes(`work in `) && text.includes(String(pid)));
      t.regex(text, new RegExp(`kept in ${other.pid()}`));
      t.is(text.match(/^event: on_chain_end$/gm)?.length, 1);
      await begunIn.start();
    });

    test.serial('a question that an old pool has asked before is answered there', async (t) => {
      const { status, body } = await invoke({ messages: [], resume: 'yes', config: asked });
      t.is(status, 200);
      t.true(JSON.stringify(body).includes(`yes in ${cluster().workers[0]?.pid() ?? 0}`), JSON.stringify(body));
      const { runs } = (await client().send('GET', '/v1/threads/asked/runs')).body.data as { runs: unknown[] };
      t.like(runs[0], { agent: 'support', revision: 'v1', status: 'completed' });
    });

    /** Adds ten steps to those of the agent's thread, which are `steps` then. */
    const isCounted = async (t: ExecutionContext, agent: string, steps: number): Promise<void> => {
      const written = { config: {}, state: { steps: 10 } };
      const { status, body } = await client().send('POST', `/v1/threads/counted-${agent}/state`, written);
      t.is(status, 200, JSON.stringify(body));
      t.like((body.data as { state: unknown }).state, { steps });
    };

    test.serial('a field that only a pool can reduce is written by an old pool', async (t) => {
      for (const agent of agents) {
        const config = { agent, thread_id: `counted-${agent}` };
        t.is((await invoke({ messages: [user('hi')], config })).status, 200);
        await isCounted(t, agent, 12);
      }
    });

    test.serial('a pool that is upgraded and restricted on NATS has its runs to itself beside old pools', async (t) => {
      const billing = cluster().workers.at(-1);
      t.is(await billing?.stop(), 0);
      billing?.upgrade();
      await billing?.start({ NATS_ACCESS: 'pool' });
      const body = { messages: [user(`wait ${3 * leaseMs}`)], config: { agent: 'billing' } };
      const started = await client().send('POST', '/v1/runs', body);
      const { text } = await client().follow((started.body.data as { run_id: string }).run_id);
      t.notRegex(text, /restarted|rebuilt/);
      t.is(text.match(/kept in/g)?.length, 4, text);
    });

    test.serial('then the pools are upgraded worker by worker, and no request fails', async (t) => {
      t.timeout(byLoad(240_000));
      const load = await startLoad(cluster(), pooledCallers('pools', agents));
      for (const each of cluster().workers) {
        t.is(await each.stop(), 0, each.name);
        each.upgrade();
        await each.start();
        await load.rounds(2);
      }
      const calls = await allHolds(t, cluster(), load, ['completed', 'interrupted']);
      await nothingIsLost(t, load.clients, calls, load.callers);
      for (const agent of agents) await isCounted(t, agent, 22);
    });
  });
}

type Worker = Cluster['workers'][number];

/** Which of the workers has begun a run, as its stream says. */
async function workerOf({ urls }: Cluster, runId: string, workers: readonly Worker[]): Promise<Worker> {
  const response = await fetch(`${urls[0] ?? ''}/v1/runs/${runId}/stream`);
  let text = '';
  for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += bytes;
    const begun = workers.find((each) => text.includes(String(each.pid())));
    if (begun) return begun;
  }
  throw new Error(`no worker has begun the run: ${text}`);
}
