import test from 'ava';
import { never } from '@agent-workflow/protos/call';
import type { FileRow } from '../ports/files.ts';
import { listOwnFiles } from './own-files.ts';

const owner = 'u:ada';
const idOf = (number: number): string => String(number).padStart(6, '0');

/** Files of one owner, of whom every `each`-th is stored, and how many were read. */
function storeOf(count: number, each: number) {
  let read = 0;
  const rows = Array.from({ length: count }, (_, n): FileRow => ({
    ...{ owner, fileId: idOf(n), filename: `${String(n)}.txt`, size: 1, createdAt: n, noted: 0 },
    status: n % each === 0 ? 'stored' : 'uploading',
  })).reverse();
  return {
    read: () => read,
    listOwnFiles: (_: string, { after, limit }: { readonly after?: string | undefined; readonly limit: number }) => {
      const from = after === undefined ? 0 : rows.findIndex(({ fileId }) => fileId < after);
      const found = from === -1 ? [] : rows.slice(from, from + limit);
      read += found.length;
      return Promise.resolve(found);
    },
  };
}

test('a page reads a bounded number of files, and its cursor goes on after the last of them', async (t) => {
  const store = storeOf(5000, 5000);
  const pages: (readonly string[])[] = [];
  const reads: number[] = [];
  for (let cursor: string | undefined; ;) {
    const before = store.read();
    const page = await listOwnFiles(store, { owner, limit: 10, ...(cursor !== undefined && { cursor }) }, never);
    pages.push(page.files.map(({ fileId }) => fileId));
    reads.push(store.read() - before);
    if (page.cursor === undefined) break;
    ({ cursor } = page);
  }
  t.deepEqual(pages, [[], [], [idOf(0)]]);
  t.true(reads.every((count) => count <= 2000));
});

test('pages of any size hold every file once, newest first', async (t) => {
  for (const limit of [1, 3, 499, 500, 501, 1000]) {
    const found: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await listOwnFiles(
        storeOf(1203, 3),
        { owner, limit, ...(cursor !== undefined && { cursor }) },
        never,
      );
      t.true(page.files.length <= limit);
      found.push(...page.files.map(({ fileId }) => fileId));
      if (page.cursor === undefined) break;
      ({ cursor } = page);
    }
    t.deepEqual(
      found,
      Array.from({ length: 401 }, (_, n) => idOf(1200 - 3 * n)),
      String(limit),
    );
  }
});

test('a page ends before its bytes are too many', async (t) => {
  const wide = 'ä'.repeat(127);
  const rows = Array.from({ length: 2400 }, (_, n): FileRow => ({
    ...{ owner, fileId: idOf(n), filename: wide, contentType: 'x'.repeat(255) },
    ...{ size: 1, createdAt: n, noted: 0, status: 'stored' },
  })).reverse();
  const page = await listOwnFiles(
    {
      listOwnFiles: (_, { after = 'x', limit }) =>
        Promise.resolve(rows.filter(({ fileId }) => fileId < after).slice(0, limit)),
    },
    { owner, limit: 2000 },
    never,
  );
  t.true(page.files.length < 2000 && page.files.length > 500);
  t.true(page.cursor !== undefined);
});
