import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCluster, openPrivateCluster, type Cluster, type ClusterOptions } from '../servers/cluster.ts';
import { openPostgresRecord } from '../servers/cluster-ground.ts';
import { openNatsCluster } from '../servers/nats-cluster.ts';
import { privatePostgres } from '../servers/postgres.ts';

/** A cluster to be measured: all of it on this machine, its record on a server of its own, which acknowledges what is on disk. */
export interface MeasuredCluster extends Cluster {
  /** Of the gateways. */
  readonly ports: readonly number[];
  /** What was counted so far, by what is counted. */
  readonly counts: () => Promise<ReadonlyMap<string, number>>;
}

export interface MeasuredOptions extends Omit<ClusterOptions, 'agent'> {
  /** An export of `agents.ts`. */
  readonly agent: 'echo' | 'emitter' | 'toolLoop' | 'pacedLoop' | 'waiting';
  /** Folder that a CPU profile of each process is written to, by its process id, when it ends. */
  readonly profileTo?: string | undefined;
}

export async function openMeasuredCluster({
  agent,
  env,
  profileTo,
  ...options
}: MeasuredOptions): Promise<MeasuredCluster> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const config = join(folder, 'service.json');
  const module = fileURLToPath(new URL('./agents.ts', import.meta.url));
  await writeFile(config, JSON.stringify({ agent: `${module}:${agent}`, auth: null }));
  // One whose messages can be counted.
  const nats = opened.use(await openNatsCluster({ servers: 1 }));
  // The one that tests share keeps nothing through a crash.
  const record = options.record === 'postgres' ? opened.use(await openPostgresRecord(privatePostgres())) : undefined;
  const cluster = opened.use(
    await (record ? openCluster : openPrivateCluster)({
      agent: null,
      isForMeasuring: true,
      ...options,
      env: {
        ...record?.env,
        ...{ SERVICE_CONFIG: config, NATS_URL: nats.url, METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' },
        ...{ RATE_LIMIT_REQUESTS: '0', MAX_STREAMS_PER_PRINCIPAL: '0' },
        ...(profileTo !== undefined && { NODE_OPTIONS: profilingOptions(profileTo) }),
        ...env,
      },
    }),
  );
  // A process writes its profile when it ends by itself.
  if (profileTo !== undefined) opened.defer(() => endAll(cluster));
  const everything = opened.move();
  return {
    ...cluster,
    ports: cluster.gateways.map(({ address }) => Number(address.split(':')[1])),
    counts: () => countAll(cluster, nats.monitorUrl),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const profilingOptions = (folder: string): string => `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${folder}`;

/** Callers first, so that nobody calls a process that has ended. */
async function endAll({ gateways, executions, memories, threads }: Cluster): Promise<void> {
  for (const replicas of [gateways, executions, memories, threads])
    await Promise.all(replicas.map((replica) => replica.stop()));
}

/** Counters that cost is told by, and how they are named here. */
const counted: readonly (readonly [metric: string, label: RegExp | undefined, name: string])[] = [
  ['agent_workflow_calls_total', /method="([^"]*)"/, 'gRPC '],
  ['agent_workflow_cassandra_statements_total', /kind="([^"]*)"/, 'Cassandra '],
  ['agent_workflow_postgres_requests_total', /kind="([^"]*)"/, 'PostgreSQL '],
];

async function countAll(cluster: Cluster, monitorUrl: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (name: string, value: number): void => void counts.set(name, (counts.get(name) ?? 0) + value);
  for (const replica of cluster.replicas) {
    const metricsUrl = replica
      .lines()
      .map((line) => /^metrics are at (\S+)$/.exec(line)?.[1])
      .findLast((url) => url !== undefined);
    if (metricsUrl === undefined) continue;
    for (const line of (await (await fetch(metricsUrl)).text()).split('\n')) {
      const [, metric, labels = '', value = '0'] = /^(\w+)(\{.*\})? (\S+)$/.exec(line) ?? [];
      const known = counted.find(([name]) => name === metric);
      if (known) add(`${known[2]}${known[1]?.exec(labels)?.[1] ?? ''}`, Number(value));
    }
  }
  const { in_msgs: sent, out_msgs: received } = (await (await fetch(`${monitorUrl}/varz`)).json()) as {
    in_msgs: number;
    out_msgs: number;
  };
  add('NATS sent', sent);
  add('NATS received', received);
  return counts;
}
