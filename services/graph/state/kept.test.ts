import test from 'ava';
import { createKept } from './kept.ts';

const [a, b, c] = [{}, {}, {}];

test('of too many values the one that was used longest ago is dropped', (t) => {
  const kept = createKept<object, string>({ count: 2, bytes: 100 });
  kept.set(a, 'a', 1);
  kept.set(b, 'b', 1);
  t.is(kept.get(a), 'a');
  kept.set(c, 'c', 1);
  t.deepEqual([a, b, c].map(kept.get), ['a', undefined, 'c']);
});

test('values are kept up to a number of bytes, and a larger one alone', (t) => {
  const kept = createKept<object, string>({ count: 10, bytes: 100 });
  kept.set(a, 'a', 40);
  kept.set(b, 'b', 60);
  t.deepEqual([a, b].map(kept.get), ['a', 'b']);
  kept.set(a, 'more', 41);
  t.deepEqual([a, b].map(kept.get), ['more', undefined]);
  kept.set(c, 'c', 1000);
  t.deepEqual([a, b, c].map(kept.get), [undefined, undefined, 'c']);
  kept.set(b, 'b', 100);
  t.deepEqual([a, b, c].map(kept.get), [undefined, 'b', undefined]);
});
