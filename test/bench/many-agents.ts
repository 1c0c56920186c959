import { setTimeout as delay } from 'node:timers/promises';
import { atMost, median, type Figure } from './figure.ts';
import { openCaller, sendOne, toRequest } from './load.ts';
import type { Bench } from './measure.ts';
import { cpuMs, residentMiB } from './process-counters.ts';
import { seededThread, seedFolder } from './seed-threads.ts';
import { makeFolder, removeFolder, startService, type Server } from './servers.ts';

/** The most that the service registers. */
const most = 100;
const names = Array.from({ length: most }, (_, index) => `agent-${String(index).padStart(2, '0')}`);
const [first = ''] = names;

const rounds = 10;
const settleMs = 5000;
const idleMs = 10_000;

interface Operation {
  readonly name: string;
  /** The request of a call by its number: no two runs go to one thread. */
  readonly request: (index: number, of: { readonly agents: readonly string[]; readonly threads: number }) => Buffer;
}

const pathTo = (path: string) => (): Buffer => toRequest('GET', path);
const messages = [{ role: 'user', content: 'hello there' }];
const nameOf = (agents: readonly string[], index: number): string => agents[index % agents.length] ?? first;

/** What is compared. Runs are started for each agent in turn. */
const operations: readonly Operation[] = [
  { name: 'list of 100 threads', request: pathTo('/v1/threads?limit=100') },
  { name: 'list of 100 runs', request: pathTo('/v1/runs?limit=100') },
  { name: 'list of 100 runs of one agent', request: pathTo(`/v1/runs?agent=${first}&limit=100`) },
  { name: 'one agent', request: pathTo(`/v1/agents/${first}`) },
  {
    name: 'accept a run',
    request: (index, { agents }) =>
      toRequest('POST', '/v1/runs', { messages, config: { agent: nameOf(agents, index) } }),
  },
  {
    name: 'invoke, new thread',
    request: (index, { agents }) =>
      toRequest('POST', '/v1/graph/invoke', {
        ...{ messages, response_granularity: 'low' },
        config: { agent: nameOf(agents, index) },
      }),
  },
  {
    name: 'invoke, thread of its agent',
    request: (index, { threads }) =>
      toRequest('POST', '/v1/graph/invoke', {
        ...{ messages, response_granularity: 'low' },
        config: { thread_id: seededThread(index % threads) },
      }),
  },
];

interface Side extends AsyncDisposable {
  readonly agents: readonly string[];
  readonly threads: number;
  readonly port: number;
  /** Processor time of what serves it, in milliseconds. */
  readonly cpu: () => number;
}

/** A hundred agents that share the threads, beside one that has as many: what a request costs, and what idle agents hold. */
export async function manyAgents({ seconds, runs: threads, profileTo }: Bench): Promise<Figure[]> {
  await using many = await openSide(names, threads, profileTo);
  await using one = await openSide([first], threads, undefined);
  const idle = await compareIdle(many.service, one.service);
  return [...(await compare(many, one, seconds)), ...idle];
}

async function openSide(
  agents: readonly string[],
  threads: number,
  profileTo: string | undefined,
): Promise<Side & { readonly service: Server }> {
  await using opened = new AsyncDisposableStack();
  const folder = makeFolder();
  opened.defer(() => removeFolder(folder));
  await seedFolder(folder, { threads, agents });
  const service = opened.use(await startService({ agents, keptIn: folder, profileTo }));
  await sendOne(service.port, toRequest('GET', '/v1/ping'));
  const everything = opened.move();
  return {
    ...{ agents, threads, service, port: service.port },
    cpu: () => cpuMs(service.pid) ?? Number.NaN,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Each operation on both sides in turns, the first of them changing from round to round. */
async function compare(many: Side, one: Side, seconds: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const operation of operations) {
    for (const side of [many, one]) await measure(side, operation, seconds / 2);
    const measured: (readonly [Sample, Sample])[] = [];
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? [many, one] : [one, many];
      const samples = new Map<Side, Sample>();
      for (const side of order) samples.set(side, await measure(side, operation, seconds / rounds));
      measured.push([samples.get(many) as Sample, samples.get(one) as Sample]);
    }
    figures.push(...toFigures(operation.name, measured));
  }
  return figures;
}

interface Sample {
  readonly ms: number;
  readonly cpu: number;
  readonly replies: number;
}

let sent = 0;

/** One caller, one request after the other, for so long. */
async function measure(side: Side, { request }: Operation, seconds: number): Promise<Sample> {
  const times: number[] = [];
  using caller = await openCaller(side.port);
  const before = side.cpu();
  const until = performance.now() + seconds * 1000;
  do times.push((await caller.send(request(sent++, side))).ms);
  while (performance.now() < until);
  return { ms: median(times), cpu: side.cpu() - before, replies: times.length };
}

function toFigures(name: string, measured: readonly (readonly [Sample, Sample])[]): Figure[] {
  const time = median(measured.map(([many, one]) => many.ms / one.ms));
  const cpu = cpuEach(measured.map(([many]) => many)) / cpuEach(measured.map(([, one]) => one));
  return [
    {
      ...{ name: `${name}, ${most} agents, p50`, unit: 'ms', ours: median(measured.map(([many]) => many.ms)) },
      rounds: measured.map(([many, one]) => [many.ms, one.ms]),
    },
    { name: '  ÷ one agent', unit: '×', ours: time, aim: atMost(time, 1.1, ' ×') },
    { name: '  processor time ÷ one agent', unit: '×', ours: cpu, aim: atMost(cpu, 1.1, ' ×') },
  ];
}

/** Processor time is counted in hundredths of a second, so that of all rounds is taken together. */
const cpuEach = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { cpu }) => sum + cpu, 0) / samples.reduce((sum, { replies }) => sum + replies, 0);

/** What the process holds and does while nobody calls it. */
async function compareIdle(many: Server, one: Server): Promise<Figure[]> {
  await delay(settleMs);
  const before = [many, one].map(({ pid }) => cpuMs(pid) ?? Number.NaN);
  await delay(idleMs);
  const [manyPercent, onePercent] = [many, one].map(
    ({ pid }, index) => (((cpuMs(pid) ?? Number.NaN) - (before[index] ?? Number.NaN)) * 100) / idleMs,
  );
  const [manyMiB = Number.NaN, oneMiB = Number.NaN] = [many, one].map(({ pid }) => residentMiB(pid));
  const perAgent = ((manyMiB - oneMiB) * 1024) / (most - 1);
  return [
    { name: `resident memory, ${most} agents`, unit: 'MiB', ours: manyMiB },
    { name: '  one agent', unit: 'MiB', ours: oneMiB },
    { name: '  each agent that nobody calls', unit: 'KiB', ours: perAgent },
    { name: `processor time idle, ${most} agents`, unit: '% of a core', ours: manyPercent },
    { name: '  one agent', unit: '% of a core', ours: onePercent },
  ];
}
