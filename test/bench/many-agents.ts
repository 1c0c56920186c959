import { setTimeout as delay } from 'node:timers/promises';
import { compare, first, most, names, type Side } from './agent-sides.ts';
import type { Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import type { Bench } from './measure.ts';
import { cpuMs, residentMiB } from './process-counters.ts';
import { seededThread, seedFolder } from './seed-threads.ts';
import { makeFolder, removeFolder, startService, type Server } from './servers.ts';

const settleMs = 5000;
const idleMs = 10_000;

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
    ...{ agents, service, port: service.port, threadOf: (index) => seededThread(index % threads) },
    cpu: () => cpuMs(service.pid) ?? Number.NaN,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

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
