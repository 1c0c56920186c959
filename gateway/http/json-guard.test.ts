import test from 'ava';
import { guardJson } from './json-guard.ts';

const theBody = { where: 'the body', loc: ['body'] };
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('JSON of 128 levels passes, one more is refused', (t) => {
  t.notThrows(() => {
    guardJson(nested(128), theBody);
  });
  t.throws(() => guardJson(nested(129), theBody), { message: 'the body is nested deeper than 128 levels' });
});

test('thousands of levels are refused without overflowing', (t) => {
  t.throws(() => guardJson(nested(100_000), theBody), { message: /nested deeper/ });
});

test('a key that would set a prototype is refused at any depth', (t) => {
  t.throws(() => guardJson(JSON.parse('{"a":[{"__proto__":1}]}'), theBody), {
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
    guardJson(holding(100_000), theBody);
  });
  t.throws(() => guardJson(holding(100_001), theBody), { message: 'the body holds more than 100000 keys' });
});

for (const [json, place] of [
  ['{"a":1e999}', 'body.a'],
  ['{"a":[0,{"b":-1e999}],"c":[1e999]}', 'body.c.0'],
  [`{"a":{"b":${'9'.repeat(400)}}}`, 'body.a.b'],
  [`{"a":[0,[${'9'.repeat(250)}e99]]}`, 'body.a.1.0'],
] as const)
  test(`a number beyond a double is refused by its place, ${place}`, (t) => {
    t.throws(() => guardJson(JSON.parse(json), theBody), {
      code: 'Invalid',
      message: `${place}: must be a number that JSON readers can hold`,
    });
  });

test('numbers that a double can hold pass, however they are written', (t) => {
  for (const json of ['{"a":[1e308,-1.7e+308,1e-999,0]}', `{"a":${'9'.repeat(308)}}`])
    t.notThrows(() => {
      guardJson(JSON.parse(json), theBody);
    });
});
