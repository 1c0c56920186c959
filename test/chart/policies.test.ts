import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executionMetrics } from '@agent-workflow/execution/metrics';
import test, { type ExecutionContext } from 'ava';
import { readRenders } from './beside.ts';
import { isCovered, letsThrough, type Peer } from './network.ts';
import { containersOf, peerOf, workloadsOf } from './pods.ts';
import { release, type Manifest } from './render.ts';
import { root } from './root.ts';

/** The renders that were looked at: `chart.test.ts` holds them to what Helm makes. */
const renders = await readRenders();

function everyRender(title: string, check: (t: ExecutionContext, manifests: readonly Manifest[]) => void): void {
  for (const render of renders) test(`${title} (${render.title})`, (t) => check(t, render.manifests));
}

everyRender('no container runs as root, may become root, or writes to its image', (t, manifests) => {
  for (const workload of workloadsOf(manifests)) {
    const { securityContext = {}, hostNetwork, hostPID } = workload.pod;
    t.like(securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, workload.name);
    t.true(Number(securityContext['runAsUser']) > 0, workload.name);
    t.falsy(hostNetwork ?? hostPID, workload.name);
    for (const container of containersOf(workload))
      t.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
      });
  }
});

everyRender('every container says what it needs and what it may take at most', (t, manifests) => {
  for (const workload of workloadsOf(manifests))
    for (const { resources, name } of containersOf(workload))
      for (const side of ['requests', 'limits'] as const)
        t.deepEqual(Object.keys(resources[side] ?? {}).toSorted(), ['cpu', 'memory'], `${workload.name} ${name}`);
});

everyRender('no pod has a token of Kubernetes', (t, manifests) => {
  for (const { pod, name } of workloadsOf(manifests)) t.is(pod.automountServiceAccountToken, false, name);
  const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount');
  for (const account of accounts)
    t.is((account as { automountServiceAccountToken?: boolean }).automountServiceAccountToken, false);
  t.deepEqual(
    manifests.filter(({ kind }) => /Role|Secret$/.test(kind)),
    [],
  );
});

everyRender('a pod has the time to leave that its parts need, and not less', (t, manifests) => {
  for (const { pod, kind, name } of workloadsOf(manifests)) {
    if (kind === 'Job') continue;
    const [container] = pod.containers;
    const variables = configOf(manifests, container?.envFrom?.[0]?.configMapRef.name ?? '');
    const preStop = container?.lifecycle?.preStop.sleep.seconds ?? 0;
    t.is(pod.terminationGracePeriodSeconds, preStop + Number(variables['DRAIN_SECONDS']) + 10, name);
  }
});

everyRender(
  'every process can be asked whether it lives and whether it is ready, without a certificate',
  (t, manifests) => {
    for (const { pod, kind, name } of workloadsOf(manifests)) {
      if (kind === 'Job') continue;
      const [container] = pod.containers;
      const variables = configOf(manifests, container?.envFrom?.[0]?.configMapRef.name ?? '');
      const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe];
      const isHttp = variables['PORT'] !== undefined;
      const asked = (path: string, service?: string): object =>
        isHttp
          ? { httpGet: { path, port: 'http' } }
          : { grpc: { port: Number(variables['HEALTH_PORT']), ...(service !== undefined && { service }) } };
      t.like(probes[0], asked('/readyz', 'live'), name);
      t.like(probes[1], asked('/healthz', 'live'), name);
      t.like(probes[2], asked('/healthz'), name);
    }
  },
);

everyRender('every process is told the port of its metrics, and a Service leads there', (t, manifests) => {
  const monitors = manifests.filter(({ kind }) => kind === 'ServiceMonitor').map(({ metadata }) => metadata.name);
  for (const { pod, kind, name } of workloadsOf(manifests)) {
    if (kind === 'Job') continue;
    const { ports = [], envFrom } = pod.containers[0] ?? {};
    const variables = configOf(manifests, envFrom?.[0]?.configMapRef.name ?? '');
    const metrics = ports.find((port) => port.name === 'metrics');
    t.is(variables['METRICS_PORT'], String(metrics?.containerPort), name);
    const service = manifests.find(
      (manifest) => manifest.kind === 'Service' && manifest.metadata.name === `${name}-metrics`,
    );
    t.like(service?.spec, { ports: [{ port: metrics?.containerPort, targetPort: 'metrics' }] }, name);
    if (monitors.length > 0) t.true(monitors.includes(name), name);
  }
});

