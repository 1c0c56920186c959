import { setTimeout as delay } from 'node:timers/promises';
import { emittedASecond } from './agents.ts';
import { shareWithin } from '../quantiles.ts';
import { atLeast, atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import type { Bench } from './measure.ts';
import { cpuMs } from './process-counters.ts';
import { openReader } from './reader.ts';
import { startService, type Server } from './servers.ts';

const readerCount = 1000;
/** Connections opened in one go: more than the queue of a listening socket holds would have to try again. */
const openedAtOnce = 50;
/** How long it may take until every reader has its first chunk, and how long they then read before it is measured. */
const firstChunkMs = 60_000;
const settleMs = 1000;
/** How long the last chunks that are measured may take to arrive. */
const arrivalMs = 10_000;
const pollMs = 100;
/** Chunks a second: with fewer, the node itself was held up, and the delays are those of less load. */
const leastEmitted = 0.98 * emittedASecond;

/** A thousand readers of the stream of one run: how long a chunk takes from the node's `emit` to each of them. */
export async function readers(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'emitter', profileTo: bench.profileTo });
  const runId = await startRun(service.port);
  const { delays, chunks, cpuPercent } = await follow(service, runId, bench.seconds);
  await sendOne(service.port, toRequest('POST', `/v1/runs/${runId}/cancel`));
  const p50 = shareWithin(delays, 0.5);
  const p99 = shareWithin(delays, 0.99);
  const name = `${readerCount.toLocaleString('en-US')} readers, ${emittedASecond} chunks/s, emit to arrival`;
  const rate = chunks / bench.seconds;
  const received = delays.length / (chunks * readerCount);
  return [
    { name: `${name}, p50`, unit: 'ms', ours: p50, aim: atMost(p50, 8, ' ms') },
    { name: `${name}, p99`, unit: 'ms', ours: p99, aim: atMost(p99, 20, ' ms') },
    { name: '  chunks that arrived', unit: '%', ours: received * 100, aim: atLeast(received * 100, 100, ' %') },
    { name: '  chunks emitted', unit: '/s', ours: rate, aim: atLeast(rate, leastEmitted, ' /s') },
    { name: '  CPU of the service', unit: '% of a core', ours: cpuPercent },
  ];
}

async function startRun(port: number): Promise<string> {
  const start = toRequest('POST', '/v1/runs', { messages: [{ role: 'user', content: 'go' }] });
  const reply = JSON.parse((await sendOne(port, start)).body) as { readonly data: { readonly run_id: string } };
  return reply.data.run_id;
}

interface Followed {
  /** From emission to arrival, of each chunk at each reader, in milliseconds. */
  readonly delays: readonly number[];
  /** Different chunks that arrived anywhere. */
  readonly chunks: number;
  readonly cpuPercent: number | undefined;
}

/** Counts the chunks that are emitted in so many seconds after all readers have settled. */
async function follow({ port, pid }: Server, runId: string, seconds: number): Promise<Followed> {
  const request = toRequest('GET', `/v1/runs/${runId}/stream`);
  const delays: number[] = [];
  const chunks = new Set<number>();
  const reading = new Set<number>();
  let from = Infinity;
  let until = Infinity;
  using open = new DisposableStack();
  for (let opened = 0; opened < readerCount; opened += openedAtOnce) {
    const more = Array.from({ length: openedAtOnce }, (_, index) =>
      openReader(port, request, (emittedAt, arrivedAt) => {
        reading.add(opened + index);
        if (emittedAt < from || emittedAt >= until) return;
        chunks.add(emittedAt);
        delays.push(arrivedAt - emittedAt);
      }),
    );
    for (const reader of await Promise.all(more)) open.use(reader);
  }
  await waitUntil(() => reading.size === readerCount, firstChunkMs);
  if (reading.size < readerCount) throw new Error(`only ${reading.size} readers had a chunk`);
  await delay(settleMs);
  from = performance.timeOrigin + performance.now();
  until = from + seconds * 1000;
  const before = cpuMs(pid);
  await delay(seconds * 1000);
  const after = cpuMs(pid);
  await waitUntil(() => delays.length === chunks.size * readerCount, arrivalMs);
  const cpuPercent = before === undefined || after === undefined ? undefined : (after - before) / (seconds * 10);
  return { delays, chunks: chunks.size, cpuPercent };
}

/** Waits until something holds, but no longer than so many milliseconds. */
async function waitUntil(holds: () => boolean, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  do await delay(pollMs);
  while (!holds() && performance.now() < deadline);
}
