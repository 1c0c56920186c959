import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { provisioned } from '../servers/provisioned.ts';
import { withServer } from '../servers/real-suite.ts';
import { writeKubeSchemas } from './kube-schemas.ts';
import { containersOf, workloadsOf } from './pods.ts';
import { conformance, manifestsOf, render, type Helm, type Manifest } from './render.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';

const pools = { chartFolder: join(charts, 'agent-workflow'), values: join(charts, 'agent-workflow/values/pools.yaml') };
const standalone = { chartFolder: join(charts, 'standalone'), values: join(charts, 'standalone/values/ingress.yaml') };
const parts = ['gateway', 'threads', 'execution', 'memory', 'agent'];
const helms: readonly Helm[] = ['helm', 'helm3'];

const json = (sets: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(sets).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);

/** The same value of every part. */
const everywhere = (name: string, value: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(parts.map((part) => [`${part}.${name}`, value]));

const umbrella = async (sets: Readonly<Record<string, unknown>>, helm: Helm = 'helm'): Promise<readonly Manifest[]> =>
  manifestsOf(await render(pools, { helm, more: json(sets) }));

const one = async (sets: Readonly<Record<string, unknown>>): Promise<readonly Manifest[]> =>
  manifestsOf(await render(standalone, { more: json(sets) }));

interface Job extends Manifest {
  readonly spec: { readonly template: { readonly metadata: Manifest['metadata'] } };
}

withServer(test, chartTools, () => {
  let schemas = '';
  test.before(async () => {
    schemas = await mkdtemp(join(tmpdir(), 'kube-schemas-'));
    await writeKubeSchemas(provisioned('apis') ?? '', schemas);
  });
  test.after.always(() => rm(schemas, { recursive: true, force: true }));

  for (const helm of helms)
    test(`Jobs and their pods take annotations and labels, as those by which Istio leaves a pod alone (${helm})`, async (t) => {
      const given = {
        annotations: { 'argocd.argoproj.io/sync-wave': '-1' },
        labels: { team: 'record' },
        podAnnotations: { 'sidecar.istio.io/inject': 'false' },
        podLabels: { 'sidecar.istio.io/inject': 'false' },
      };
      const manifests = await umbrella({ 'threads.migration': given, 'agent.registration': given }, helm);
      const jobs = manifests.filter(({ kind }) => kind === 'Job') as Job[];
      t.true(jobs.length >= 2);
      for (const { metadata, spec } of jobs) {
        t.like(metadata.annotations, given.annotations, metadata.name);
        t.truthy(metadata.annotations?.['helm.sh/hook'], metadata.name);
        t.like(metadata.labels, { ...given.labels, 'app.kubernetes.io/part-of': 'agent-workflow' }, metadata.name);
        t.deepEqual(spec.template.metadata.annotations, given.podAnnotations, metadata.name);
        t.like(spec.template.metadata.labels, given.podLabels, metadata.name);
      }
    });

  test('labels and annotations by which a chart finds its own objects are refused', async (t) => {
    for (const sets of [
      { 'threads.migration.podLabels': { 'app.kubernetes.io/component': 'x' } },
      { 'threads.migration.annotations': { 'helm.sh/hook': 'post-install' } },
      { 'global.commonLabels': { 'helm.sh/chart': 'x' } },
      { 'gateway.commonLabels': { 'agent-workflow/pool': 'x' } },
    ])
      await t.throwsAsync(umbrella(sets), undefined, JSON.stringify(sets));
  });

  test('further objects are maps or texts, with their templates filled in, of every chart and of the whole', async (t) => {
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ .Release.Name }}-map' },
      data: { a: '1' },
    };
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text\ndata:\n  part: {{ .Chart.Name }}\n';
    const sets = { ...everywhere('extraObjects', [text]), extraObjects: [map, text] };
    for (const helm of helms) {
      const rendered = await render(pools, { helm, more: json(sets) });
      const added = manifestsOf(rendered).filter(({ metadata }) => /^demo-(map|text)$/.test(metadata.name));
      t.deepEqual(
        added.map(({ data }) => data?.['part'] ?? data?.['a']).toSorted(),
        ['1', ...parts, 'agent-workflow'].toSorted(),
        helm,
      );
    }
    const names = (await one({ extraObjects: [map, text] })).map(({ metadata }) => metadata.name);
    t.true(names.includes('demo-map') && names.includes('demo-text'));
    for (const bad of [['', 1], 'text', [[]]]) await t.throwsAsync(one({ extraObjects: bad }));
  });

  test('pods take containers beside theirs, and Jobs do not, which would not end; a sidecar of Kubernetes is in both', async (t) => {
    const beside = { name: 'proxy', image: 'proxy:1' };
    const native = { name: 'tunnel', image: 'tunnel:1', restartPolicy: 'Always' };
    const sets = { ...everywhere('extraContainers', [beside]), ...everywhere('initContainers', [native]) };
    const rendered = await render(pools, { more: json(sets) });
    const workloads = workloadsOf(manifestsOf(rendered));
    t.true(workloads.some(({ kind }) => kind === 'Job') && workloads.length >= 7);
    for (const workload of workloads) {
      const { kind, name, pod } = workload;
      t.deepEqual(pod.initContainers as unknown, [native], name);
      const last = containersOf(workload).find((each) => each.name === 'proxy');
      t.deepEqual(last as unknown, kind === 'Job' ? undefined : beside, name);
    }
    const { summary, resources } = await conformance(rendered, schemas);
    t.is(summary.invalid + summary.errors, 0, JSON.stringify(resources.slice(0, 5)));
  });

  test('Secrets of registries come from the whole and from each part, as names and as pods name them, each once', async (t) => {
    const sets = {
      'global.image.pullSecrets': ['first'],
      'global.imagePullSecrets': [{ name: 'second' }, 'first'],
      ...everywhere('imagePullSecrets', ['third', { name: 'second' }]),
    };
    const names = ['first', 'second', 'third'].map((name) => ({ name }));
    for (const { name, pod } of workloadsOf(await umbrella(sets)))
      t.deepEqual((pod as { imagePullSecrets?: unknown }).imagePullSecrets, names, name);
    await t.throwsAsync(umbrella({ 'global.imagePullSecrets': [{ secret: 'x' }] }));
  });

  test('every object and pod has the labels of all, and what selects pods does not', async (t) => {
    const sets = { 'global.commonLabels': { team: 'a', cost: '7' }, ...everywhere('commonLabels', { team: 'b' }) };
    const manifests = await umbrella({ ...sets, ...everywhere('podLabels', { cost: '8' }) });
    for (const { kind, metadata } of manifests)
      t.like(metadata.labels, { team: 'b', cost: '7' }, `${kind} ${metadata.name}`);
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment') as (Manifest & {
      spec: { selector: { matchLabels: object }; template: { metadata: Manifest['metadata'] } };
    })[];
    t.true(deployments.length >= 5);
    for (const { metadata, spec } of deployments) {
      t.like(spec.template.metadata.labels, { team: 'b', cost: '8' }, metadata.name);
      t.false('team' in spec.selector.matchLabels, metadata.name);
    }
  });

  test('in a cluster of IPv6 every port listens on `::`, and Services have the families that are asked for', async (t) => {
    const sets = {
      'global.listenHost': '::',
      'global.ipFamilyPolicy': 'PreferDualStack',
      'global.ipFamilies': ['IPv6', 'IPv4'],
    };
    const rendered = await render(pools, { more: json(sets) });
    for (const manifests of [manifestsOf(rendered), await one(sets)]) {
      const hosts = manifests
        .filter(({ kind }) => kind === 'ConfigMap')
        .flatMap(({ data }) => Object.entries(data ?? {}).filter(([name]) => /^(HOST|[A-Z]+_HOST)$/.test(name)));
      t.true(hosts.length >= 2);
      for (const [name, host] of hosts) t.is(host, '::', name);
      const services = manifests.filter(({ kind }) => kind === 'Service');
      t.true(services.length > 0);
      for (const { metadata, spec } of services)
        t.like(spec, { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] }, metadata.name);
    }
    const { summary, resources } = await conformance(rendered, schemas);
    t.is(summary.invalid + summary.errors, 0, JSON.stringify(resources.slice(0, 5)));
    await t.throwsAsync(umbrella({ 'global.ipFamilies': ['ipv6'] }));
  });
});
