import test from 'ava';
import { createFirstOfKind } from './first-of-kind.ts';

test('each kind is the first once in the time of silence, which repeats do not lengthen', (t) => {
  let ms = 0;
  const isFirst = createFirstOfKind({ silentMs: 100, max: 10, now: () => ms });
  t.deepEqual([isFirst('a'), isFirst('a'), isFirst('b')], [true, false, true]);
  ms = 99;
  t.false(isFirst('a'));
  ms = 100;
  t.deepEqual([isFirst('a'), isFirst('a')], [true, false]);
});

test('the silence of a kind that goes on grows up to a bound, and is short again once the kind was absent', (t) => {
  let ms = 0;
  const isFirst = createFirstOfKind({ silentMs: 100, mostSilentMs: 350, max: 10, now: () => ms });
  const firsts: number[] = [];
  for (; ms <= 1500; ms += 10) if (isFirst('a')) firsts.push(ms);
  t.deepEqual(firsts, [0, 100, 300, 650, 1000, 1350]);
  ms = 2050;
  t.true(isFirst('a'));
  ms = 2150;
  t.true(isFirst('a'));
});

test('no more kinds than the bound are remembered: the oldest is forgotten', (t) => {
  const isFirst = createFirstOfKind({ silentMs: 100, max: 2, now: () => 0 });
  for (const kind of ['a', 'b', 'c']) t.true(isFirst(kind));
  t.deepEqual([isFirst('b'), isFirst('c'), isFirst('a')], [false, false, true]);
});