everyRender('a worker with a token of its own, and its Job, are given no secret of the platform', (t, manifests) => {
  const platforms = new Set(['agent-workflow-token', 'agent-workflow-pools', 'agent-workflow-files']);
  for (const workload of workloadsOf(manifests)) {
    const [{ env = [], envFrom = [] } = { env: [] }] = workload.pod.containers;
    const config = envFrom.map(({ configMapRef }) => configOf(manifests, configMapRef.name));
    const isOfPool = config.some((each) => 'POOL' in each) || env.some(({ name }) => name === 'POOL');
    if (!isOfPool) continue;
    const text = JSON.stringify(workload.pod);
    for (const secret of platforms) t.false(text.includes(`"${secret}"`), `${workload.name} has ${secret}`);
    t.true(text.includes('-token"'), `${workload.name} has a token`);
  }
  t.pass();
});

everyRender('pods are made anew when their settings change', (t, manifests) => {
  for (const { annotations, kind, name } of workloadsOf(manifests))
    if (kind !== 'Job') t.regex(annotations['checksum/config'] ?? '', /^[0-9a-f]{64}$/, name);
});

everyRender(
  'no Service but that of the gateway is reached from outside, and it shows no internal port',
  (t, manifests) => {
    const edge = new Set(['gateway', 'standalone']);
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'Service') continue;
      const { type = 'ClusterIP', clusterIP, ports, selector } = spec as Service;
      const component = selector['app.kubernetes.io/component'] ?? '';
      if (clusterIP === 'None') continue;
      t.true(edge.has(component), metadata.name);
      t.is(type, 'ClusterIP', metadata.name);
      t.deepEqual(
        ports.map(({ name, targetPort }) => [name, targetPort]),
        [['http', 'http']],
        metadata.name,
      );
    }
    const entered = JSON.stringify(manifests.filter(({ kind }) => kind === 'Ingress' || kind === 'HTTPRoute'));
    for (const backend of entered.matchAll(/"(?:service|backendRefs)":\[?\{"name":"([^"]+)"/g))
      t.regex(backend[1] ?? '', /-(gateway|standalone)$/);
  },
);

everyRender('every Service finds pods, at a port that they have', (t, manifests) => {
  const peers = workloadsOf(manifests).map(peerOf);
  for (const { kind, metadata, spec } of manifests) {
    if (kind !== 'Service') continue;
    const { ports, selector } = spec as Service;
    const found = peers.filter(
      ({ labels, namespace }) =>
        namespace === metadata.namespace && Object.entries(selector).every(([key, value]) => labels[key] === value),
    );
    t.is(found.length, 1, metadata.name);
    for (const { targetPort } of ports) t.true(targetPort in (found[0]?.ports ?? {}), metadata.name);
  }
});

everyRender('every address that a part is given is that of a Service that is there', (t, manifests) => {
  const services = manifests.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata);
  const known = services.map(({ name, namespace = '' }) => `${name}.${namespace}.svc.cluster.local:50051`);
  const given = manifests.flatMap(({ data = {} }) =>
    Object.entries(data).flatMap(([name, value]) => (name.endsWith('_ADDRESS') ? [value] : [])),
  );
  t.deepEqual(
    given.filter((address) => !known.includes(address)),
    [],
  );
});

everyRender('a certificate is good for the name that its part is called by', (t, manifests) => {
  const certificates = manifests.filter(({ kind }) => kind === 'Certificate');
  const addresses = manifests.flatMap(({ data = {} }) =>
    Object.entries(data).flatMap(([key, value]) => (key.endsWith('_ADDRESS') ? [value.split(':')[0] ?? ''] : [])),
  );
  const named = certificates.flatMap(({ spec }) => (spec as { readonly dnsNames: readonly string[] }).dnsNames);
  const secrets = certificates.map(({ spec }) => (spec as { readonly secretName: string }).secretName);
  for (const { pod, name, kind, component } of workloadsOf(manifests)) {
    const calls = kind !== 'Job' || component === 'agent-register';
    const volume = pod.volumes?.find(({ name: called }) => called === 'tls') as Mounted | undefined;
    t.is(volume !== undefined, certificates.length > 0 && calls, name);
    if (volume) t.true(secrets.includes(volume.secret.secretName), name);
  }
  if (certificates.length > 0) for (const address of addresses) t.true(named.includes(address), address);
});

const grpc = 50_051;

/** Which part calls which, in a cluster; all else is refused. */
const calls: ReadonlySet<string> = new Set([
  'gateway → threads',
  'gateway → execution-api',
  'gateway → memory',
  'execution-api → threads',
  'execution-api → memory',
  'execution-worker → threads',
  'execution-worker → memory',
  'agent → threads',
  'agent → memory',
  'agent-register → threads',
]);

