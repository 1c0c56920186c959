import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { containersOf, workloadsOf, type Workload } from './pods.ts';
import { manifestsOf, release, render, runHelm, type Helm, type Manifest } from './render.ts';
import { charts } from './scenarios.ts';
import { root } from './root.ts';
import { chartTools } from './tools.ts';

const small = { chartFolder: join(charts, 'agent-workflow'), values: join(charts, 'agent-workflow/values/small.yaml') };
const standalone = { chartFolder: join(charts, 'standalone'), values: join(charts, 'standalone/values/ingress.yaml') };
const parts = ['gateway', 'threads', 'execution', 'memory'];
const helms: readonly Helm[] = ['helm', 'helm3'];

/** The umbrella chart and the standalone one, with the same value for every part. */
async function renderAll(helm: Helm, value: string): Promise<readonly Manifest[]> {
  const sets = (names: readonly string[]): readonly string[] => names.flatMap((name) => ['--set-json', name]);
  const umbrella = await render(small, { helm, more: sets(parts.map((part) => `${part}.${value}`)) });
  const one = await render(standalone, { helm, more: sets([value]) });
  return [...manifestsOf(umbrella), ...manifestsOf(one)];
}

const podsOf = (manifests: readonly Manifest[]): readonly Workload[] => {
  const pods = workloadsOf(manifests);
  if (pods.length !== 7) throw new Error(`there are ${pods.length} workloads, not six of the umbrella chart and one`);
  return pods;
};

test('what `helm dependency` writes into the charts is not committed', async (t) => {
  const written = ['agent-workflow/Chart.lock', 'gateway/Chart.lock', 'agent-workflow/charts/gateway-0.1.0.tgz'];
  const files = written.map((file) => `deploy/charts/${file}`);
  const { stdout } = await promisify(execFile)('git', ['check-ignore', '--no-index', ...files], { cwd: root });
  t.deepEqual(stdout.trim().split('\n'), files);
});

