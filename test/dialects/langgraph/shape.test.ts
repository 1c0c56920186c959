import test from 'ava';
import { differences, noteIds, withOurIds } from './shape.ts';

const a = '01a221fa-afb4-7638-b803-af8ca0eabbe3';
const b = '01a221fa-b3eb-7553-8eb3-8b6ecbdc424c';

test('what lacks, and what has another type, is a difference; what is more is none', (t) => {
  t.deepEqual(differences({ a: 1, b: { c: 'x' } }, { a: 2, b: { c: 'y', d: 1 }, e: 1 }), []);
  t.deepEqual(differences({ a: 1, b: { c: 'x' } }, { a: '1', b: {} }), ['$.a: string, not number', '$.b.c: absent']);
  t.deepEqual(differences([{ a: 1 }, 'x'], [{ b: 1 }]), ['$[0].a: absent']);
  t.deepEqual(differences({ a: null, b: 1 }, { a: 1, b: null }), []);
  t.deepEqual(differences([], [1]), []);
  t.deepEqual(differences(undefined, undefined), []);
});

test('ids of a recording become those that were given in their place', (t) => {
  const ids = new Map<string, string>();
  noteIds({ id: a, list: [{ other: 'text' }] }, { id: b, list: [] }, ids);
  t.deepEqual([...ids], [[a, b]]);
  t.is(withOurIds(`/threads/${a}/runs/${b}`, ids), `/threads/${b}/runs/${b}`);
});