/** Over HTTP: the files of `ctx.files`. */
const readFiles: ReadonlySet<string> = new Set(['execution-worker → gateway', 'agent → gateway']);

everyRender('every pair of pods may speak at the one port where one calls the other, or not at all', (t, manifests) => {
  const peers = workloadsOf(manifests).map(peerOf);
  for (const peer of peers) t.true(isCovered(manifests, peer), nameOf(peer));
  for (const from of peers)
    for (const to of peers)
      for (const port of Object.values(to.ports)) {
        const pair = `${nameOf(from)} → ${nameOf(to)}`;
        const isCall = (port === grpc && calls.has(pair)) || (port === to.ports['http'] && readFiles.has(pair));
        t.is(letsThrough(manifests, { from, to, port }), isCall, `${pair}:${port}`);
      }
});

everyRender(
  'a pod outside the release reaches the gateway and nothing else; Prometheus reads the metrics',
  (t, manifests) => {
    const outsiders: readonly Peer[] = [
      { namespace: release.namespace, labels: {}, ports: {} },
      { namespace: 'elsewhere', labels: { 'app.kubernetes.io/component': 'gateway' }, ports: {} },
      ...workloadsOf(manifests).map((workload) => {
        const labels = { ...workload.labels, 'app.kubernetes.io/instance': 'another' };
        return { namespace: release.namespace, labels, ports: {} };
      }),
    ];
    const prometheus = { namespace: 'monitoring', labels: {}, ports: {} };
    for (const to of workloadsOf(manifests).map(peerOf))
      for (const [name, port] of Object.entries(to.ports)) {
        for (const from of outsiders) t.is(letsThrough(manifests, { from, to, port }), name === 'http', nameOf(to));
        const isRead = name === 'http' || name === 'metrics';
        t.is(letsThrough(manifests, { from: prometheus, to, port }), isRead, nameOf(to));
      }
  },
);

everyRender('no part may go to where it has nothing to do', (t, manifests) => {
  const anywhere: Peer = { namespace: 'elsewhere', labels: {}, ports: {} };
  for (const from of workloadsOf(manifests).map(peerOf))
    for (const port of [22, 25, 6443, 10_250, grpc])
      t.false(letsThrough(manifests, { from, to: anywhere, port }), `${nameOf(from)}:${port}`);
});

test('workers are scaled by the runs that wait and the runs under way, as the API counts them', (t) => {
  const scaled = renders
    .flatMap(({ manifests }) => manifests.filter(({ kind }) => kind === 'ScaledObject'))
    .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'execution-worker');
  t.is(scaled.length, 1);
  const { triggers, advanced } = scaled[0]?.spec as Scaled;
  const counted = [executionMetrics.underWay.name, executionMetrics.waiting.name];
  t.deepEqual(
    triggers.map(({ metadata }) => metadata.valueLocation),
    counted,
  );
  t.is(advanced.scalingModifiers.formula, triggers.map(({ name }) => name).join(' + '));
});

test('workers of a revision are scaled by the runs of each of its agents at this revision, down to none', (t) => {
  const { name } = executionMetrics.revisionRuns;
  let seen = 0;
  for (const { title, manifests } of renders)
    for (const { kind, metadata, spec } of manifests) {
      if (kind !== 'ScaledObject' || metadata.labels?.['app.kubernetes.io/component'] !== 'agent') continue;
      seen++;
      const { triggers, advanced, scaleTargetRef, minReplicaCount } = spec as Scaled;
      const target = workloadsOf(manifests).find((workload) => workload.name === scaleTargetRef.name);
      t.deepEqual([target?.kind, target?.replicas, minReplicaCount], ['Deployment', undefined, 0], title);
      const revision = configOf(manifests, scaleTargetRef.name)['AGENT_REVISION'];
      const file = JSON.parse(configOf(manifests, `${scaleTargetRef.name}-file`)['service.json'] ?? '{}') as File;
      t.deepEqual(
        triggers.map(({ metadata }) => metadata.valueLocation),
        Object.keys(file.agents).map((agent) => `${name}{agent="${agent}",revision="${revision ?? ''}"}`),
        title,
      );
      t.is(advanced.scalingModifiers.formula, triggers.map(({ name }) => name).join(' + '));
      // The names are variables of an expression.
      for (const trigger of triggers) t.regex(trigger.name, /^[a-z][a-z0-9_]*$/);
    }
  t.true(seen >= 5);
});

