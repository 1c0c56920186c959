import test from 'ava';
import { createClient } from './client.ts';
import { keyOfRound } from './round-key.ts';

test('the key of a later round is that of the caller with its number, while there is room', (t) => {
  t.is(keyOfRound('order-7', 1), 'order-7.1');
  t.is(keyOfRound('x'.repeat(253), 9), `${'x'.repeat(253)}.9`);
});

test('where there is no room, keys and rounds stay apart, within what the service takes', (t) => {
  const long = 'x'.repeat(254);
  const keys = [`${long}a`, `${long}b`, long].flatMap((key) => [1, 2, 10, 24].map((round) => keyOfRound(key, round)));
  t.is(new Set(keys).size, keys.length);
  for (const key of keys) t.regex(key, /^[!-~]{1,255}$/);
  t.true(keyOfRound(`${long}a`, 1) === keys[0], 'the same each time');
});

test('a run with tools goes on under a key of the greatest length', async (t) => {
  const given = 'k'.repeat(255);
  const keys: string[] = [];
  const call = { type: 'remote_tool_call', id: 'c', name: 'look', args: {} };
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key') ?? '');
      const status = keys.length === 1 ? 'interrupted' : 'completed';
      const data = {
        messages: [{ role: 'assistant', content: [call] }],
        all_messages: [],
        meta: { status, thread_id: 't' },
      };
      return Promise.resolve(new Response(JSON.stringify({ data })));
    },
  });
  const tools = [{ name: 'look', description: '', parameters: { type: 'object' }, run: () => 'seen' }];
  const { meta } = await client.invoke({ messages: [] }, { tools, idempotencyKey: given });
  t.is(meta.status, 'completed');
  t.deepEqual(keys, [given, keyOfRound(given, 1)]);
  t.is(keys[1]?.length, 255);
});
