import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { prepare } from './measure.ts';
import { cpuMs, residentMiB } from './process-counters.ts';
import { makeFolder, removeFolder, startService } from './servers.ts';

const runs = 10_000;
const startMs = 120_000;
/** Longer than until an idle process has collected its heap. */
const settleMs = 30_000;
const idleMs = 20_000;

/** What an idle process holds and uses beside many sleeping runs, and without any: each freshly started. */
export async function sleep(): Promise<Figure[]> {
  const folder = makeFolder();
  try {
    const without = await measure(folder);
    await putToSleep(folder);
    const beside = await measure(folder);
    const memory = beside.mebibytes / without.mebibytes;
    return [
      { name: 'resident memory, no run', unit: 'MiB', ours: without.mebibytes },
      {
        name: `resident memory, ${String(runs)} asleep`,
        unit: 'MiB',
        ours: beside.mebibytes,
        aim: atMost(memory, 1.2, ' ×'),
      },
      { name: 'processor time, no run', unit: '% of a core', ours: without.percent },
      {
        name: `processor time, ${String(runs)} asleep`,
        unit: '% of a core',
        ours: beside.percent,
        aim: atMost(beside.percent, 0.5, ' %'),
      },
    ];
  } finally {
    removeFolder(folder);
  }
}

async function putToSleep(keptIn: string): Promise<void> {
  await using server = await startService({ agent: 'sleeper', keptIn });
  const { port } = server;
  const body = { messages: [{ role: 'user', content: 'sleep' }] };
  const start = toRequest('POST', '/v1/runs', body);
  await prepare(port, () => start, runs - 1);
  // Runs begin in the order in which they were accepted: the last one is the last that falls asleep.
  const last = JSON.parse((await sendOne(port, start)).body) as { readonly data: { readonly run_id: string } };
  const read = toRequest('GET', `/v1/runs/${last.data.run_id}`);
  const deadline = Date.now() + startMs;
  while (!(await sendOne(port, read)).body.includes('"sleeping"')) {
    if (Date.now() > deadline) throw new Error('not all runs fell asleep');
    await delay(250);
  }
}

async function measure(keptIn: string): Promise<{ readonly mebibytes: number; readonly percent: number }> {
  await using server = await startService({ agent: 'sleeper', keptIn });
  await sendOne(server.port, toRequest('GET', '/v1/ping'));
  await delay(settleMs);
  const before = cpuMs(server.pid) ?? Number.NaN;
  await delay(idleMs);
  const percent = (((cpuMs(server.pid) ?? Number.NaN) - before) * 100) / idleMs;
  return { mebibytes: residentMiB(server.pid) ?? Number.NaN, percent };
}
