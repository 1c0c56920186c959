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

test('runs of no status in particular are runs of any', async (t) => {
  const asked: string[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (address) => {
      asked.push((address as URL).href);
      return Promise.resolve(new Response('{"data":{"runs":[],"has_more":false}}'));
    },
  });
  await client.runs.list({ status: [] });
  await client.runs.list({ status: ['queued', 'running'] });
  t.deepEqual(asked, ['http://service.test/v1/runs', 'http://service.test/v1/runs?status=queued%2Crunning']);
});

test('a file is read from a whole position on, and nothing is asked for another', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('there'));
    },
  });
  for (const start of [-1, 1.5, NaN, Infinity, 2 ** 53])
    await t.throwsAsync(client.files.get('f', { start }), {
      instanceOf: RangeError,
      message: /^start must be a whole/,
    });
  t.is(requests, 0);
  t.is(await (await client.files.get('f', { start: 6 })).text(), 'there');
});
