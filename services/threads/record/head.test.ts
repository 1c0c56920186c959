import test from 'ava';
import { without } from './head.ts';

const record: { readonly kept: number; readonly gone?: string; readonly other?: string } = { kept: 1, gone: 'a' };

test('a record loses the members that are named, and stays as it was', (t) => {
  t.deepEqual(without(record, 'gone', 'other'), { kept: 1 });
  t.deepEqual(record, { kept: 1, gone: 'a' });
});

test('a record that has none of the members is not copied', (t) => {
  t.is(without(record, 'other'), record);
});
