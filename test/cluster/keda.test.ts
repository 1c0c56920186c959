import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { registerFrom } from '@agent-workflow/execution/register';
import { every } from '@agent-workflow/kit/life';
import { kubernetes } from '../chart/control-plane.ts';
import type { KubeApi } from '../chart/kube-api.ts';
import { manifestsOf, release, render, type Manifest } from '../chart/render.ts';
import { scenarios } from '../chart/scenarios.ts';
import { createClient, user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { serviceToken } from '../servers/cluster.ts';
import { openGate } from '../servers/gate.ts';
import { provisioned } from '../servers/provisioned.ts';
import { freePorts } from '../servers/real-process.ts';
import { withServer } from '../servers/real-suite.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { readMetric, scaleAfter, valueIn, type Scale, type ScaledObject } from './keda.ts';
import { byLoad } from '../by-load.ts';

/*
 * Real: the API server of Kubernetes with KEDA's own definitions, the ScaledObject that the chart renders, the API in a process of its
 * own, NATS, Cassandra, the worker processes. `keda.ts` and the loop below stand in for KEDA's operator and the autoscaler: they
 * start and stop worker processes where those set the replicas of a Deployment.
 */

const revision = 'v1';
const runsPerWorker = 10;
const mostWorkers = 3;
/** One worker more would be needed than there may be. */
const runs = { billing: 29, 'dunning-letters': 10 };
const followed = 1;
const all = runs.billing + runs['dunning-letters'] + followed;
const waitMs = 120_000;

const agents = { billing: agentAt('held'), 'dunning-letters': agentAt('held') };
const options = {
  agent: null,
  ...{ gateways: 1, threads: 1, executions: 1 },
  service: { agent: null, default_agent: 'billing' },
  workers: Array.from({ length: mostWorkers }, () => ({
    service: { agent: undefined, agents },
    env: { RUN_CONCURRENCY: String(runsPerWorker) },
  })),
  env: { RATE_LIMIT_REQUESTS: '0', AGENT_REVISION: revision },
};

/** The pool's ScaledObject as the API server gives it, once it was held against KEDA's definitions. */
async function applied(api: KubeApi): Promise<ScaledObject> {
  const folder = join(provisioned('apis') ?? '', 'crds');
  for (const file of (await readdir(folder)).filter((name) => name.startsWith('keda.sh_')))
    await api.create(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      parse(await readFile(join(folder, file), 'utf8')) as Manifest,
    );
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: release.namespace },
  });
  const scenario = scenarios.find(({ title }) => title === 'agent-keda');
  if (!scenario) throw new Error('the chart has no values with KEDA');
  const keda = { enabled: true, runsPerWorker, maxReplicas: mostWorkers, cooldownSeconds: 5, pollingSeconds: 1 };
  const more = ['--set-json', `revisions=[{"name":"${revision}"}]`, '--set-json', `keda=${JSON.stringify(keda)}`];
  const objects = manifestsOf(await render(scenario, { more })).filter(({ kind }) => kind === 'ScaledObject');
  const [object] = objects;
  if (!object || objects.length > 1) throw new Error(`${objects.length} are rendered`);
  const path = `/apis/keda.sh/v1alpha1/namespaces/${release.namespace}/scaledobjects`;
  await until(async () => (await api.get(path)) !== undefined);
  await api.create(path, object);
  const stored = await api.get<ScaledObject>(`${path}/${object.metadata.name}`);
  if (!stored) throw new Error('it is not stored');
  return stored;
}

test('a trigger reads the series that has its labels, and none is an error', (t) => {
  const page = '# TYPE runs gauge\nruns{agent="a",revision="v1"} 3\nruns{agent="b",revision="v1"} 4\nruns_more 5\n';
  t.is(valueIn(page, 'runs{revision="v1",agent="b"}'), 4);
  t.is(valueIn(page, 'runs_more'), 5);
  t.throws(() => valueIn(page, 'runs{agent="c"}'), { message: /not found/ });
});

