import { atLeast, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { perSecond, sideBySide, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const request = toRequest('GET', '/v1/ping');

/** What the edge costs on its own. */
export async function ping(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  const both = await sideBySide(bench, service, () => request, perSecond(16));
  return [{ name: 'ping, 16 callers', unit: '/s', ...both, aim: atLeast(both.ratio, 0.7, ' × Koa') }];
}
