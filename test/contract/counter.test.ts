import test from 'ava';
import { openMemoryCounter } from '@agent-workflow/gateway/limits/adapters/memory';
import { counterContract } from './counter.ts';

counterContract(test, 'in memory', async () => {
  let time = 1_000_000;
  return {
    counter: openMemoryCounter({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

test('in memory: keys beyond the bound are forgotten, the longest unasked first', async (t) => {
  await using counter = openMemoryCounter({ maxKeys: 3, now: () => 0 });
  const rate = { limit: 1, windowMs: 1000 };
  for (const key of ['a', 'b', 'c']) await counter.take(key, rate);
  await counter.take('a', rate);
  await counter.take('d', rate);
  t.true((await counter.take('b', rate, 0)).allowed);
  for (const key of ['a', 'c', 'd']) t.false((await counter.take(key, rate, 0)).allowed, key);
});

test('in memory: exactly the limit is let through at once, whatever limit and moment', async (t) => {
  for (const limit of [1, 3, 7, 999, 6000, 100_000]) {
    for (const time of [0, 0.1, 86_400_000.7]) {
      await using counter = openMemoryCounter({ now: () => time });
      let given = 0;
      while ((await counter.take('a', { limit, windowMs: 60_000 })).allowed) given++;
      t.is(given, limit);
    }
  }
});
