import test from 'ava';
import { createStreamRests } from './refusal-pace.ts';

test('streams of a pool rest the longer the more of its calls were refused, on all of them together', (t) => {
  let now = 5000;
  const restOf = createStreamRests(() => now);
  t.is(restOf('billing', 1), 100);
  t.is(restOf('billing', 2000), 500);
  t.is(restOf('billing', 2000), 900);
  t.is(restOf('support', 10), 100);
  now += 800;
  t.is(Math.floor(restOf('billing', 1)), 100);
  for (let stream = 0; stream < 100; stream++) restOf('billing', 2000);
  t.is(restOf('billing', 1), 10_000);
  now += 60_000;
  t.is(restOf('billing', 1), 100);
});
