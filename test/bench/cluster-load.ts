import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordServer } from '../servers/cluster-ground.ts';
import type { ClusterOptions } from '../servers/cluster.ts';
import { openMeasuredCluster, type MeasuredCluster } from './cluster.ts';
import { atLeast, atMost, type Figure } from './figure.ts';
import { openCaller, toRequest } from './load.ts';
import { cpuMs, cpuMsBelow } from './process-counters.ts';
import { summarise } from './profile.ts';

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});

/**
 * The cluster is at work before it is measured, because it compiles what it does most on the same cores: until a part of the warm-up takes
 * no less processor time an invoke than the least of those before by this ratio, three times in turn, and for so many parts at most.
 */
const steadyRatio = 0.98;
const steadyFor = 3;
const mostParts = 24;

/**
 * Invokes a second with many callers at once, and what each takes of processor time: of our processes by kind, and of the
 * servers by program.
 */
export async function load(
  seconds: number,
  {
    isProfiled,
    processes,
    store,
  }: { readonly isProfiled: boolean; readonly processes: number | undefined; readonly store: RecordServer },
): Promise<Figure[]> {
  const profileTo = isProfiled ? mkdtempSync(join(tmpdir(), 'bench-profile-')) : undefined;
  const kindOf = new Map<string, string>();
  const figures: Figure[] = [];
  {
    await using cluster = await openMeasuredCluster({ agent: 'echo', record: store, profileTo, ...ofEach(processes) });
    for (const { name, pid } of cluster.replicas) kindOf.set(String(pid()), kindIn(name));
    await warmUp(cluster, seconds);
    for (const callers of [16, 64]) figures.push(...(await measured(cluster, callers, seconds)));
  }
  if (profileTo !== undefined)
    for (const kind of new Set(kindOf.values())) {
      const isOf = (file: string): boolean => kindOf.get(file.split('.')[3] ?? '') === kind;
      console.log(`\n${kind}: time of their own\n${summarise(profileTo, isOf)}`);
    }
  return figures;
}

const ofEach = (count: number | undefined): Pick<ClusterOptions, 'executions' | 'gateways' | 'threads'> =>
  count === undefined ? {} : { executions: count, gateways: count, threads: count };

const kindIn = (name: string): string => name.split(' ')[0] ?? name;

async function warmUp(cluster: MeasuredCluster, seconds: number): Promise<void> {
  let least = Infinity;
  let steady = 0;
  for (let part = 1; part <= mostParts && steady < steadyFor; part++) {
    const each = sum((await cpuOfInvokes(cluster, 16, seconds)).each.map(([, ms]) => ms));
    console.log(`warming up, part ${String(part)}: ${each.toFixed(1)} ms of processor time an invoke`);
    steady = each < least * steadyRatio ? 0 : steady + 1;
    least = Math.min(least, each);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Invokes for a while. @returns their number, and the processor time in milliseconds that each took, by kind. */
async function cpuOfInvokes(
  cluster: MeasuredCluster,
  callers: number,
  seconds: number,
): Promise<{ readonly invokes: number; readonly each: readonly (readonly [kind: string, ms: number])[] }> {
  const before = cpuByKind(cluster);
  const invokes = await invoke(cluster, callers, seconds);
  const after = cpuByKind(cluster);
  return { invokes, each: [...after].map(([kind, ms]) => [kind, (ms - (before.get(kind) ?? 0)) / invokes] as const) };
}

async function measured(cluster: MeasuredCluster, callers: number, seconds: number): Promise<Figure[]> {
  const { invokes, each } = await cpuOfInvokes(cluster, callers, seconds);
  const sumOf = (isOurs: boolean): number =>
    sum(each.filter(([kind]) => ourKinds.has(kind) === isOurs).map(([, ms]) => ms));
  const perSecond = invokes / seconds;
  const isAimed = callers === 16;
  return [
    {
      name: `invoke, ${callers} callers`,
      unit: '/s',
      ours: perSecond,
      ...(isAimed && { aim: atLeast(perSecond, 350, '/s') }),
    },
    {
      name: '  CPU of our processes',
      unit: 'ms',
      ours: sumOf(true),
      ...(isAimed && { aim: atMost(sumOf(true), 2.5, ' ms') }),
    },
    {
      name: '  CPU of the servers',
      unit: 'ms',
      ours: sumOf(false),
      ...(isAimed && { aim: atMost(sumOf(false), 3, ' ms') }),
    },
    ...each.filter(([, ms]) => ms >= 0.01).map(([kind, ms]) => ({ name: `    ${kind}`, unit: 'ms', ours: ms })),
  ];
}

const ourKinds: ReadonlySet<string> = new Set(['gateway', 'execution', 'threads', 'memory']);

/** Processor time so far: of our processes by kind, of others by program. */
function cpuByKind({ replicas }: MeasuredCluster): ReadonlyMap<string, number> {
  const sums = new Map([...cpuMsBelow()].filter(([program]) => !/^(?:node|MainThread)/.test(program)));
  for (const { name, pid } of replicas) {
    const kind = kindIn(name);
    sums.set(kind, (sums.get(kind) ?? 0) + (cpuMs(pid()) ?? Number.NaN));
  }
  return sums;
}

/** @returns how many invokes were answered. */
async function invoke({ ports }: MeasuredCluster, callers: number, seconds: number): Promise<number> {
  let replies = 0;
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      using caller = await openCaller(ports[index % ports.length] as number);
      for (; performance.now() < until; replies++) await caller.send(request);
    }),
  );
  return replies;
}
