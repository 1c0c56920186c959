import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openGate } from '../servers/gate.ts';
import { freePorts } from '../servers/real-process.ts';
import { until } from '../until.ts';
import { besideBacklog, knowsBilling, registerBoth, revision } from './backlog.ts';
import { valueIn } from './keda.ts';
import { byLoad } from '../by-load.ts';

const openRuns = 10_000;
const held = 40;
const atOnce = 32;
/** How old what scales workers may be, in milliseconds. */
const mostLagMs = 5000;

withCluster(test, besideBacklog({ backlog: openRuns, slots: held }), (cluster) => {
  test.serial(
    'what scales a pool is at most five seconds old beside ten thousand runs of another, at each replica',
    async (t) => {
      t.timeout(byLoad(600_000));
      await registerBoth(cluster());
      const ports = await freePorts(cluster().executions.length);
      for (const [index, api] of cluster().executions.entries()) {
        t.is(await api.stop(), 0);
        await api.start({ METRICS_PORT: String(ports[index]), METRICS_HOST: '127.0.0.1' });
      }
      const client = createClient(cluster().urls[0] ?? '');
      const runsOf = async (port: number, agent: string): Promise<number> => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return valueIn(page, `agent_workflow_revision_runs{agent="${agent}",revision="${revision}"}`);
      };
      /** How long it takes until every replica shows it, in milliseconds. */
      const lagUntil = async (agent: string, runs: number): Promise<number> => {
        const since = performance.now();
        for (const port of ports)
          await until(async () => (await runsOf(port, agent).catch(() => undefined)) === runs, { timeoutMs: 120_000 });
        return performance.now() - since;
      };
      await until(() => knowsBilling(cluster()));
      await lagUntil('billing', 0);

      await using gate = await openGate();
      const queue = async (agent: string, count: number): Promise<void> => {
        const turns = Array.from({ length: count }, (_, turn) => turn).values();
        const bodyFor = { messages: [user('go')], config: { agent, gate: gate.url } };
        await Promise.all(
          Array.from({ length: atOnce }, async () => {
            for (const _ of turns) {
              const { status, body } = await client.send('POST', '/v1/runs', bodyFor);
              if (status !== 202) throw new Error(JSON.stringify(body));
            }
          }),
        );
      };
      await queue('billing', openRuns);
      const waiting = await lagUntil('billing', openRuns);
      await queue('support', held);
      const driven = await lagUntil('support', held);
      await gate.visited(held);
      t.is(await lagUntil('support', held).then(() => runsOf(ports[0] ?? 0, 'support')), held);
      gate.open();
      const ended = await lagUntil('support', 0);
      t.log(`ms until it showed: ${[waiting, driven, ended].map((ms) => ms.toFixed(0)).join(', ')}`);
      for (const ms of [waiting, driven, ended]) t.true(ms <= mostLagMs);
    },
  );
});
