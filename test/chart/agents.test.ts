import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executionProcessSettings, registrationSettings } from '@agent-workflow/execution/config';
import { readEnv } from '@agent-workflow/kit/env';
import { readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import test, { type ExecutionContext } from 'ava';
import { workloadsOf } from './pods.ts';
import { withServer } from '../servers/real-suite.ts';
import { manifestsOf, render, type Helm, type Manifest } from './render.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';
import { upgradeOf } from './upgrade-order.ts';

const umbrella = {
  chartFolder: join(charts, 'agent-workflow'),
  values: join(charts, 'agent-workflow/values/small.yaml'),
};
const standalone = { chartFolder: join(charts, 'standalone'), values: join(charts, 'standalone/values/ingress.yaml') };
const pool = { chartFolder: join(charts, 'agent'), values: join(charts, 'agent/values/two-revisions.yaml') };
const comesWithTheImage = '/app/services/command/init/template/agent.js:graph';
const helms: readonly Helm[] = ['helm', 'helm3'];

interface Mounted {
  readonly configMap: { readonly name: string };
}

/** The path of `service.json` in a folder with these files. */
async function writeFolder(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-pool-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return join(folder, 'service.json');
}

interface Asked {
  readonly helm: Helm;
  /** Values below `global.serviceFile`. */
  readonly serviceFile: Readonly<Record<string, unknown>>;
}

/** Every `service.json` of the umbrella chart and of the standalone one, as a process reads it. */
async function serviceFiles(
  t: ExecutionContext,
  { helm, serviceFile }: Asked,
): Promise<Readonly<Record<string, ServiceFile>>> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-chart-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const more = Object.entries(serviceFile).flatMap(([name, value]) => [
    '--set-json',
    `global.serviceFile.${name}=${JSON.stringify(value)}`,
  ]);
  const rendered = await Promise.all([umbrella, standalone].map((chart) => render(chart, { helm, more })));
  const read = rendered.flatMap(manifestsOf).flatMap(async ({ metadata: { name }, data = {} }) => {
    const text = data['service.json'];
    if (text === undefined) return [];
    const path = join(folder, `${name}.json`);
    await writeFile(path, text);
    return [[name, readServiceFile(path)] as const];
  });
  return Object.fromEntries((await Promise.all(read)).flat());
}

