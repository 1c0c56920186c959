import { atLeast, atMost, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { p50, perSecond, sideBySide, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});

/** A one-node graph on a new thread each time, every commit on disk. */
export async function invoke(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  const many = await sideBySide(bench, service, () => request, perSecond(16));
  const one = await sideBySide(bench, service, () => request, p50);
  return [
    { name: 'invoke, new thread, 16 callers', unit: '/s', ...many, aim: atLeast(many.ratio, 0.2, ' × Koa') },
    { name: 'invoke, new thread, 1 caller, p50', unit: 'ms', ...one, aim: atMost(one.ratio, 4, ' × Koa') },
  ];
}
