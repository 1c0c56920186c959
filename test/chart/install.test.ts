import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { provisioned } from '../servers/provisioned.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { kubernetes, type ControlPlane } from './control-plane.ts';
import type { KubeApi } from './kube-api.ts';
import { workloadsOf } from './pods.ts';
import { manifestsOf, runHelm, type Helm, type Manifest } from './render.ts';
import { scenarios, type Scenario } from './scenarios.ts';
import { root } from './root.ts';
import { byLoad } from '../by-load.ts';

/** All that a scenario takes: several times that on a machine that is busy with other tests. */
const scenarioMs = 240_000;
const waitSeconds = 120;

withServerForLong(test, kubernetes, (server) => {
  test.before(async (t) => {
    t.timeout(byLoad(scenarioMs));
    await extend((await server()).api);
  });

  for (const scenario of scenarios) {
    test.serial(`${scenario.title}: is installed, upgraded, rolled back and taken away`, async (t) => {
      t.timeout(byLoad(scenarioMs));
      const plane = await server();
      const namespace = await makeNamespace(plane.api, scenario.title);
      await live(t, { plane, scenario, namespace, helm: 'helm' });
    });
  }

  test.serial('a pool gets a revision by an upgrade, and its new runs go back by a rollback', async (t) => {
    t.timeout(byLoad(scenarioMs));
    const plane = await server();
    for (const helm of ['helm', 'helm3'] as const) {
      const scenario = scenarios.find(({ title }) => title === 'agent-two-revisions');
      if (!scenario) return t.fail();
      const namespace = await makeNamespace(plane.api, `pool-${helm}`);
      await grow(t, { plane, scenario, namespace, helm });
    }
  });

  test.serial('an older Helm installs, upgrades, rolls back and takes away as well', async (t) => {
    t.timeout(byLoad(scenarioMs));
    const plane = await server();
    const [scenario] = scenarios;
    if (!scenario) return t.fail();
    const namespace = await makeNamespace(plane.api, 'older');
    await live(t, { plane, scenario, namespace, helm: 'helm3' });
  });

  test.serial('whoever installs may do so in its own namespace only, and may not hand out rights', async (t) => {
    t.timeout(byLoad(scenarioMs));
    const plane = await server();
    const namespace = await makeNamespace(plane.api, 'rights');
    const [scenario] = scenarios;
    if (!scenario) return t.fail();
    const elsewhere = { plane, scenario, namespace: 'default', helm: 'helm' } as const;
    await t.throwsAsync(helm(elsewhere, 'install', ['demo', scenario.chartFolder, '--values', scenario.values]), {
      message: /is forbidden: User "installer" cannot/,
    });
    const mine = (verb: string, group: string, resource: string): Promise<boolean> =>
      may(plane.api, { namespace, verb, group, resource });
    t.deepEqual(
      await Promise.all([mine('create', 'apps', 'deployments'), mine('create', 'rbac.authorization.k8s.io', 'roles')]),
      [true, false],
    );
  });

  test.serial('the namespaces that all this was tried in do refuse a pod that asks for more', async (t) => {
    const { api } = await server();
    const namespace = await makeNamespace(api, 'refusing');
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'root' },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    };
    await t.throwsAsync(api.create(`/api/v1/namespaces/${namespace}/pods`, pod), {
      message: /violates PodSecurity \\"restricted:latest\\"/,
    });
  });
});

interface Stay {
  readonly plane: ControlPlane;
  readonly scenario: Scenario;
  readonly namespace: string;
  readonly helm: Helm;
}

