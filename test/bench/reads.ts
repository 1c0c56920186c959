import { atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { p50, prepare, sideBySide, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const bodyOf = (threadId: string): Buffer =>
  toRequest('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'a message of a usual length, as people write them' }],
    config: { thread_id: threadId, thread_name: `Thread ${threadId}` },
    response_granularity: 'low',
  });

/** Reading a thread of 200 messages, and a page of many threads. */
export async function reads(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  await prepare(service.port, () => bodyOf('long'), 100, 1);
  await prepare(service.port, (index) => bodyOf(`thread-${String(index)}`), 999);
  const stateRequest = toRequest('GET', '/v1/threads/long/state');
  const listRequest = toRequest('GET', '/v1/threads?limit=100');
  await checkReads(service.port, stateRequest, listRequest);
  const state = await sideBySide(bench, service, () => stateRequest, p50);
  const list = await sideBySide(bench, service, () => listRequest, p50);
  return [
    { name: 'state of a 200-message thread, p50', unit: 'ms', ...state, aim: atMost(state.ours, 0.5, ' ms') },
    { name: 'list 100 of 1,000 threads, p50', unit: 'ms', ...list, aim: atMost(list.ours, 0.5, ' ms') },
  ];
}

async function checkReads(port: number, stateRequest: Buffer, listRequest: Buffer): Promise<void> {
  const state = JSON.parse((await sendOne(port, stateRequest)).body) as { data: { state: { context: unknown[] } } };
  const list = JSON.parse((await sendOne(port, listRequest)).body) as { data: { threads: unknown[] } };
  const { length: messages } = state.data.state.context;
  const { length: threads } = list.data.threads;
  if (messages !== 200 || threads !== 100) throw new Error(`read ${messages} messages and ${threads} threads`);
}
