import test from 'ava';
import { itemFilter } from './item-filter.ts';

const value = { n: 3, name: 'ada', tags: ['a', 'b'], deep: { x: 1, y: 2 }, nothing: null };
const passes = (filter: Readonly<Record<string, unknown>>): boolean | undefined => itemFilter(filter, [])?.(value);

test('a filter compares fields, and has operators', (t) => {
  for (const filter of [
    { n: 3 },
    { n: { $gt: 2, $lte: 3 } },
    { n: { $gte: 3, $lt: 4 } },
    { n: { $ne: 4 } },
    { name: { $gt: 'a' } },
    { tags: ['a', 'b'] },
    { tags: { $eq: ['a', 'b'] } },
    { deep: { x: 1 } },
    { deep: { x: { $lt: 2 } } },
    { nothing: null },
    { absent: null },
    { absent: { $ne: 1 } },
  ])
    t.true(passes(filter), JSON.stringify(filter));
  for (const filter of [
    { n: 4 },
    { n: '3' },
    { n: { $gt: 3 } },
    { n: { $gt: 'a' } },
    { name: { $lt: 5 } },
    { tags: ['a'] },
    { deep: { x: 1, z: 1 } },
    { deep: { $eq: { x: 1 } } },
    { absent: 1 },
    { absent: { $gt: 0 } },
    { toString: { $ne: null } },
  ])
    t.false(passes(filter), JSON.stringify(filter));
  t.is(itemFilter({}, []), undefined);
  t.is(itemFilter(undefined, []), undefined);
});

test('an operator that is none, and a filter of too many conditions, are refused', (t) => {
  t.throws(() => itemFilter({ n: { $near: 1 } }, ['body', 'filter']), { message: /filter.n.\$near: is no operator/ });
  t.throws(() => itemFilter({ n: Array.from({ length: 200 }, () => 1) }, ['body', 'filter']), {
    message: /at most 100/,
  });
});
