import type { Cluster } from '../servers/cluster.ts';
import { toolRounds } from './agents.ts';
import { openMeasuredCluster, type MeasuredCluster, type MeasuredOptions } from './cluster.ts';
import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest } from './load.ts';
import { cpuMs } from './process-counters.ts';
import { startService } from './servers.ts';

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});

/** Committed steps of one run of the tool loop: each round has two, and one says that it is done. */
const toolSteps = 2 * toolRounds + 1;
const warmCalls = 20;
const together = 16;

/** What an invoke and an iteration take in the cluster, beside the embedded service; what they cost each process; what they send. */
export async function cost(seconds: number): Promise<Figure[]> {
  return [...(await costOf('echo', 1, seconds)), ...(await costOf('toolLoop', toolRounds, seconds))];
}

async function costOf(
  agent: MeasuredOptions['agent'] & ('echo' | 'toolLoop'),
  parts: number,
  seconds: number,
): Promise<Figure[]> {
  const what = agent === 'echo' ? 'invoke' : 'tool iteration';
  const embedded = await embeddedMs(agent, seconds);
  await using cluster = await openMeasuredCluster({ agent });
  await alone(cluster.ports, warmCalls);
  const before = await snapshot(cluster);
  const times = await alone(cluster.ports, Math.ceil((seconds * 1000) / (embedded * warmCalls)) + warmCalls);
  const after = await snapshot(cluster);
  const perSecond = await rateOf(cluster.ports, seconds);
  const ms = median(times) / parts;
  const bound = agent === 'echo' ? 10 : 3;
  const per = (total: number): number => total / times.length / (agent === 'echo' ? 1 : toolSteps);
  return [
    { name: `${what}, 1 caller, p50`, unit: 'ms', ours: ms, aim: atMost(ms, bound, ' ms') },
    { name: '  the same, embedded', unit: 'ms', ours: embedded / parts },
    { name: `${agent}, ${together} callers, runs`, unit: '/s', ours: perSecond },
    ...[...after.cpu].map(([kind, total]) => ({
      name: `  CPU of ${kind}, per ${what}`,
      unit: 'ms',
      ours: (total - (before.cpu.get(kind) ?? 0)) / times.length / parts,
    })),
    ...[...after.counts].map(([name, total]) => ({
      name: `  ${name}, per ${agent === 'echo' ? 'invoke' : 'step'}`,
      unit: '',
      ours: per(total - (before.counts.get(name) ?? 0)),
    })),
  ];
}

interface Snapshot {
  readonly counts: ReadonlyMap<string, number>;
  readonly cpu: ReadonlyMap<string, number>;
}

const snapshot = async (cluster: MeasuredCluster): Promise<Snapshot> => ({
  cpu: cpuOf(cluster),
  counts: await cluster.counts(),
});

/** Processor time of the processes of each kind together, in milliseconds. */
function cpuOf({ replicas }: Cluster): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { name, pid } of replicas) {
    const kind = name.split(' ')[0] ?? name;
    sums.set(kind, (sums.get(kind) ?? 0) + (cpuMs(pid()) ?? Number.NaN));
  }
  return sums;
}

/** One caller, the gateways in turn. @returns the time of each call, in milliseconds. */
async function alone(ports: readonly number[], calls: number): Promise<number[]> {
  const times: number[] = [];
  for (const port of ports) {
    using caller = await openCaller(port);
    for (let call = 0; call < calls / ports.length; call++) times.push((await caller.send(request)).ms);
  }
  return times;
}

async function rateOf(ports: readonly number[], seconds: number): Promise<number> {
  let replies = 0;
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: together }, async (_, index) => {
      using caller = await openCaller(ports[index % ports.length] as number);
      for (; performance.now() < until; replies++) await caller.send(request);
    }),
  );
  return replies / seconds;
}

async function embeddedMs(agent: 'echo' | 'toolLoop', seconds: number): Promise<number> {
  await using service = await startService({ agent });
  await alone([service.port], warmCalls);
  const until = performance.now() + (seconds * 1000) / 2;
  const times: number[] = [];
  while (performance.now() < until) times.push(...(await alone([service.port], warmCalls)));
  return median(times);
}
