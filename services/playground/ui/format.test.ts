import test from 'ava';
import { counted, duration, percent, sizeText, times } from './format.ts';

test('a duration is written in the units that fit it', (t) => {
  const written = [-5, 0, 999, 1000, 59_900, 60_000, 3_599_000, 3_600_000, 47 * 3_600_000, 72 * 3_600_000].map(
    duration,
  );
  const units = ['0 ms', '0 ms', '999 ms', '1.0 s', '59.9 s', '1 min 0 s', '59 min 59 s', '1 h 0 min'];
  t.deepEqual(written, [...units, '47 h 0 min', '3 days']);
});

test('one is not many', (t) => {
  t.deepEqual(
    [0, 1, 1200].map((count) => counted(count, 'step')),
    ['0 steps', '1 step', '1,200 steps'],
  );
  t.deepEqual(
    [1, 2].map((count) => counted(count, 'memory', 'memories')),
    ['1 memory', '2 memories'],
  );
  t.deepEqual([1, 2].map(times), ['once', '2 times']);
});

test('a part that is there is never none', (t) => {
  t.is(percent(0), '0.0 %');
  t.is(percent(1 / 5167), '< 0.1 %');
  t.is(percent(0.0312), '3.1 %');
  t.is(percent(0.5), '50 %');
});

test('sizes are said in the unit that fits', (t) => {
  t.deepEqual([0, 999, 1000, 1_234_567, 25_000_000, 3e12].map(sizeText), [
    ...['0 B', '999 B', '1.0 kB', '1.2 MB', '25 MB', '3000 GB'],
  ]);
});
