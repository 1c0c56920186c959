import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { walk } from '@agent-workflow/graph/testing';
import { createAgent } from '../agents/flaky-api.ts';

test('an API that books and then fails twice is called three times and books once', async (t) => {
  const keys: string[] = [];
  const bookings = new Map<string, number>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    keys.push(key);
    bookings.set(key, bookings.get(key) ?? 100 + bookings.size);
    response.writeHead(keys.length < 3 ? 503 : 200).end(String(bookings.get(key)));
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const { port } = server.address() as AddressInfo;
  const { state } = await walk(createAgent(`http://127.0.0.1:${port}/`));
  assert.equal(keys.length, 3);
  assert.equal(bookings.size, 1);
  assert.deepEqual(state.context.map(textOf), ['Booked as 100.']);
});
