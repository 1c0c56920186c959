import test from 'ava';
import { contains, countItems } from './contained.ts';

test('a value contains another as in PostgreSQL', (t) => {
  for (const [whole, part, expected] of [
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: { b: 1, c: 2 } }, { a: { c: 2 } }, true],
    [{ a: { b: 1, c: 2 } }, { a: {} }, true],
    [{ a: [1] }, { a: {} }, false],
    [{ a: {} }, { a: [] }, false],
    [{ a: { b: { c: [1, 2] } } }, { a: { b: { c: [2] } } }, true],
    [{ a: ['x', 'y', 'z'] }, { a: ['z', 'x', 'x'] }, true],
    [{ a: ['x'] }, { a: 'x' }, false],
    [{ a: ['x'] }, { a: [] }, true],
    [{ a: [{ b: 1, c: 2 }, 3] }, { a: [{ b: 1 }] }, true],
    [{ a: [{ b: 1 }, { c: 2 }] }, { a: [{ b: 1, c: 2 }] }, false],
    [{ a: [1, [1, 2]] }, { a: [[2]] }, true],
    [{ a: null }, { a: null }, true],
    [{}, { a: null }, false],
    [{ a: '1' }, { a: 1 }, false],
    [{ a: 1 }, {}, true],
    [{}, { toString: {} }, false],
  ] as const)
    t.is(contains(whole, part), expected, JSON.stringify([whole, part]));
});

test('objects and lists that are items are counted', (t) => {
  t.is(countItems({ a: { b: 1 }, c: ['x', 1, null] }), 0);
  t.is(countItems({ a: [{}, [[]], 1] }), 3);
  t.is(countItems([{ a: [{}] }]), 2);
});
