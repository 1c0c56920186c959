import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { lastText, walk, walkWithCrashes } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/flaky-api.ts';

/** An API that books by key. Of the first requests, `failures` get an error after they have booked. */
async function openApi(t: TestContext, failures: number) {
  const keys: string[] = [];
  const bookings = new Map<string, number>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    keys.push(key);
    bookings.set(key, bookings.get(key) ?? 100 + bookings.size);
    response.writeHead(keys.length > failures ? 200 : 503).end(String(bookings.get(key)));
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, keys, bookings };
}

test('an API that books and then fails twice is called three times and books once', async (t) => {
  const { url, keys, bookings } = await openApi(t, 2);
  const walked = await walk(createAgent(url));
  assert.deepEqual([keys.length, bookings.size], [3, 1]);
  assert.equal(lastText(walked), 'Booked as 100.');
});

test('a crash after the booking books nothing twice', async (t) => {
  const { url, bookings } = await openApi(t, 0);
  const { crashes, differences } = await walkWithCrashes(createAgent(url));
  assert.deepEqual([crashes, differences], [1, []]);
  assert.equal(bookings.size, 1);
});
