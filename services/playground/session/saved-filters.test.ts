import test from 'ava';
import { createSavedFilters, isSameQuery } from './saved-filters.ts';

const storageOf = (text?: string) => {
  const held = new Map(text === undefined ? [] : [['filters-runs', text]]);
  return {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => void held.set(key, value),
  };
};

test('a filter is saved under its name, replaced by one of that name, and removed', (t) => {
  const storage = storageOf();
  const saved = createSavedFilters('runs', storage);
  t.is(saved.save({ name: 'Mine', query: { status: 'failed' } }), undefined);
  t.is(saved.save({ name: 'Mine', query: { status: 'stopped' } }), undefined);
  t.deepEqual(createSavedFilters('runs', storage).filters.peek(), [{ name: 'Mine', query: { status: 'stopped' } }]);
  saved.remove('Mine');
  t.deepEqual(createSavedFilters('runs', storage).filters.peek(), []);
});

test('names and selections have bounds, and so has their number', (t) => {
  const saved = createSavedFilters('runs', storageOf());
  t.truthy(saved.save({ name: ' ', query: {} }));
  t.truthy(saved.save({ name: 'x'.repeat(41), query: {} }));
  t.truthy(saved.save({ name: 'long', query: { search: 'x'.repeat(3000) } }));
  for (let index = 0; index < 20; index++) t.is(saved.save({ name: String(index), query: {} }), undefined);
  t.regex(saved.save({ name: 'one more', query: {} }) ?? '', /Remove one first/);
  t.is(saved.save({ name: '7', query: { a: 'b' } }), undefined);
});

test('what cannot be read is left out, and a full storage is shown', (t) => {
  for (const text of ['{', '{}', '[1, null, {"name": 7, "query": {}}, {"name": "a", "query": {"b": 1}}]'])
    t.deepEqual(createSavedFilters('runs', storageOf(text)).filters.peek(), [], text);
  const full = {
    ...storageOf(),
    setItem: () => {
      throw new Error('quota');
    },
  };
  t.regex(createSavedFilters('runs', full).save({ name: 'a', query: {} }) ?? '', /keeps nothing more/);
});

test('selections are compared by what they select', (t) => {
  t.true(isSameQuery({ a: '1', b: '2' }, { b: '2', a: '1' }));
  t.false(isSameQuery({ a: '1' }, { a: '1', b: '2' }));
  t.false(isSameQuery({ a: '1' }, { toString: '1' }));
});
