import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { user } from '../servers/client.ts';
import { replyText, serve } from './service.ts';

const service = serve(test, 'fan-out');
const branches = 300;

test('a run fans out to as many branches as its input says, and joins what they return in order', async (t) => {
  const seen = new Set<string>();
  const server = createServer(({ url = '' }, response) => {
    // The first request of every tenth is refused: its branch is tried again.
    const isRefused = url.endsWith('0') && !seen.has(url);
    seen.add(url);
    response.writeHead(isRefused ? 503 : 200).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const effects = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const { status, body } = await service.send('POST', '/v1/graph/invoke', {
    ...{ messages: [user(String(branches))], response_granularity: 'partial' },
    config: { thread_id: 'wide', effects },
  });
  t.is(status, 200, JSON.stringify(body));
  const result: {
    readonly messages: readonly { readonly content: readonly { readonly text?: string }[] }[];
    readonly state: { readonly done: readonly number[] };
    readonly iterations: number;
  } = body.data;
  t.deepEqual(
    result.state.done,
    Array.from({ length: branches }, (_, item) => item),
  );
  t.deepEqual(result.messages.map(replyText), [`joined ${String(branches)}`]);
  t.is(result.iterations, 1);
});
