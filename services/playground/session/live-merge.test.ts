import test from 'ava';
import fc from 'fast-check';
import { mergeFirstPage } from './live-merge.ts';

interface Item {
  readonly id: string;
  readonly at: number;
  readonly word?: string;
}
const order = { keyOf: ({ id }: Item) => id, timeOf: ({ at }: Item) => at };
const merge = (listed: readonly Item[], items: readonly Item[], isWhole = false) =>
  mergeFirstPage(listed, { items, isWhole }, order);
const ids = (items: readonly Item[] | undefined): string | undefined => items?.map(({ id }) => id).join('');

const listed = [
  { id: 'c', at: 3 },
  { id: 'b', at: 2 },
  { id: 'a', at: 1 },
];

test('what is listed is shown as it is now, at its place, and what is newer is counted', (t) => {
  const { inPlace, arranged, newer } = merge(listed, [
    { id: 'e', at: 5 },
    { id: 'd', at: 4 },
    { id: 'c', at: 3, word: 'done' },
  ]);
  t.deepEqual(inPlace[0], { id: 'c', at: 3, word: 'done' });
  t.is(ids(inPlace), 'cba');
  t.is(ids(arranged), 'edcba');
  t.is(newer, 2);
});

test('what has not changed stays the same objects, and the same list', (t) => {
  const { inPlace, arranged } = merge(
    listed,
    listed.map((item) => ({ ...item })),
  );
  t.is(inPlace, listed);
  t.is(arranged, listed);
  const changed = merge(listed, [{ id: 'c', at: 3, word: 'done' }, { ...(listed[1] as Item) }]);
  t.not(changed.arranged, listed);
  t.is(changed.arranged?.[1], listed[1]);
});

test('what has moved to the front is there once, and what lies behind the page stays', (t) => {
  const { arranged, newer } = merge(listed, [
    { id: 'a', at: 9 },
    { id: 'c', at: 3 },
  ]);
  t.is(ids(arranged), 'acb');
  t.is(newer, 1);
});

test('what the page would have and has not is gone', (t) => {
  t.is(ids(merge(listed, [listed[0] as Item, listed[2] as Item]).arranged), 'ca');
  t.is(ids(merge(listed, [listed[1] as Item], true).arranged), 'b');
  t.is(ids(merge(listed, [], true).arranged), '');
});

test('a page that does not reach what is listed asks for another reading', (t) => {
  const { arranged, newer } = merge(listed, [
    { id: 'z', at: 9 },
    { id: 'y', at: 8 },
  ]);
  t.is(arranged, undefined);
  t.is(newer, 2);
});

test('an empty page that is not the whole says nothing: what is listed stays, and is not read again', (t) => {
  t.is(merge(listed, []).arranged, listed);
  t.is(merge(listed, []).newer, 0);
  t.deepEqual(merge([], []).arranged, []);
});

test('an empty list takes a page that is the whole, and is read again where there is more', (t) => {
  t.is(ids(merge([], listed, true).arranged), 'cba');
  t.is(merge([], listed).arranged, undefined);
  t.is(merge([], listed).newer, 3);
});

test('a list whose first page is read again is what it would be if all of it were, as far as the page reaches', (t) => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(8), fc.integer({ min: 1, max: 10 }), (before, added, limit) => {
      const item = (at: number, word: string): Item => ({ id: String(at), at, word });
      const old = Array.from({ length: before }, (_, index) => item(before - index, 'running'));
      const all = Array.from({ length: before + added }, (_, index) => item(before + added - index, 'completed'));
      const { arranged, inPlace, newer } = merge(old, all.slice(0, limit), all.length <= limit);
      if (arranged === undefined) t.true(added >= limit);
      else {
        t.deepEqual(arranged.map(order.keyOf), all.map(order.keyOf));
        for (const each of arranged.slice(0, limit)) t.is(each.word, 'completed');
      }
      t.deepEqual(inPlace.map(order.keyOf), old.map(order.keyOf));
      t.is(newer, Math.min(limit, before === 0 ? all.length : added));
    }),
  );
});