withCluster(test, options, (cluster) => {
  withServer(test, kubernetes, (plane) => {
    test.serial('a pool is scaled from no worker to its most and back by the rendered ScaledObject', async (t) => {
      t.timeout(byLoad(5 * waitMs));
      const object = await applied((await plane()).api);
      const [api] = cluster().executions;
      const { workers } = cluster();
      for (const worker of workers) t.is(await worker.stop(), 0);
      const [port = 0] = await freePorts(1);
      t.is(await api?.stop(), 0);
      await api?.start({ METRICS_PORT: String(port), METRICS_HOST: '127.0.0.1' });

      await using workspace = await makeWorkspace(null, { agent: undefined, agents });
      const { SERVICE_CONFIG = '' } = workspace.env;
      const place = { THREADS_ADDRESS: cluster().threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken };
      await registerFrom({ ...place, SERVICE_CONFIG, AGENT_REVISION: revision }, 'auto');
      const client = createClient(cluster().urls[0] ?? '');
      await until(async () => (await client.send('GET', '/v1/graph?agent=billing')).status === 200);

      const read = async (): Promise<number> =>
        readMetric(object, `http://127.0.0.1:${port}`, AbortSignal.timeout(waitMs));
      await until(async () => (await read().catch(() => undefined)) === 0, { timeoutMs: waitMs });

      let scale: Scale = { replicas: 0, activeAt: 0 };
      const polls: { readonly value: number; readonly replicas: number }[] = [];
      const pids = new Set<number>();
      const poll = async (): Promise<void> => {
        const value = await read();
        scale = scaleAfter(object, scale, value, Date.now());
        polls.push({ value, replicas: scale.replicas });
        for (const [index, worker] of workers.entries()) {
          if (index >= scale.replicas && worker.isRunning()) t.is(await worker.stop(), 0);
          if (index >= scale.replicas || worker.isRunning()) continue;
          await worker.start();
          pids.add(worker.pid());
        }
      };
      const running = (): number => workers.filter((worker) => worker.isRunning()).length;
      await using _ = every(object.spec.pollingInterval * 1000, poll, (error) => t.fail(String(error)));
      await until(() => polls.length >= 3, { timeoutMs: waitMs });
      t.deepEqual(new Set(polls.map((each) => JSON.stringify(each))), new Set(['{"value":0,"replicas":0}']));
      t.is(running(), 0);

      await using gate = await openGate();
      const bodyFor = (agent: string): object => ({ messages: [user('go')], config: { agent, gate: gate.url } });
      const following = Array.fromAsync(client.stream(bodyFor('billing')));
      const ids: string[] = [];
      for (const [agent, count] of Object.entries(runs))
        for (let turn = 0; turn < count; turn++) {
          const { status, body } = await client.send('POST', '/v1/runs', bodyFor(agent));
          t.is(status, 202);
          ids.push((body.data as { run_id: string }).run_id);
        }

      await until(() => running() === mostWorkers, { timeoutMs: waitMs });
      await gate.visited(mostWorkers * runsPerWorker);
      // A run that is being claimed may be counted as waiting and as driven. Now none is: the others wait for the gate.
      await until(() => polls.at(-1)?.value === all, { timeoutMs: waitMs });
      const heldFrom = polls.length;
      await until(() => polls.length >= heldFrom + 5, { timeoutMs: waitMs });
      t.deepEqual(new Set(polls.slice(heldFrom).map(({ value }) => value)), new Set([all]), 'each run is counted once');
      gate.open();
      const chunks = await following;
      const numbers = chunks.map(({ id }) => Number(id.split(':').at(-1)));
      t.true(numbers.length > 2);
      t.deepEqual(
        numbers,
        numbers.map((_number, index) => index + 1),
      );
      const executedIn = new Set<number>();
      for (const id of ids) {
        const { status, body } = await client.send('GET', `/v1/runs/${id}/wait`);
        t.is(status, 200);
        const text = JSON.stringify(body);
        t.regex(text, /"status":"completed"/);
        for (const pid of pids) if (text.includes(`"${pid}`)) executedIn.add(pid);
      }
      t.deepEqual(executedIn, pids, 'every worker had runs');
      t.is(pids.size, mostWorkers);

      await until(() => polls.at(-1)?.value === 0, { timeoutMs: waitMs });
      const idleAt = polls.findLastIndex(({ value }) => value > 0) + 1;
      await until(() => running() === 0, { timeoutMs: waitMs });
      t.is(polls[idleAt]?.replicas, mostWorkers, 'none is stopped before the cooldown');
      t.true(polls.slice(idleAt).every(({ value }) => value === 0));
      t.is(polls.at(-1)?.replicas, 0);
      t.log(polls.map(({ value, replicas }) => `${value} → ${replicas}`).join(', '));
    });
  });
});
