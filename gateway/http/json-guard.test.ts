import test from 'ava';
import { guardJson, maxFlatLength } from './json-guard.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('JSON of 128 levels passes, one more is refused', (t) => {
  t.notThrows(() => {
    guardJson(nested(128), 'the body');
  });
  t.throws(() => guardJson(nested(129), 'the body'), { message: 'the body is nested deeper than 128 levels' });
});

test('thousands of levels are refused without overflowing', (t) => {
  t.throws(() => guardJson(nested(100_000), 'the body'), { message: /nested deeper/ });
});

test('a text short enough to skip the walk cannot be nested too deep', (t) => {
  const levels = maxFlatLength / 2;
  t.notThrows(() => {
    guardJson(nested(levels), 'the body');
  });
});

test('a key that would set a prototype is refused at any depth', (t) => {
  t.throws(() => guardJson(JSON.parse('{"a":[{"__proto__":1}]}'), 'the body'), {
    message: 'the body may not hold the key "__proto__"',
  });
});

test('so many keys pass, one more is refused, wherever they stand; items of arrays are not counted', (t) => {
  const holding = (keys: number): unknown => ({
    list: Array.from({ length: 1000 }, () => 1),
    left: Object.fromEntries(Array.from({ length: keys - 3 }, (_, index) => [`k${String(index)}`, 1])),
    right: {},
  });
  t.notThrows(() => {
    guardJson(holding(100_000), 'the body');
  });
  t.throws(() => guardJson(holding(100_001), 'the body'), { message: 'the body holds more than 100000 keys' });
});
