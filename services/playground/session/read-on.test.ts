import test from 'ava';
import { readOn, type ListPage } from './read-on.ts';

const { signal } = new AbortController();

/** Reads pages of these items, whose cursors are their places; how many were read. */
async function read(pages: readonly (readonly number[])[]): Promise<{ page: ListPage<number>; count: number }> {
  let count = 0;
  const load = (cursor = '0'): Promise<ListPage<number>> => {
    count++;
    const next = Number(cursor) + 1;
    return Promise.resolve({ items: pages[next - 1] ?? [], ...(next < pages.length && { cursor: String(next) }) });
  };
  return { page: await readOn(load, undefined, signal), count };
}

test('pages that a filter leaves empty are read on to the first that has an item, or to the end', async (t) => {
  t.deepEqual(await read([[], [], [7], [8]]), { page: { items: [7], cursor: '3' }, count: 3 });
  t.deepEqual(await read([[1], []]), { page: { items: [1], cursor: '1' }, count: 1 });
  t.deepEqual(await read([[], []]), { page: { items: [] }, count: 2 });
});

test('no more than five empty pages are read at a time', async (t) => {
  t.deepEqual(await read(Array.from({ length: 9 }, () => [])), { page: { items: [], cursor: '5' }, count: 5 });
});
