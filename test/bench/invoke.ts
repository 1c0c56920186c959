import { atLeast, atMost, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { cpuPerReply, p50, perSecond, sideBySide, type Bench } from './measure.ts';
import { startService, type Server } from './servers.ts';

const request = toRequest('POST', '/v1/graph/invoke', {
  messages: [{ role: 'user', content: 'hello there' }],
  response_granularity: 'low',
});
const requests = (): Buffer => request;

/** A one-node graph on a new thread each time, every commit on disk. */
export async function invoke(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  const few = await sideBySide(bench, service, requests, perSecond(16));
  const many = await sideBySide(bench, service, requests, perSecond(64));
  const fewCpu = await cpuBeside(bench, service, 16);
  const manyCpu = await cpuBeside(bench, service, 64);
  const one = await sideBySide(bench, service, requests, p50);
  const manyMs = manyCpu.ours;
  return [
    { name: 'invoke, new thread, 16 callers', unit: '/s', ...few, aim: atLeast(few.ratio, 0.2, ' × Koa') },
    { name: '  as an absolute figure', unit: '/s', ours: few.ours, aim: atLeast(few.ours, 6000, ' /s') },
    { name: 'invoke, new thread, 64 callers', unit: '/s', ...many },
    { name: 'invoke, CPU, 16 callers', unit: 'ms', ...fewCpu },
    {
      name: 'invoke, CPU, 64 callers',
      unit: 'ms',
      ...manyCpu,
      ...(manyMs !== undefined && { aim: atMost(manyMs, 0.14, ' ms') }),
    },
    { name: 'invoke, new thread, 1 caller, p50', unit: 'ms', ...one, aim: atMost(one.ratio, 4, ' × Koa') },
  ];
}

/** Processor time of one reply, in milliseconds: ours, then bare Koa's, which still answers the bytes of the measurement before. */
async function cpuBeside(
  { bare, seconds }: Bench,
  service: Server,
  callers: number,
): Promise<Pick<Figure, 'ours' | 'bare' | 'ratio'>> {
  const ours = await cpuPerReply(service, requests, callers, seconds);
  const theirs = await cpuPerReply(bare, requests, callers, seconds);
  return ours === undefined || theirs === undefined ? { ours } : { ours, bare: theirs, ratio: ours / theirs };
}
