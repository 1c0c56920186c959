import test from 'ava';
import { readSelection, type Selected } from './filters.ts';

const read = (filters: object): Selected => readSelection({ filtersJson: Buffer.from(JSON.stringify(filters)) }, 0);

const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

const refusal = (field: string): object => ({
  code: 'Invalid',
  message: `filters.${field}: must not compare with more than 1000 values in all`,
});

test('filters compare with 1,000 values at most, whether of one list, of several or of operators, and the refusal names the field', (t) => {
  const head = { metadata: { a: 999 } } as unknown as Parameters<NonNullable<Selected['accepts']>>[0];
  t.true(read({ a: { $in: numbers(1000) } }).accepts?.(head));
  t.throws(() => read({ a: { $in: numbers(1001) } }), refusal('a'));
  t.throws(() => read({ a: { $in: numbers(500) }, b: { $in: numbers(500) }, c: 1 }), refusal('c'));
  t.throws(
    () => read(Object.fromEntries(numbers(1001).map((name) => [`f${String(name)}`, { $gt: 1 }]))),
    refusal('f1000'),
  );
});

test('a list that is compared as a whole is one value', (t) => {
  t.notThrows(() => read({ a: numbers(2000), b: { $ne: numbers(2000) } }));
});
