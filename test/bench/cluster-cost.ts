import { setTimeout as delay } from 'node:timers/promises';
import type { RecordServer } from '../servers/cluster-ground.ts';
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
const together = 16;
/** How many times as long as it is measured the cluster is at work before: it compiles what it does most, on the same cores. */
const warmingFor = 3;

/** What an invoke and an iteration take in the cluster, beside the embedded service; what they cost each process; what they send. */
export async function cost(seconds: number, store: RecordServer): Promise<Figure[]> {
  return [
    ...(await costOf('echo', 1, { seconds, store })),
    ...(await costOf('toolLoop', toolRounds, { seconds, store })),
  ];
}

async function costOf(
  agent: MeasuredOptions['agent'] & ('echo' | 'toolLoop'),
  parts: number,
  { seconds, store }: { readonly seconds: number; readonly store: RecordServer },
): Promise<Figure[]> {
  const what = agent === 'echo' ? 'invoke' : 'tool iteration';
  const embedded = await embeddedMs(agent, seconds);
  await using cluster = await openMeasuredCluster({ agent, record: store });
  await rateOf(cluster.ports, warmingFor * seconds);
  const perSecond = await rateOf(cluster.ports, seconds);
  const idle = await changeOf(cluster, () => delay(seconds * 1000));
  let times: number[] = [];
  const busy = await changeOf(cluster, async () => {
    times = await alone(cluster.ports, seconds);
  });
  const ms = median(times) / parts;
  const bound = agent === 'echo' ? 10 : 3;
  const steps = agent === 'echo' ? 1 : toolSteps;
  /** What an idle cluster does anyway is not the call's. */
  const perCall = (sums: (change: Change) => ReadonlyMap<string, number>): [string, number][] =>
    [...sums(busy)].map(([name, total]) => {
      const anyway = ((sums(idle).get(name) ?? 0) / idle.ms) * busy.ms;
      return [name, Math.max(0, total - anyway) / times.length];
    });
  return [
    { name: `${what}, 1 caller, p50`, unit: 'ms', ours: ms, aim: atMost(ms, bound, ' ms') },
    { name: '  the same, embedded', unit: 'ms', ours: embedded / parts },
    { name: `${agent}, ${together} callers, runs`, unit: '/s', ours: perSecond },
    ...perCall(({ cpu }) => cpu).map(([kind, total]) => ({
      name: `  CPU of ${kind}, per ${what}`,
      unit: 'ms',
      ours: total / parts,
    })),
    ...perCall(({ counts }) => counts)
      .filter(([, total]) => total / steps >= leastPrinted)
      .map(([name, total]) => ({
        name: `  ${name}, per ${agent === 'echo' ? 'invoke' : 'step'}`,
        unit: '',
        ours: total / steps,
      })),
  ];
}

/** What happens more seldom than this a call is left out of the table. */
const leastPrinted = 0.02;

interface Change extends Snapshot {
  readonly ms: number;
}

/** What was used and counted while something was done. */
async function changeOf(cluster: MeasuredCluster, work: () => Promise<unknown>): Promise<Change> {
  const before = await snapshot(cluster);
  const begun = performance.now();
  await work();
  const ms = performance.now() - begun;
  const after = await snapshot(cluster);
  const minus = (now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>): Map<string, number> =>
    new Map([...now].map(([name, value]) => [name, value - (then.get(name) ?? 0)]));
  return { ms, cpu: minus(after.cpu, before.cpu), counts: minus(after.counts, before.counts) };
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

/** One caller, the gateways one after the other. @returns the time of each call, in milliseconds. */
async function alone(ports: readonly number[], seconds: number): Promise<number[]> {
  const times: number[] = [];
  for (const port of ports) {
    using caller = await openCaller(port);
    const until = performance.now() + (seconds * 1000) / ports.length;
    while (performance.now() < until) times.push((await caller.send(request)).ms);
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
  await rateOf([service.port], seconds / 2);
  return median(await alone([service.port], seconds / 2));
}
