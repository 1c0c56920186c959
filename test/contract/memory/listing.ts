import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import { call, owner } from './calls.ts';
import { checksOf, refuses, type Opener } from './checks.ts';

/** Pages of memories. */
export function listingTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('a list pages newest first, by offset and by cursor, and counts all', async (t, memory, { store }) => {
    for (let n = 0; n < 7; n += 1) await store(`note ${String(n)}`, { category: n === 3 ? 'other' : 'notes' });
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await memory.list(
        { owner, selection: { category: 'notes' }, limit: 4, offset: 0, ...(cursor && { cursor }) },
        call,
      );
      t.is(page.total, 6);
      pages.push(page.memories.map(({ content }) => content));
      cursor = page.cursor;
    } while (cursor !== undefined);
    t.deepEqual(pages, [
      ['note 6', 'note 5', 'note 4', 'note 2'],
      ['note 1', 'note 0'],
    ]);
    const second = await memory.list({ owner, selection: {}, limit: 2, offset: 1 }, call);
    t.deepEqual(
      second.memories.map(({ content, score }) => [content, score]),
      [
        ['note 5', 1],
        ['note 4', 1],
      ],
    );
    await refuses(t, memory.list({ owner, selection: {}, limit: 2, offset: 0, cursor: 'bogus' }, call), 'Invalid', [
      'cursor',
    ]);
    for (const other of [{ category: 'notes' }, { filtersJson: Buffer.from('{"n":1}') }])
      await refuses(
        t,
        memory.list({ owner, selection: other, limit: 2, offset: 0, cursor: second.cursor ?? '' }, call),
        'Invalid',
        ['cursor'],
      );
    await refuses(t, memory.list({ owner, selection: {}, limit: 0, offset: 0 }, call), 'Invalid', ['limit']);
    await refuses(t, memory.list({ owner, selection: {}, limit: 2, offset: -1 }, call), 'Invalid', ['offset']);
  });

  withMemory('a page too heavy for one reply goes on with its cursor', async (t, memory, { store }) => {
    const heavy = 'x '.repeat(sizes.memory / 2);
    const metadata = { large: 'y'.repeat(sizes.memory - 100) };
    for (let n = 0; n < 120; n += 1) await store(heavy.slice(n), { metadata });
    const ids = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined; ; pages += 1) {
      const page = { limit: 1000, offset: 0, ...(cursor !== undefined && { cursor }) };
      const reply = await memory.list({ owner, selection: {}, ...page }, call);
      for (const { memoryId } of reply.memories) ids.add(memoryId);
      const bytes = reply.memories.reduce(
        (sum, { content, metadataJson }) => sum + content.length + metadataJson.length,
        0,
      );
      t.true(bytes <= sizes.page, `${bytes} bytes on one page`);
      ({ cursor } = reply);
      if (cursor === undefined) break;
    }
    t.is(ids.size, 120);
    t.true(pages >= 3);
  });
}