withServer(test, chartTools, () => {
  for (const helm of helms) {
    test(`several agents reach every process that reads service.json (${helm})`, async (t) => {
      const agents = { support: '/app/a.ts:graph', billing: { path: '/app/b.ts:graph', description: 'Sends bills.' } };
      const serviceFile = { agent: '', agents, default_agent: 'billing' };
      const files = await serviceFiles(t, { helm, serviceFile });
      const readers = ['demo-execution-api-file', 'demo-execution-worker-file', 'demo-gateway-file'];
      t.deepEqual(Object.keys(files).toSorted(), [...readers, 'demo-standalone-file'].toSorted());
      for (const [name, file] of Object.entries(files)) {
        t.is(file.agent, undefined, name);
        t.is(file.defaultAgent, 'billing', name);
        t.is(file.auth, 'jwt', name);
        t.deepEqual(
          file.agents?.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          [
            { name: 'billing', location: '/app/b.ts:graph', description: 'Sends bills.' },
            { name: 'support', location: '/app/a.ts:graph' },
          ],
          name,
        );
      }
    });
  }

  for (const helm of helms) {
    test(`the workers of each revision, and the Job of the current one, read what they are given (${helm})`, async (t) => {
      const manifests = manifestsOf(await render(pool, { helm }));
      const data = (name: string): Readonly<Record<string, string>> =>
        manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)?.data ?? {};
      const agentsOf: Record<string, readonly string[]> = {};
      for (const { kind, name, pod } of workloadsOf(manifests)) {
        const [container] = pod.containers;
        const inline = Object.fromEntries((container?.env ?? []).map((one) => [one.name, one.value ?? 'secret']));
        const file =
          (pod.volumes?.find((volume) => volume['name'] === 'file') as Partial<Mounted>).configMap?.name ?? '';
        const env = { ...data(name), ...inline, SERVICE_CONFIG: await writeFolder(t, data(file)) };
        const { AGENT_REVISION: revision = '', SERVICE_CONFIG: path } =
          kind === 'Job' ? readEnv(registrationSettings, env) : readEnv(executionProcessSettings, env);
        agentsOf[`${kind} ${revision}`] = (readServiceFile(path).agents ?? []).map((agent) => agent.name).toSorted();
      }
      t.deepEqual(agentsOf, {
        'Deployment 1.4.0': ['support'],
        'Deployment 1.5.0': ['refunds', 'support'],
        'Job 1.5.0': ['refunds', 'support'],
      });
    });
  }

  test('the Job registers the revision that is named as the current one, also where it is not the last', async (t) => {
    const job = async (...more: readonly string[]): Promise<readonly unknown[]> =>
      workloadsOf(manifestsOf(await render(pool, { more })))
        .filter(({ kind }) => kind === 'Job')
        .map(({ pod: { containers } }) => [
          containers[0]?.image,
          containers[0]?.env?.find(({ name }) => name === 'AGENT_REVISION')?.value,
        ]);
    const image = 'registry.example.com/support/agents';
    t.deepEqual(await job(), [[`${image}:1.5.0`, '1.5.0']]);
    t.deepEqual(await job('--set', 'current=1.4.0'), [[`${image}:1.4.0`, '1.4.0']]);
    t.deepEqual(await job('--set', 'registration.enabled=false'), []);
  });

  test('of Secrets the Job gets its token, and those that registration names', async (t) => {
    const more = [
      ...['--set', 'config.MODEL=m,extraEnv[0].name=REGION,extraEnv[0].value=eu,extraEnvFrom[0].secretRef.name=all'],
      ...[
        '--set',
        'extraEnv[1].name=KEY,extraEnv[1].valueFrom.secretKeyRef.name=keys,extraEnv[1].valueFrom.secretKeyRef.key=k',
      ],
    ];
    const jobWith = async (...set: readonly string[]) =>
      workloadsOf(manifestsOf(await render(pool, { more: [...more, ...set] }))).find(({ kind }) => kind === 'Job')?.pod
        .containers[0];
    const job = await jobWith();
    t.deepEqual(
      job?.env?.map(({ name }) => name),
      ['AGENT_REVISION', 'MODEL', 'POOL', 'SERVICE_CONFIG', 'THREADS_ADDRESS', 'SERVICE_TOKEN', 'REGION'],
    );
    t.is(job?.envFrom, undefined);
    const given = await jobWith(
      ...[
        '--set',
        'registration.secretEnv.ORDERS_API_KEY.name=support-orders,registration.secretEnv.ORDERS_API_KEY.key=k',
      ],
      ...['--set', 'registration.extraEnvFrom[0].secretRef.name=some'],
    );
    t.true(given?.env?.some(({ name }) => name === 'ORDERS_API_KEY'));
    t.deepEqual(given?.envFrom, [{ secretRef: { name: 'some' } }]);
  });

  test('a pool that gets a token of its own keeps its Deployments, and new pods come before old ones go', async (t) => {
    const without = ['--set', 'config=null,global.serviceToken.existingSecret=of-platform'];
    const [before, after] = await Promise.all(
      [without, []].map(async (more) => manifestsOf(await render(pool, { more }))),
    );
    const kept = (manifests: readonly Manifest[] = []) =>
      manifests
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ metadata, spec }) => [metadata.name, (spec as { readonly selector: unknown }).selector]);
    t.is(kept(before).length, 2);
    t.deepEqual(kept(before), kept(after));
    for (const roll of upgradeOf(after ?? []).rolls) t.deepEqual([roll.maxUnavailable, roll.maxSurge > 0], [0, true]);
  });

  test('two builds whose names read alike have resources of their own', async (t) => {
    const alike = ['1.4.0', '1-4-0', '1.4.0-', 'A', 'a', 'v'.repeat(128)].map((name) => ({
      name,
      image: { tag: 'x' },
    }));
    const more = ['--set-json', `revisions=${JSON.stringify(alike)}`];
    const names = manifestsOf(await render(pool, { more }))
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Service')
      .map(({ metadata }) => metadata.name);
    t.is(new Set(names).size, 2 * alike.length);
    for (const name of names) t.true(name.length <= 63 && /^[a-z][-a-z0-9]*[a-z0-9]$/.test(name), name);
  });

  test('without agents of its own a release has no workers, and its service.json names none', async (t) => {
    const more = ['--set', 'global.serviceFile.agent=none'];
    const manifests = manifestsOf(await render(umbrella, { more }));
    t.deepEqual(
      manifests.filter(({ metadata }) => metadata.name.includes('worker')).map(({ kind }) => kind),
      [],
    );
    for (const file of Object.values(await serviceFiles(t, { helm: 'helm', serviceFile: { agent: 'none' } })))
      t.deepEqual([file.agent, file.agents], [undefined, undefined]);
  });

  test('of several agents none is the default unless one is named', async (t) => {
    const serviceFile = { agent: '', agents: { a: './a.ts:graph', b: './b.ts:graph' } };
    for (const [name, file] of Object.entries(await serviceFiles(t, { helm: 'helm', serviceFile }))) {
      t.deepEqual([file.agents?.length, file.defaultAgent], [2, undefined], name);
    }
  });

  test('without agents it is the one that is named, else the one that comes with the image', async (t) => {
    for (const [agent, expected] of [
      ['/app/mine.ts:graph', '/app/mine.ts:graph'],
      ['', comesWithTheImage],
    ]) {
      const files = await serviceFiles(t, { helm: 'helm', serviceFile: { agent } });
      for (const [name, file] of Object.entries(files)) {
        t.deepEqual([file.agent, file.agents, file.defaultAgent], [expected, undefined, undefined], name);
      }
    }
  });
});
