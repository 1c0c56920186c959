import test from 'ava';
import { parseIds, sizeText, withId } from './kept-ids.ts';

test('what is kept of files is a list of ids, whatever stands there', (t) => {
  t.deepEqual(parseIds('["a", 7, "b"]'), ['a', 'b']);
  for (const text of [null, '', '{', '7', '{"a": 1}']) t.deepEqual(parseIds(text), []);
  t.is(parseIds(JSON.stringify(Array.from({ length: 500 }, String))).length, 200);
});

test('a file that is opened again comes first, once', (t) => {
  t.deepEqual(withId(['a', 'b'], 'b'), ['b', 'a']);
  t.deepEqual(withId([], 'a'), ['a']);
});

test('sizes are said in the unit that fits', (t) => {
  t.deepEqual([0, 999, 1000, 1_234_567, 25_000_000, 3e12].map(sizeText), [
    ...['0 B', '999 B', '1.0 kB', '1.2 MB', '25 MB', '3000 GB'],
  ]);
});
