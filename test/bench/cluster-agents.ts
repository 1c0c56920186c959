import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { registerFrom } from '@agent-workflow/execution/register';
import { cassandra } from '../servers/cassandra.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { openCluster, serviceToken, type Cluster } from '../servers/cluster.ts';
import { makeWorkspace } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { compare, first, most, names, type Side } from './agent-sides.ts';
import type { Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { cpuMs, cpuMsBelow, residentMiB } from './process-counters.ts';
import { seededThread, seedThreads } from './seed-threads.ts';

export const revision = 'v1';
const settleMs = 5000;
const idleMs = 10_000;
/** Of a core, and how often it is looked at before the measuring begins anyway. */
const idleShare = 0.1;
const mostTurns = 60;
/** Changes of the seed under way at once: more wait for each other in Cassandra. */
const seededAtOnce = 256;

/** The agent of these figures, as `service.json` names it. */
export const echo = `${fileURLToPath(new URL('./agents.ts', import.meta.url))}:echo`;

/**
 * A hundred agents that share the threads, beside one that has as many: each side a gateway, a threads service, an api and one worker process. The
 * worker holds the one agent that runs are started for: the others are registered, have threads, and nobody calls them.
 */
export async function clusterAgents(seconds: number, threads: number): Promise<Figure[]> {
  await using many = await openSide(names, threads);
  await using one = await openSide([first], threads);
  await settled();
  const idle = await compareIdle(many, one);
  return [...(await compare(many, one, seconds)), ...idle];
}

/** Waits until the server has put in order what was written: it works on while it does. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < mostTurns; turn++) {
    const before = cpuMsBelow().get('java') ?? 0;
    await delay(settleMs);
    if ((cpuMsBelow().get('java') ?? 0) - before < idleShare * settleMs) return;
  }
}

interface ClusterSide extends Side {
  /** Of the processes that serve every agent. */
  readonly serving: () => readonly number[];
  readonly pids: () => readonly number[];
}

async function openSide(agents: readonly string[], threads: number): Promise<ClusterSide> {
  await using opened = new AsyncDisposableStack();
  const server = opened.use(await cassandra.open());
  const keyspace = opened.use(await openKeyspace(server));
  await using store = await keyspace.open({ requestTimeoutMs: 60_000, deadlineMs: 120_000 });
  await seedThreads(store, { threads, agents, atOnce: seededAtOnce });
  const held = { agents: Object.fromEntries(agents.map((name) => [name, echo])) };
  const cluster = opened.use(
    await openCluster({
      agent: null,
      ...{ gateways: 1, threads: 1, executions: 1 },
      service: { agent: null, default_agent: first, auth: null },
      workers: [{ service: { agent: undefined, agents: { [first]: echo } } }],
      env: { RATE_LIMIT_REQUESTS: '0', AGENT_REVISION: revision, CASSANDRA_KEYSPACE: keyspace.options.keyspace },
    }),
  );
  const port = Number(cluster.gateways[0]?.address.split(':')[1]);
  await registerAt(cluster, port, held.agents);
  const pids = (): readonly number[] => cluster.replicas.map((replica) => replica.pid());
  let version = await routingVersion(port);
  const everything = opened.move();
  return {
    ...{ agents: [first], port, pids },
    nextRouting: () => ({ version: version++, current: revision }),
    threadOf: (index) => seededThread((index * agents.length) % threads),
    serving: () => [...cluster.gateways, ...cluster.threads, ...cluster.executions].map((replica) => replica.pid()),
    cpu: () => sumOf(pids(), cpuMs),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Registers agents with a cluster, and waits until its gateway knows the last of them. */
export async function registerAt(
  cluster: Cluster,
  port: number,
  agents: Readonly<Record<string, string>>,
): Promise<void> {
  await using workspace = await makeWorkspace(null, { agent: undefined, agents });
  const { SERVICE_CONFIG = '' } = workspace.env;
  const place = { THREADS_ADDRESS: cluster.threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken, SERVICE_CONFIG };
  await registerFrom({ ...place, AGENT_REVISION: revision }, 'auto');
  const described = `http://127.0.0.1:${port}/v1/agents/${Object.keys(agents).at(-1) ?? ''}`;
  await until(async () => (await fetch(described)).ok, { timeoutMs: 60_000 });
}

/** The version of the routing of the first agent. */
async function routingVersion(port: number): Promise<number> {
  const { body } = await sendOne(port, toRequest('GET', `/v1/agents/${first}`));
  const { data } = JSON.parse(body) as { data: { routing: { version: number } } };
  return data.routing.version;
}

const sumOf = (pids: readonly number[], read: (pid: number) => number | undefined): number =>
  pids.reduce((sum, pid) => sum + (read(pid) ?? Number.NaN), 0);

/** What the processes hold and do while nobody calls them. */
async function compareIdle(many: ClusterSide, one: ClusterSide): Promise<Figure[]> {
  await delay(settleMs);
  const before = [many, one].map(({ cpu }) => cpu());
  await delay(idleMs);
  const [manyPercent, onePercent] = [many, one].map(
    ({ cpu }, index) => ((cpu() - (before[index] ?? Number.NaN)) * 100) / idleMs,
  );
  const [manyMiB = Number.NaN, oneMiB = Number.NaN] = [many, one].map(({ serving }) => sumOf(serving(), residentMiB));
  return [
    { name: `processes beside the workers, ${most} agents`, unit: '', ours: many.serving().length },
    { name: '  one agent', unit: '', ours: one.serving().length },
    { name: `their resident memory, ${most} agents`, unit: 'MiB', ours: manyMiB },
    { name: '  one agent', unit: 'MiB', ours: oneMiB },
    { name: '  each agent that nobody calls', unit: 'KiB', ours: ((manyMiB - oneMiB) * 1024) / (most - 1) },
    { name: `processor time idle, all processes, ${most} agents`, unit: '% of a core', ours: manyPercent },
    { name: '  one agent', unit: '% of a core', ours: onePercent },
  ];
}