/** The life of a release, as an operator leads it. */
async function live(t: ExecutionContext, stay: Stay): Promise<void> {
  const { plane, scenario, namespace } = stay;
  const chart = [scenario.chartFolder, '--values', scenario.values];
  const isUmbrella = scenario.chart === 'agent-workflow';
  const part = changedPart[scenario.title] ?? (isUmbrella ? 'gateway' : scenario.chart);
  const level = isUmbrella ? `${part}.config.LOG_LEVEL=debug` : 'config.LOG_LEVEL=debug';

  await helm(stay, 'install', ['demo', ...chart, '--wait']);
  const installed = await inspect(plane.api, namespace);
  t.true(installed.deployments.length > 0);
  t.deepEqual(await unreadyIn(plane.api, namespace), []);
  t.is(installed.levelOf(`demo-${part}`), undefined);

  await helm(stay, 'upgrade', ['demo', ...chart, '--wait', '--set', level]);
  const upgraded = await inspect(plane.api, namespace);
  t.is(upgraded.levelOf(`demo-${part}`), 'debug');
  t.not(upgraded.checksumOf(`demo-${part}`), installed.checksumOf(`demo-${part}`), 'its pods are made anew');
  if (part === 'gateway')
    t.is(upgraded.checksumOf('demo-memory'), installed.checksumOf('demo-memory'), 'those of other parts stay');

  await helm(stay, 'rollback', ['demo', '1', '--wait']);
  const back = await inspect(plane.api, namespace);
  t.is(back.levelOf(`demo-${part}`), undefined);
  t.is(back.checksumOf(`demo-${part}`), installed.checksumOf(`demo-${part}`));

  await helm(stay, 'uninstall', ['demo', '--wait']);
  const left = await untilGone(plane.api, namespace);
  t.deepEqual(left, part === 'standalone' ? ['PersistentVolumeClaim demo-standalone'] : []);
}

/** What a change of the settings replaces, where it is not named as the chart is. */
const changedPart: Readonly<Record<string, string>> = {
  'agent-keda': 'agent-2026-11-20-87069b',
  'agent-two-revisions': 'agent-1-4-0-74b860',
};

/** The life of a pool, from its first revision to the second and back. */
async function grow(t: ExecutionContext, stay: Stay): Promise<void> {
  const { plane, scenario, namespace } = stay;
  const chart = [scenario.chartFolder, '--values', scenario.values, '--wait'];
  const first = ['--set-json', 'revisions=[{"name":"1.4.0"}]'];
  const second = ['--set-json', 'revisions=[{"name":"1.4.0"},{"name":"1.5.0"}]'];
  const workers = async (): Promise<readonly string[]> =>
    (await inspect(plane.api, namespace)).deployments.map(({ metadata }) => metadata.name).toSorted();
  const [older, newer] = ['support-agent-1-4-0-74b860', 'support-agent-1-5-0-1f4dc0'];

  await helm(stay, 'install', ['support', ...chart, ...first]);
  t.deepEqual(await workers(), [older]);
  const before = await registered(stay, 'support');
  t.like(before, { revision: '1.4.0', phase: 'Succeeded' });
  const { uid } = await uidOf(plane.api, namespace, older);

  await helm(stay, 'upgrade', ['support', ...chart, ...second]);
  t.deepEqual(await workers(), [older, newer]);
  t.deepEqual(await unreadyIn(plane.api, namespace), []);
  const after = await registered(stay, 'support');
  t.like(after, { revision: '1.5.0', phase: 'Succeeded' });
  t.deepEqual(
    await uidOf(plane.api, namespace, older),
    { uid, generation: 1 },
    'the workers that run on are untouched',
  );

  await helm(stay, 'rollback', ['support', '1', '--wait']);
  t.deepEqual(await workers(), [older]);
  const back = await registered(stay, 'support');
  t.like(back, { revision: '1.4.0', phase: 'Succeeded' });
  // The release that is returned to also says how its own Job ended, long ago.
  t.true(back.startedAt >= after.startedAt && after.startedAt >= before.startedAt, 'the Job has run again');
  t.not(back.startedAt, before.startedAt);

  await helm(stay, 'uninstall', ['support', '--wait']);
  t.deepEqual(await untilGone(plane.api, namespace), []);
}

