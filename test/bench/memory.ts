import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { p50, prepare, type Bench } from './measure.ts';
import { residentMiB } from './process-counters.ts';
import { makeFolder, removeFolder, startService } from './servers.ts';

const parts = 5;
/** Longer than the process waits before it gives memory back. */
const idleMs = 30_000;
const boundMiB = 256;

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});
const list = toRequest('GET', '/v1/threads?limit=100');

/** What the process holds after many runs, each on a thread of its own, and after it was idle; then its next start. */
export async function memory({ seconds, runs }: Bench): Promise<Figure[]> {
  const folder = makeFolder();
  try {
    const held = await holdRuns(folder, runs);
    const begin = performance.now();
    await using service = await startService({ agent: 'echo', keptIn: folder });
    await sendOne(service.port, toRequest('GET', '/v1/ping'));
    const startSeconds = (performance.now() - begin) / 1000;
    const listMs = await p50(service.port, () => list, seconds);
    return [
      ...held,
      { name: '  their start', unit: 's', ours: startSeconds, aim: atMost(startSeconds, 0.5, ' s') },
      { name: '  list 100 right after it, p50', unit: 'ms', ours: listMs, aim: atMost(listMs, 0.5, ' ms') },
    ];
  } finally {
    removeFolder(folder);
  }
}

async function holdRuns(keptIn: string, runs: number): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', keptIn });
  const resident = (): number => residentMiB(service.pid) ?? Number.NaN;
  const figures: Figure[] = [];
  for (let part = 1; part <= parts; part++) {
    await prepare(service.port, () => request, runs / parts);
    const name = `resident memory after ${((runs * part) / parts).toLocaleString('en-US')} runs`;
    const ours = resident();
    figures.push({ name, unit: 'MiB', ours, ...(part === parts && { aim: atMost(ours, boundMiB, ' MiB') }) });
  }
  await delay(idleMs);
  return [...figures, { name: `  idle for ${String(idleMs / 1000)} s`, unit: 'MiB', ours: resident() }];
}
