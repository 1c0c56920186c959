import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { createSturdyClient } from './clients.ts';

const bounds = { lateMs: 50, lostMs: 400 };

async function serve(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const begin = '{"meta":{"request_id":"r"},"data":{}}';

test('a reply that comes late is a reply, and named as late', async (t) => {
  const begun = performance.now();
  const url = await serve(t, (_, response) => {
    response.statusCode = performance.now() - begun > 3 * byLoad(bounds.lateMs) ? 200 : 503;
    response.end(begin);
  });
  const client = createSturdyClient([url], true, bounds);
  t.is((await client.send('GET', '/v1/runs/a')).status, 200);
  t.regex(client.late.join('\n'), /^GET \/v1\/runs\/a took \d+ s$/);
  t.is((await client.send('GET', '/v1/runs/b')).status, 200);
  t.is(client.late.length, 1, 'one that comes in time is not');
});

test('what does not come at all is lost: the caller gets the refusal', async (t) => {
  const url = await serve(t, (_, response) => {
    response.statusCode = 503;
    response.end(begin);
  });
  t.is((await createSturdyClient([url], true, bounds).send('GET', '/v1/runs/a')).status, 503);
});

test('a stream that says nothing for long is resumed after its last event, and the run is late', async (t) => {
  const url = await serve(t, (request, response) => {
    response.setHeader('content-type', 'text/event-stream');
    if (request.headers['last-event-id'] === 'r:1') response.end('event: on_chain_end\nid: r:2\ndata: {}\n\n');
    else response.write('event: on_chain_stream\nid: r:1\ndata: {}\n\n');
  });
  const client = createSturdyClient([url], true, bounds);
  const { text, cuts } = await client.follow('r');
  t.deepEqual(
    [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id),
    ['r:1', 'r:2'],
  );
  t.is(cuts, 1);
  t.regex(client.late.join('\n'), /^following run r took \d+ s$/);
});