test('whoever scales by the runs under way reaches the API that tells them, and nothing else', (t) => {
  const keda: Peer = { namespace: 'keda', labels: {}, ports: {} };
  for (const { title, manifests } of renders) {
    const { triggers } = (manifests.find(({ kind }) => kind === 'ScaledObject')?.spec ?? { triggers: [] }) as Scaled;
    const [, host, port] = /^http:\/\/([^.]+)\..*:(\d+)\/metrics$/.exec(triggers.at(-1)?.metadata.url ?? '') ?? [];
    const asked = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === host);
    const component = asked && (asked.spec as Service).selector['app.kubernetes.io/component'];
    t.is(component, scaledTitles.has(title) ? 'execution-api' : undefined, title);
    for (const to of workloadsOf(manifests).map(peerOf))
      for (const [name, own] of Object.entries(to.ports)) {
        const isAsked = nameOf(to) === component && own === Number(port);
        t.is(
          letsThrough(manifests, { from: keda, to, port: own }),
          isAsked || name === 'http',
          `${title} ${nameOf(to)}`,
        );
      }
  }
});

test('every alert is explained to the operator under its own name, where its runbook points', async (t) => {
  const page = await readFile(join(root, 'deploy/guide/alerts.md'), 'utf8');
  const explained = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name ?? '');
  const rules = renders.flatMap(({ manifests }) =>
    manifests.filter(({ kind }) => kind === 'PrometheusRule').flatMap(({ spec }) => (spec as Rules).groups),
  );
  const alerts = rules.flatMap((group) => group.rules);
  t.deepEqual([...new Set(alerts.map(({ alert }) => alert))].toSorted(), explained.toSorted());
  for (const { alert, annotations } of alerts)
    if (annotations.runbook_url !== undefined) t.true(annotations.runbook_url.endsWith(`#${alert.toLowerCase()}`));
});

test('the alerts that need a service monitor are explained after all others, as the page says', async (t) => {
  const [page, template] = await Promise.all(
    ['deploy/guide/alerts.md', 'deploy/charts/service/templates/_metricalerts.tpl'].map((path) =>
      readFile(join(root, path), 'utf8'),
    ),
  );
  const own = [...(template ?? '').matchAll(/"alert" "(\w+)"/g)].map(([, name = '']) => name);
  const explained = [...(page ?? '').matchAll(/^## (AgentWorkflow\w+)$/gm)].map(([, name = '']) => name);
  const behind = explained.slice(explained.indexOf('AgentWorkflowNotScraped'));
  t.deepEqual(behind.toSorted(), ['AgentWorkflowNotScraped', ...own].toSorted());
});

test('the rules about pairs of pods find a policy that is missing', (t) => {
  const { manifests } = renders[0] ?? { manifests: [] };
  const peers = workloadsOf(manifests).map(peerOf);
  const [worker, gateway] = ['execution-worker', 'gateway'].map((name) => peers.find((peer) => nameOf(peer) === name));
  if (!worker || !gateway) return t.fail();
  t.false(letsThrough(manifests, { from: worker, to: gateway, port: 9464 }));
  const without = manifests.filter(
    ({ kind, metadata }) => kind !== 'NetworkPolicy' || !/(gateway|worker)$/.test(metadata.name),
  );
  t.true(letsThrough(without, { from: worker, to: gateway, port: 9464 }));
  t.false(isCovered(without, worker));
});

interface Service {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly targetPort: string }[];
}

/** Those with a pool in the release, or beside one that has one, are among them. */
const scaledTitles: ReadonlySet<string> = new Set([
  'agent-keda',
  'agent-two-revisions',
  'agent-workflow-keda',
  'agent-workflow-pools',
]);

interface File {
  readonly agents: Readonly<Record<string, unknown>>;
}

interface Scaled {
  readonly scaleTargetRef: { readonly name: string };
  readonly minReplicaCount: number;
  readonly triggers: readonly {
    readonly name: string;
    readonly metadata: {
      readonly url?: string;
      readonly valueLocation?: string;
    };
  }[];
  readonly advanced: { readonly scalingModifiers: { readonly formula: string } };
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly annotations: { readonly runbook_url?: string } }[];
  }[];
}

interface Mounted {
  readonly secret: { readonly secretName: string };
}

const nameOf = ({ labels }: Peer): string => labels['app.kubernetes.io/component'] ?? 'somebody';

const configOf = (manifests: readonly Manifest[], name: string): Readonly<Record<string, string>> =>
  manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)?.data ?? {};
