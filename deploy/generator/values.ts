/** A part of a JSON Schema: draft 7, which Helm 3 and Helm 4 both read. */
export type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const map: Schema = { type: 'object' };
const texts: Schema = { type: 'array', items: text };
const maps: Schema = { type: 'array', items: map };
const labels: Schema = { type: 'object', additionalProperties: text };

/** The labels that select pods, and those of a release, are set by the chart. */
const ownLabels: Schema = {
  ...labels,
  propertyNames: { not: { pattern: '^(app\\.kubernetes\\.io|helm\\.sh|agent-workflow)/' } },
};

/** Annotations of a Job, which the chart makes a hook of Helm. */
const jobAnnotations: Schema = { ...labels, propertyNames: { not: { pattern: '^helm\\.sh/' } } };

const containers: Schema = { type: 'array', items: { type: 'object', required: ['name', 'image'] } };

const choice = (...words: readonly string[]): Schema => ({ enum: words });

const whole = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });

/** An object with these properties and no others. */
export const closed = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length > 0 && { required }),
});

const quantity: Schema = { type: ['string', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$' };
const amounts = closed({ cpu: quantity, memory: quantity, 'ephemeral-storage': quantity }, ['cpu', 'memory']);
const resources = closed({ requests: amounts, limits: amounts }, ['requests', 'limits']);

const port = whole(1, 65_535);
const name: Schema = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' };
const optionalName: Schema = { type: 'string', pattern: '^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$' };
/** Secrets by their names, or as a pod names them. */
const pullSecrets: Schema = {
  type: 'array',
  items: { anyOf: [name, { type: 'object', additionalProperties: false, properties: { name }, required: ['name'] }] },
};
const digest: Schema = { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' };
const duration: Schema = { type: 'string', pattern: '^[0-9]+(ms|s|m|h)$' };
const location: Schema = { type: 'string', pattern: '^.+:[^:/\\\\]+$' };
const optionalLocation: Schema = { type: 'string', pattern: '^(.+:[^:/\\\\]+)?$' };

/** Environment variables, each from the `key` of the Secret `name`. */
const secretEnv: Schema = {
  type: 'object',
  propertyNames: { pattern: '^[A-Z][A-Z0-9_]*$' },
  additionalProperties: closed({ name, key: text, optional: flag }, ['name', 'key']),
};

const scaling = closed({
  enabled: flag,
  minReplicas: whole(1, 1000),
  maxReplicas: whole(1, 1000),
  targetCPUUtilizationPercentage: whole(1, 100),
  behavior: map,
});

/** Values of the process of a part. */
export const processValues = (config: Schema): Readonly<Record<string, Schema>> => ({
  replicas: whole(0, 1000),
  config,
  secretEnv,
  extraEnv: { type: 'array', items: { type: 'object', required: ['name'] } },
  extraEnvFrom: maps,
  resources,
  drainSeconds: whole(1, 86_400),
  preStopSeconds: whole(0, 600),
  autoscaling: scaling,
  podDisruptionBudget: closed({
    enabled: flag,
    maxUnavailable: { type: ['integer', 'string'], pattern: '^([1-9][0-9]?|100)%$', minimum: 1 },
  }),
  topologySpread: closed({ topologyKeys: texts, whenUnsatisfiable: choice('ScheduleAnyway', 'DoNotSchedule') }),
  nodeSelector: labels,
  tolerations: maps,
  affinity: map,
  priorityClassName: text,
  podAnnotations: labels,
  podLabels: ownLabels,
  commonLabels: ownLabels,
  imagePullSecrets: pullSecrets,
  serviceAccount: closed({ create: flag, name: optionalName, annotations: labels }),
  runAsUser: { ...whole(1, 2 ** 31 - 1), type: ['integer', 'null'] },
  tls: closed({ existingSecret: optionalName }),
  networkPolicy: closed({
    egressPorts: { type: 'array', items: port },
    extraEgressPorts: { type: 'array', items: port },
    extraEgress: maps,
    extraIngress: maps,
  }),
  volumes: maps,
  volumeMounts: maps,
  initContainers: containers,
  extraContainers: containers,
});

/** Further objects of a release: each a map, or a text that is one after its templates were filled in. */
export const extraObjects: Schema = { type: 'array', items: { type: ['object', 'string'], minLength: 1 } };

/** A test compares it with the pattern of the protos. */
const agentNamePattern = '^[a-z][a-z0-9-]{0,62}$';

/** Agents by name, each with its location. */
const agents: Schema = {
  type: 'object',
  additionalProperties: false,
  patternProperties: {
    [agentNamePattern]: {
      anyOf: [location, closed({ path: location, description: { type: 'string', maxLength: 1000 } }, ['path'])],
    },
  },
};

/** The content of `service.json`: one agent or several, of which one may be the default. `none` stands for no agent. */
const serviceFile: Schema = {
  ...closed({
    agent: { type: 'string', pattern: '^(none|.+:[^:/\\\\]+)?$' },
    agents,
    default_agent: text,
    auth: {
      anyOf: [choice('jwt', 'none'), closed({ method: { const: 'custom' }, path: location }, ['method', 'path'])],
    },
    authorization: optionalLocation,
    access: { type: 'object' },
  }),
  if: { properties: { agents: { minProperties: 1 } }, required: ['agents'] },
  then: { properties: { agent: { const: '' } } },
  else: { properties: { default_agent: { const: '' } } },
};

/** The place of a token: a Secret, and a key in it. */
export const tokenValues: Schema = closed({ existingSecret: optionalName, key: text });

/** Values of all parts. */
export const globalValues: Schema = closed({
  instance: { type: 'string', pattern: '^([a-z]([-a-z0-9]{0,40}[a-z0-9])?)?$' },
  image: closed({
    repository: { type: 'string', minLength: 1 },
    tag: text,
    digest,
    pullPolicy: choice('Always', 'IfNotPresent', 'Never'),
    pullSecrets: { type: 'array', items: name },
  }),
  serviceFile,
  serviceToken: tokenValues,
  poolCredentials: closed({ existingSecret: optionalName, key: text, grantKey: text }),
  tls: closed({
    enabled: flag,
    certManager: closed({
      enabled: flag,
      issuerRef: closed({ name: optionalName, kind: choice('Issuer', 'ClusterIssuer'), group: text }),
      duration,
      renewBefore: duration,
    }),
  }),
  imagePullSecrets: pullSecrets,
  commonLabels: ownLabels,
  clusterDomain: { type: 'string', minLength: 1 },
  listenHost: { type: 'string', minLength: 1 },
  ipFamilyPolicy: choice('', 'SingleStack', 'PreferDualStack', 'RequireDualStack'),
  ipFamilies: { type: 'array', items: choice('IPv4', 'IPv6'), maxItems: 2, uniqueItems: true },
  networkPolicy: closed({
    enabled: flag,
    metricsFrom: maps,
    agentPools: { type: 'array', items: closed({ namespace: name, podSelector: map }, ['namespace']) },
  }),
  serviceMonitor: closed({ enabled: flag, interval: duration, labels }),
  prometheusRule: closed({ enabled: flag, labels, runbook: text }),
});

/** Values of what exposes a part to callers: its Service, Ingress and HTTPRoute. */
export const edgeValues: Readonly<Record<string, Schema>> = {
  service: closed({ type: choice('ClusterIP', 'NodePort', 'LoadBalancer'), port, annotations: labels }),
  ingress: closed({
    enabled: flag,
    className: text,
    hosts: { type: 'array', items: name },
    tls: maps,
    annotations: labels,
  }),
  httpRoute: closed({
    enabled: flag,
    parentRefs: { type: 'array', items: { type: 'object', required: ['name'] } },
    hostnames: texts,
    annotations: labels,
  }),
};

/** Values of a Job. */
const job = {
  enabled: flag,
  backoffLimit: whole(0, 100),
  activeDeadlineSeconds: whole(1, 86_400),
  resources,
  annotations: jobAnnotations,
  labels: ownLabels,
  podAnnotations: labels,
  podLabels: ownLabels,
};

/** Values of the migration Job of the record. */
export const migrationValues = closed(job);

const scaledByRuns = {
  enabled: flag,
  minReplicas: whole(0, 1000),
  maxReplicas: whole(1, 1000),
  runsPerWorker: whole(1, 10_000),
  pollingSeconds: whole(1, 3600),
  cooldownSeconds: whole(0, 86_400),
  behavior: map,
  namespace: name,
};

/** Values of the autoscaling of workers by KEDA. */
export const kedaValues = closed({
  ...scaledByRuns,
  waitingMetric: { type: 'string', pattern: '^[a-zA-Z_:][a-zA-Z0-9_:]*([{].*[}])?$' },
  underWayMetric: { type: 'string', pattern: '^([a-zA-Z_:][a-zA-Z0-9_:]*([{].*[}])?)?$' },
});

/** The same rule as the service has for the name of a revision. */
const revision: Schema = { type: 'string', pattern: '^[A-Za-z0-9._:@-]{1,128}$', not: { enum: ['.', '..'] } };

const command: Schema = { type: 'array', items: text, minItems: 1 };

/** Values of a pool of workers, made from those of its process. Each revision may set its own, except those in `shared`. */
export function poolValues(process: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  const ofRevision = Object.fromEntries(Object.entries(process).filter(([value]) => !shared.has(value)));
  const image = { repository: text };
  const build = {
    ...ofRevision,
    keda: closed(scaledByRuns),
    name: revision,
    image: closed({ ...image, tag: text, digest }),
    agents,
    command,
  };
  return {
    ...process,
    keda: closed(scaledByRuns),
    platform: closed({ namespace: optionalName }),
    image: closed(image),
    command,
    agents,
    revisions: { type: 'array', items: closed(build, ['name']) },
    current: text,
    registration: closed({ ...job, secretEnv, extraEnvFrom: maps, routing: choice('auto', 'none') }),
  };
}

/** Values of a process that all revisions of a pool have together. */
const shared: ReadonlySet<string> = new Set(['serviceAccount', 'tls']);

/** Pools by name, each with its values. */
export const poolsSchema = (pool: Schema): Schema => ({
  type: 'object',
  additionalProperties: false,
  patternProperties: { '^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$': pool },
});

/** Values of the volume of the single process. */
export const persistenceValues = closed({
  existingClaim: optionalName,
  storageClassName: text,
  size: quantity,
});
