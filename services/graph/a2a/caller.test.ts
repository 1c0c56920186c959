import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { createCaller } from './caller.ts';

const { signal } = new AbortController();

/** An agent whose card names the address that it is given, and what it was sent. */
async function openAgent(): Promise<{
  readonly server: Server;
  readonly url: string;
  readonly got: IncomingHttpHeaders[];
}> {
  const got: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    got.push(request.headers);
    const named = new URL(request.url ?? '', 'http://agent').searchParams.get('at') ?? '';
    const card = {
      name: 'other',
      supportedInterfaces: [{ url: named, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.method === 'GET' ? card : { jsonrpc: '2.0', id: 1, result: {} }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, got, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}

test('headers are sent to the agent that they are given for, and not where its card leads elsewhere', async (t) => {
  const [agent, elsewhere] = await Promise.all([openAgent(), openAgent()]);
  t.teardown(() => [agent, elsewhere].forEach(({ server }) => server.close()));
  const headers = { authorization: 'Bearer of the agent' };
  const callAt = async (at: string): Promise<void> => {
    const url = `${agent.url}/card.json?at=${encodeURIComponent(at)}&.json`;
    await createCaller({ url, headers }).call('GetTask', { id: 'x' }, signal);
  };
  await callAt(`${agent.url}/rpc`);
  t.deepEqual(
    agent.got.map(({ authorization }) => authorization),
    ['Bearer of the agent', 'Bearer of the agent'],
  );
  await callAt(`${elsewhere.url}/rpc`);
  t.is(agent.got.length, 3);
  t.deepEqual(
    elsewhere.got.map(({ authorization }) => authorization),
    [undefined],
  );
});
