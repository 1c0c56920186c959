import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parseAllDocuments } from 'yaml';
import { versions } from '../servers/provisioned.ts';
import { withServer } from '../servers/real-suite.ts';
import { letsThrough, type Peer } from './network.ts';
import { peerOf, workloadsOf } from './pods.ts';
import { manifestsOf, runHelm, type Helm, type Manifest } from './render.ts';
import { root } from './root.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';

interface Application extends Manifest {
  readonly spec: {
    readonly project: string;
    readonly destination: { readonly namespace: string };
    readonly source: {
      readonly chart: string;
      readonly helm: { readonly releaseName?: string; readonly valuesObject: object };
    };
  };
}

const files = ['service', 'support', 'billing'];

async function readObjects(): Promise<readonly Manifest[]> {
  const texts = await Promise.all(files.map((name) => readFile(join(root, `deploy/gitops/${name}.yaml`), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));
}

const applicationsOf = (objects: readonly Manifest[]): readonly Application[] =>
  objects.filter((object): object is Application => object.kind === 'Application');

/** What Argo CD installs for an application. */
async function render(t: ExecutionContext, { metadata, spec }: Application, helm: Helm): Promise<readonly Manifest[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-gitops-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const values = join(folder, 'values.json');
  const { chart, helm: given } = spec.source;
  await writeFile(values, JSON.stringify(given.valuesObject));
  const release = given.releaseName ?? metadata.name;
  const place = ['--namespace', spec.destination.namespace, '--kube-version', versions.kubernetes];
  return manifestsOf(await runHelm(helm, ['template', release, join(charts, chart), '--values', values, ...place]));
}

const component = ({ labels }: Peer): string => labels['app.kubernetes.io/component'] ?? '';

withServer(test, chartTools, () => {
  for (const helm of ['helm', 'helm3'] as const) {
    test(`pools of both teams call the service from their namespaces, and not each other (${helm})`, async (t) => {
      const applications = applicationsOf(await readObjects());
      t.is(applications.length, files.length);
      const manifests = (await Promise.all(applications.map((one) => render(t, one, helm)))).flat();
      const peers = workloadsOf(manifests).map(peerOf);
      const isPool = ({ namespace }: Peer): boolean => namespace !== 'agent-workflow';
      const reached = new Set<string>();
      for (const from of peers.filter(isPool))
        for (const to of peers)
          for (const port of Object.values(to.ports))
            if (letsThrough(manifests, { from, to, port }))
              reached.add(`${from.namespace} ${component(from)} → ${to.namespace} ${component(to)}:${port}`);
      const expected = ['support-team', 'billing-team'].flatMap((team) => [
        `${team} agent → agent-workflow threads:50051`,
        `${team} agent → agent-workflow memory:50051`,
        `${team} agent → agent-workflow gateway:8000`,
        `${team} agent-register → agent-workflow threads:50051`,
      ]);
      t.deepEqual([...reached].toSorted(), expected.toSorted());
    });
  }

  test('the workers of no other namespace reach the service', async (t) => {
    const [service, support] = applicationsOf(await readObjects());
    if (!service || !support) return t.fail();
    const elsewhere = { ...support, spec: { ...support.spec, destination: { namespace: 'another-team' } } };
    const manifests = [...(await render(t, service, 'helm')), ...(await render(t, elsewhere, 'helm'))];
    const peers = workloadsOf(manifests).map(peerOf);
    for (const from of peers.filter(({ namespace }) => namespace === 'another-team'))
      for (const to of peers.filter((peer) => ['threads', 'memory'].includes(component(peer))))
        t.false(letsThrough(manifests, { from, to, port: 50_051 }), component(to));
  });

  test('KEDA reads the runs of the pools from the service', async (t) => {
    const manifests = (
      await Promise.all(applicationsOf(await readObjects()).map((one) => render(t, one, 'helm')))
    ).flat();
    const scaled = manifests.filter(({ kind }) => kind === 'ScaledObject');
    t.is(scaled.length, 1);
    t.true(JSON.stringify(scaled).includes('http://demo-execution.agent-workflow.svc.cluster.local:9464/metrics'));
    const api = workloadsOf(manifests)
      .map(peerOf)
      .find((peer) => component(peer) === 'execution-api');
    if (!api) return t.fail();
    const from = { namespace: 'keda', labels: {}, ports: {} };
    t.true(letsThrough(manifests, { from, to: api, port: 9464 }));
  });
});

test('each team has a project that holds its application and its namespace alone', async (t) => {
  const objects = await readObjects();
  const projects = new Map(
    objects.filter(({ kind }) => kind === 'AppProject').map(({ metadata, spec }) => [metadata.name, spec]),
  );
  for (const { metadata, spec } of applicationsOf(objects).slice(1)) {
    const namespaces = (projects.get(spec.project) as { readonly destinations: readonly { namespace: string }[] })
      .destinations;
    t.deepEqual(
      namespaces.map(({ namespace }) => namespace),
      [spec.destination.namespace],
      metadata.name,
    );
  }
});