interface Registered {
  readonly revision: string | undefined;
  readonly phase: string;
  readonly startedAt: number;
}

/** What the Job of the release registered last, and when. */
async function registered({ plane, namespace, helm: program }: Stay, name: string): Promise<Registered> {
  const args = ['status', name, '--output', 'json', '--namespace', namespace];
  const status = JSON.parse(await runHelm(program, args, { KUBECONFIG: plane.configFor('installer') })) as {
    readonly hooks: readonly {
      readonly manifest: string;
      readonly last_run: { readonly phase: string; readonly started_at: string };
    }[];
  };
  const [hook, ...others] = status.hooks;
  if (!hook || others.length > 0) throw new Error(`there are ${String(status.hooks.length)} hooks`);
  const [job] = workloadsOf(manifestsOf(hook.manifest));
  const revision = job?.pod.containers[0]?.env?.find(({ name: variable }) => variable === 'AGENT_REVISION')?.value;
  return { revision, phase: hook.last_run.phase, startedAt: Date.parse(hook.last_run.started_at) };
}

async function uidOf(
  api: KubeApi,
  namespace: string,
  name: string,
): Promise<{ readonly uid?: string; readonly generation?: number }> {
  const found = await api.get<{ readonly metadata: { readonly uid: string; readonly generation: number } }>(
    `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
  );
  return found ? { uid: found.metadata.uid, generation: found.metadata.generation } : {};
}

/** As the one who installs, who has the rights of deploy/installer.yaml and no more. */
const helm = async (
  { plane, namespace, helm: program }: Stay,
  verb: string,
  args: readonly string[],
): Promise<string> =>
  runHelm(program, [verb, ...args, '--namespace', namespace, '--timeout', `${waitSeconds}s`], {
    KUBECONFIG: plane.configFor('installer'),
  });

interface Deployment extends Manifest {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } };
  };
  readonly status?: { readonly readyReplicas?: number };
}

async function inspect(
  api: KubeApi,
  namespace: string,
): Promise<{
  readonly deployments: readonly Deployment[];
  readonly checksumOf: (name: string) => string | undefined;
  readonly levelOf: (name: string) => string | undefined;
}> {
  const deployments = await api.list<Deployment>(`/apis/apps/v1/namespaces/${namespace}/deployments`);
  const configs = await api.list<Manifest>(`/api/v1/namespaces/${namespace}/configmaps`);
  const named = (name: string): Deployment | undefined => deployments.find(({ metadata }) => metadata.name === name);
  return {
    deployments,
    checksumOf: (name) => named(name)?.spec.template.metadata.annotations['checksum/config'],
    levelOf: (name) => configs.find(({ metadata }) => metadata.name === name)?.data?.['LOG_LEVEL'],
  };
}

/** Everything namespaced that a chart may make. */
const kinds: Readonly<Record<string, string>> = {
  Deployment: 'apis/apps/v1/NAMESPACE/deployments',
  ReplicaSet: 'apis/apps/v1/NAMESPACE/replicasets',
  Pod: 'api/v1/NAMESPACE/pods',
  Service: 'api/v1/NAMESPACE/services',
  ServiceAccount: 'api/v1/NAMESPACE/serviceaccounts',
  ConfigMap: 'api/v1/NAMESPACE/configmaps',
  Secret: 'api/v1/NAMESPACE/secrets',
  PersistentVolumeClaim: 'api/v1/NAMESPACE/persistentvolumeclaims',
  Job: 'apis/batch/v1/NAMESPACE/jobs',
  NetworkPolicy: 'apis/networking.k8s.io/v1/NAMESPACE/networkpolicies',
  Ingress: 'apis/networking.k8s.io/v1/NAMESPACE/ingresses',
  PodDisruptionBudget: 'apis/policy/v1/NAMESPACE/poddisruptionbudgets',
  HorizontalPodAutoscaler: 'apis/autoscaling/v2/NAMESPACE/horizontalpodautoscalers',
  HTTPRoute: 'apis/gateway.networking.k8s.io/v1/NAMESPACE/httproutes',
  ScaledObject: 'apis/keda.sh/v1alpha1/NAMESPACE/scaledobjects',
  ServiceMonitor: 'apis/monitoring.coreos.com/v1/NAMESPACE/servicemonitors',
  PrometheusRule: 'apis/monitoring.coreos.com/v1/NAMESPACE/prometheusrules',
  Certificate: 'apis/cert-manager.io/v1/NAMESPACE/certificates',
};

/** What every namespace has. */
/** @returns the deployments that do not become ready whole: Helm waits for as many of their pods as a roll-out may not miss. */
async function unreadyIn(api: KubeApi, namespace: string): Promise<readonly string[]> {
  const deadline = performance.now() + 30_000;
  while (true) {
    const { deployments } = await inspect(api, namespace);
    const unready = deployments.filter(({ spec, status }) => (status?.readyReplicas ?? 0) !== (spec.replicas ?? 1));
    if (unready.length === 0 || performance.now() > deadline) return unready.map(({ metadata }) => metadata.name);
    await delay(100);
  }
}

const always = new Set(['ConfigMap kube-root-ca.crt', 'ServiceAccount default']);

/** @returns what is left when nothing goes away any more. */
async function untilGone(api: KubeApi, namespace: string): Promise<readonly string[]> {
  const deadline = performance.now() + 30_000;
  while (true) {
    const lists = await Promise.all(
      Object.entries(kinds).map(async ([kind, path]) =>
        (await api.list<Manifest>(`/${path.replace('NAMESPACE', `namespaces/${namespace}`)}`)).map(
          ({ metadata }) => `${kind} ${metadata.name}`,
        ),
      ),
    );
    const left = lists.flat().filter((name) => !always.has(name));
    const isStill = left.every((name) => name.startsWith('PersistentVolumeClaim'));
    if (isStill || performance.now() > deadline) return left;
    await delay(100);
  }
}

/** Pods must be as restricted as Kubernetes knows how to ask for; the one who installs has its role. */
async function makeNamespace(api: KubeApi, name: string): Promise<string> {
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  });
  const rights = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
  const role = parse(await readFile(join(root, 'deploy/installer.yaml'), 'utf8')) as Manifest;
  await api.create(`${rights}/roles`, role);
  await api.create(`${rights}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'installer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role.metadata.name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'installer' }],
  });
  // Pods are refused until their namespace has its account.
  while (!(await api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`))) await delay(50);
  if (name.startsWith('standalone')) await makeVolume(api, name);
  return name;
}

/** For the claim of the one process. */
const makeVolume = async (api: KubeApi, name: string): Promise<void> =>
  api.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '100Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/data' },
      persistentVolumeReclaimPolicy: 'Retain',
    },
  });

/** What others add to the API: their definitions, until all are served. */
async function extend(api: KubeApi): Promise<void> {
  const folder = join(provisioned('apis') ?? '', 'crds');
  for (const file of (await readdir(folder)).toSorted()) {
    for (const document of parseAllDocuments(await readFile(join(folder, file), 'utf8'))) {
      const definition = document.toJS() as Manifest | null;
      if (definition?.kind === 'CustomResourceDefinition')
        await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    }
  }
  const served = Object.values(kinds).map((path) => `/${path.replace('NAMESPACE', 'namespaces/default')}`);
  for (const path of served) while ((await api.get(path)) === undefined) await delay(50);
}

interface Wish {
  readonly namespace: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** Whether the one who installs may. */
async function may(api: KubeApi, wish: Wish): Promise<boolean> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'installer', resourceAttributes: wish },
  };
  const { status } = await api.post<{ readonly status: { readonly allowed: boolean } }>(path, review);
  return status.allowed;
}