withServer(test, chartTools, () => {
  for (const helm of helms) {
    test(`the user of every pod can be left to the cluster (${helm})`, async (t) => {
      for (const { name, pod } of podsOf(await renderAll(helm, 'runAsUser=null'))) {
        const kept = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
        t.deepEqual(pod.securityContext, { ...kept, fsGroupChangePolicy: 'OnRootMismatch' }, name);
      }
    });
  }

  test('the user can be left to the cluster for the workers alone', async (t) => {
    const rendered = await render(small, { more: ['--set-json', 'execution.worker.runAsUser=null'] });
    for (const { component, pod } of workloadsOf(manifestsOf(rendered)))
      t.is(pod.securityContext?.['runAsUser'], component === 'execution-worker' ? undefined : 10_001, component);
  });

  test('every pod may reach more ports, beside those that its chart names', async (t) => {
    const before = egressOf(manifestsOf(await render(small)));
    const after = egressOf(
      manifestsOf(
        await render(small, {
          more: parts.flatMap((part) => ['--set-json', `${part}.networkPolicy.extraEgressPorts=[8443]`]),
        }),
      ),
    );
    t.true(before.size >= 6);
    for (const [name, ports] of before) t.deepEqual(after.get(name), [...ports, 8443], name);
  });

  const stores: readonly (readonly [set: string, ports: readonly number[]])[] = [
    ['config.THREAD_STORE=cassandra', [9042]],
    ['config.THREAD_STORE=postgres', [5432]],
    ['config.THREAD_STORE=postgres,config.POSTGRES_PORT=6432', [6432]],
    ['config.THREAD_STORE=postgres,networkPolicy.extraEgressPorts[0]=4317', [5432, 4317]],
    ['config.THREAD_STORE=postgres,networkPolicy.egressPorts[0]=7432', [7432]],
  ];
  for (const [set, ports] of stores)
    test(`the pods of threads and the Job before them reach the port of their store: ${set}`, async (t) => {
      const more = ['config.POSTGRES_HOST=postgres', ...set.split(',')].map((each) => `threads.${each}`).join(',');
      for (const helm of helms) {
        const egress = egressOf(manifestsOf(await render(small, { helm, more: ['--set', more] })));
        for (const name of ['demo-threads', 'demo-threads-migrate']) t.deepEqual(egress.get(name), ports, helm);
      }
    });

  // Helm 3 prints the notes of an installation only where it reaches a cluster.
  test('the notes of an installation lead to the port that the Service of the gateway has', async (t) => {
    const { chartFolder, values } = small;
    const place = ['--namespace', release.namespace, '--dry-run=client'];
    for (const [more, port] of [
      [[], 80],
      [['--set', 'gateway.service.port=8080'], 8080],
    ] as const) {
      const args = ['install', release.name, chartFolder, '--values', values, ...place, ...more];
      const printed = await runHelm('helm', args);
      t.true(printed.includes(`port-forward svc/demo-gateway 8000:${String(port)}\n`), printed);
    }
    for (const helm of helms)
      await t.notThrowsAsync(render(small, { helm, more: ['--set', 'gateway.enabled=false'] }), helm);
  });

  test('every pod takes containers that run before it', async (t) => {
    const first = { name: 'first', image: 'busybox', volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] };
    for (const { name, pod } of podsOf(await renderAll('helm', `initContainers=${JSON.stringify([first])}`)))
      t.deepEqual(pod.initContainers as unknown, [first], name);
  });

  test('every container takes further variables, and whole Secrets that what the chart sets wins over', async (t) => {
    const source = { secretRef: { name: 'my-secret' } };
    for (const pod of podsOf(await renderAll('helm', `extraEnvFrom=${JSON.stringify([source])}`)))
      for (const { envFrom = [] } of containersOf(pod)) {
        const own = pod.kind === 'Job' ? 0 : 1;
        t.deepEqual(envFrom[0] as unknown, source, pod.name);
        t.is(envFrom.length, 1 + own, pod.name);
      }
    const variable = { name: 'MY_OWN', value: 'yes' };
    for (const pod of podsOf(await renderAll('helm', `extraEnv=${JSON.stringify([variable])}`)))
      for (const { env = [] } of containersOf(pod)) t.deepEqual(env.at(-1), variable, pod.name);
  });

  test('a setting that a part needs may stand in a Secret that it takes whole', async (t) => {
    const chart = { chartFolder: join(charts, 'threads'), values: join(charts, 'threads/values.yaml') };
    const token = ['--set', 'global.serviceToken.existingSecret=token'];
    await t.throwsAsync(render(chart, { more: token }), { message: /CASSANDRA_CONTACT_POINTS must be set/ });
    await t.notThrowsAsync(
      render(chart, { more: [...token, '--set-json', 'extraEnvFrom=[{"secretRef":{"name":"record"}}]'] }),
    );
  });

  test('every pod takes further volumes, and mounts of them', async (t) => {
    const volume = { name: 'mine', configMap: { name: 'mine' } };
    for (const { name, pod } of podsOf(await renderAll('helm', `volumes=${JSON.stringify([volume])}`)))
      t.deepEqual(pod.volumes?.at(-1), volume, name);
    const mount = { name: 'mine', mountPath: '/mine' };
    for (const pod of podsOf(await renderAll('helm', `volumeMounts=${JSON.stringify([mount])}`)))
      for (const { volumeMounts = [] } of containersOf(pod)) t.deepEqual(volumeMounts.at(-1), mount, pod.name);
  });
});

/** The ports that a policy lets its pods reach anywhere, by the name of the policy. */
function egressOf(manifests: readonly Manifest[]): ReadonlyMap<string, readonly number[]> {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  return new Map(
    policies.map(({ metadata, spec }) => {
      const { egress } = spec as { egress: { to?: unknown; ports: { port: number }[] }[] };
      const anywhere = egress.filter(({ to, ports }) => to === undefined && ports.every(({ port }) => port !== 53));
      return [metadata.name, anywhere.flatMap(({ ports }) => ports.map(({ port }) => port))];
    }),
  );
}
