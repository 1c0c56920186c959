import { openMeasuredCluster } from './cluster.ts';
import { waitMs, waits } from './agents.ts';
import { atLeast, type Figure } from './figure.ts';
import { openCaller, toRequest } from './load.ts';

const workers = [1, 2, 4];
const placesPerWorker = 4;
const tries = 3;
/** How many times as long as a try the load runs before the first. */
const warmingFor = 3;

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'wait' }],
  response_granularity: 'low',
});

/** Runs a second with 1, 2 and 4 workers of four places each, on a graph that waits: the best of three, because nothing but other work makes one worse. */
export async function scaling(seconds: number): Promise<Figure[]> {
  const rates: number[] = [];
  for (const count of workers) rates.push(await rateWith(count, seconds));
  return rates.map((rate, index) => {
    const before = rates[index - 1];
    const bound = ((workers[index] ?? 0) * placesPerWorker * 1000) / (waits * waitMs);
    const growth = before === undefined ? Number.NaN : rate / before;
    return {
      name: `runs that wait, ${workers[index]} workers of ${placesPerWorker} places (at most ${bound.toFixed(1)})`,
      unit: '/s',
      ours: rate,
      ...(before === undefined ? {} : { ratio: growth, aim: atLeast(growth, 1.8, ' × half as many') }),
    };
  });
}

async function rateWith(count: number, seconds: number): Promise<number> {
  await using cluster = await openMeasuredCluster({
    agent: 'waiting',
    executions: count,
    env: { RUN_CONCURRENCY: String(placesPerWorker) },
  });
  // Processes and servers that have just been started compile what they do most, on the same cores.
  await rateOf(cluster.ports, count * placesPerWorker * 2, warmingFor * seconds);
  let best = 0;
  for (let attempt = 0; attempt < tries; attempt++)
    best = Math.max(best, await rateOf(cluster.ports, count * placesPerWorker * 2, seconds));
  return best;
}

/** Replies a second with so many callers, once all have had one: twice as many as there are places, so that some runs wait. */
async function rateOf(ports: readonly number[], callers: number, seconds: number): Promise<number> {
  let replies = 0;
  let begun = Number.POSITIVE_INFINITY;
  let until = Number.POSITIVE_INFINITY;
  let warm = 0;
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      using caller = await openCaller(ports[index % ports.length] as number);
      await caller.send(request);
      if (++warm === callers) {
        begun = performance.now();
        until = begun + seconds * 1000;
      }
      while (performance.now() < until) {
        await caller.send(request);
        if (performance.now() >= begun && performance.now() < until) replies++;
      }
    }),
  );
  return replies / seconds;
}
