import test from 'ava';
import { partsOf } from './value-parts.ts';

test('the parts of a value are all values in it, and long texts and names count for more', (t) => {
  t.is(partsOf(null), 1);
  t.is(partsOf([1, [true, null]]), 5);
  t.is(partsOf('x'.repeat(320)), 11);
  t.is(partsOf({ ['x'.repeat(320)]: 0 }), 12);
  t.is(partsOf(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))), 100_000);
});
