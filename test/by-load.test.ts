import test from 'ava';
import { byLoad, slowness } from './by-load.ts';

test('a bound is as it stands while there is a processor for everyone, and grows with those who wait for one', (t) => {
  t.is(slowness(0, 2), 1);
  t.is(slowness(2, 2), 1);
  t.is(slowness(9, 2), 4.5);
  t.is(slowness(1000, 2), 20);
  t.true(byLoad(1000) >= 1000);
});
