import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { shareWithin } from '../quantiles.ts';
import { atLeast, atMost, median, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { prepare, type Bench } from './measure.ts';
import { runOpenLoop } from './open-loop.ts';
import { cpuMs } from './process-counters.ts';
import { startService, type Server } from './servers.ts';

const callers = 32;
/** Runs that end a second: 10,000 a minute. */
const rate = 167;
const rounds = 8;
const leastSeconds = 6;
/** What ends is sent by a sweep each second: the first seconds of a round send what ended in the round before. */
const settlingSeconds = 2;
/** Runs before the first round: until then functions are compiled. */
const runsBefore = 2000;
/** How much longer a run may take that a webhook waits for. */
const mostSlower = 1.05;

const run = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});

/** What one round shows of a service: times in milliseconds. */
interface Round {
  readonly p50: number;
  readonly mean: number;
  readonly p95: number;
  readonly p99: number;
  /** Processor time of a run. */
  readonly cpu: number;
}

const parts: readonly { readonly name: string; readonly of: keyof Round; readonly isBound: boolean }[] = [
  { name: 'p50', of: 'p50', isBound: true },
  { name: 'mean', of: 'mean', isBound: true },
  { name: 'p95', of: 'p95', isBound: true },
  { name: 'p99', of: 'p99', isBound: false },
  { name: 'processor time', of: 'cpu', isBound: false },
];

/**
 * Runs at the rate of the promise, in turns on a service whose owner has a webhook and on one whose owner has none: how much longer a run
 * takes, and whether deliveries keep up. Each ratio is the median of those of the rounds.
 */
export async function webhooks({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using receiver = await openCounter();
  await using plain = await startService({ agent: 'echo' });
  await using hooked = await startService({ agent: 'echo', profileTo, env: { WEBHOOK_NETWORKS: '127.0.0.1' } });
  await sendOne(hooked.port, toRequest('POST', '/v1/webhooks', { url: receiver.url }));
  for (const { port } of [plain, hooked]) await prepare(port, () => run, runsBefore);
  const measured: { readonly with: Round; readonly without: Round }[] = [];
  const sent: number[] = [];
  const measureHooked = async (): Promise<Round> => {
    const counting = perSecond(receiver.count, Math.max(seconds, leastSeconds));
    const found = await measure(hooked, seconds);
    sent.push(await counting);
    return found;
  };
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? await measureHooked() : undefined;
    const without = await measure(plain, seconds);
    measured.push({ with: first ?? (await measureHooked()), without });
  }
  const figures = parts.map(({ name, of, isBound }): Figure => {
    const pairs = measured.map((each) => [each.with[of], each.without[of]] as const);
    const ratio = median(pairs.map(([ours, other]) => ours / other));
    const aim = isBound ? { aim: atMost(ratio, mostSlower, ' ×') } : {};
    const ours = median(pairs.map(([one]) => one));
    return {
      name: `run with a webhook at ${String(rate)}/s, ${name}; ÷ without`,
      unit: 'ms',
      ours,
      ratio,
      rounds: pairs,
      ...aim,
    };
  });
  const sentPerSecond = median(sent);
  const sending = { name: 'ends sent to the webhook', unit: '/s', ours: sentPerSecond };
  return [...figures, { ...sending, aim: atLeast(sentPerSecond, 0.98 * rate, '/s') }];
}

async function measure({ port, pid }: Server, seconds: number): Promise<Round> {
  const times: number[] = [];
  const before = cpuMs(pid) ?? NaN;
  await runOpenLoop({
    ...{ port, callers, rate, seconds: Math.max(seconds, leastSeconds) },
    work: (caller) => caller.send(run),
    onDone: ({ ms, error }) => {
      if (error !== undefined) throw new Error(error);
      times.push(ms);
    },
  });
  return {
    p50: median(times),
    mean: times.reduce((sum, ms) => sum + ms, 0) / times.length,
    p95: shareWithin(times, 0.95),
    p99: shareWithin(times, 0.99),
    cpu: ((cpuMs(pid) ?? NaN) - before) / times.length,
  };
}

/** How much a count grows a second, once the first seconds of a round are over. */
async function perSecond(count: () => number, seconds: number): Promise<number> {
  await delay(settlingSeconds * 1000);
  const [before, began] = [count(), performance.now()];
  await delay((seconds - settlingSeconds) * 1000);
  return ((count() - before) * 1000) / (performance.now() - began);
}

interface Counter extends AsyncDisposable {
  readonly url: string;
  readonly count: () => number;
}

/** A receiver that takes all that is sent to it. */
async function openCounter(): Promise<Counter> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      count += 1;
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`,
    count: () => count,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
