import test from 'ava';
import { createClient } from './client.ts';
import { RequestError } from './errors.ts';

test('a reply that is cut is asked for again, under the same idempotency key', async (t) => {
  const keys: (string | null)[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return Promise.resolve(new Response(keys.length === 1 ? '{"data":{"memo' : '{"data":{"memory_id":"m"}}'));
    },
  });
  const stored = await client.memories.store({ content: 'tea', memory_type: 'semantic', category: 'drinks' });
  t.is(stored.memory_id, 'm');
  t.is(keys.length, 2);
  t.truthy(keys[0]);
  t.is(keys[0], keys[1]);
});

test('a pause of more than a minute is left to the caller', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('{}', { status: 429, headers: { 'retry-after': '3600' } }));
    },
  });
  const error = await t.throwsAsync(client.threads.get('t'), { instanceOf: RequestError });
  t.is(error.retryAfterMs, 3_600_000);
  t.is(requests, 1);
});
