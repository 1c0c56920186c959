import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import test from 'ava';
import { differences } from './differences.ts';

// JSON has one zero.
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test('two values have no difference when they are equal, and one at least when they are not', (t) => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      t.deepEqual(differences('it', one, structuredClone(one)), []);
      t.is(differences('it', one, other).length === 0, isDeepStrictEqual(one, other));
    }),
  );
});

test('a difference names its place and both values', (t) => {
  t.deepEqual(differences('state', { a: [1, { b: 'x' }], c: 1 }, { a: [1, { b: 'y' }], d: 2 }), [
    'state.a[1].b is "x", not "y"',
    'state.d is absent, not 2',
    'state.c is 1, not absent',
  ]);
  t.deepEqual(differences('it', new Map([['a', new Set([1])]]), [['a', [2]]]), ['it[0][1][0] is 1, not 2']);
});

test('of many differences the first are listed, and of long values the beginning', (t) => {
  const many = Array.from({ length: 1000 }, (_, index) => index);
  t.is(differences('it', many, []).length, 10);
  t.is(differences('it', 'x'.repeat(1000), 1)[0]?.length, 'it is '.length + 120 + ' …, not 1'.length);
});
