import type { TestFn } from 'ava';
import fc from 'fast-check';
import { call, newOwner, owner } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';

/** How many results a search gives. */
export function resultTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('max_tokens leaves out what does not fit, but never the best', async (t, memory, { store, search }) => {
    const example = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
      maxTokens: fc.integer({ min: 0, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(example, async ({ sizes: words, maxTokens }) => {
        const space = newOwner();
        for (const count of words) await store('é'.repeat(count), { owner: space });
        const all = await search('é', { owner: space, maxTokens: 1e6 });
        t.is(all.length, words.length);
        let left = maxTokens;
        const fitting = all.filter(({ content }, index) => {
          const tokens = Math.ceil(Buffer.byteLength(content) / 4);
          const fits = index === 0 || tokens <= left;
          if (fits) left -= tokens;
          return fits;
        });
        const found = await search('é', { owner: space, maxTokens });
        t.deepEqual(
          found.map(({ memoryId }) => memoryId),
          fitting.map(({ memoryId }) => memoryId),
        );
      }),
      { numRuns: 25 },
    );
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, 0);
  });

  withMemory('an empty query gives the newest that pass, each with score 1', async (t, _, { store, search }) => {
    for (const content of ['one', 'two', 'three']) await store(content, { category: content === 'two' ? 'x' : 'y' });
    t.deepEqual(
      (await search(' ', { category: 'y' })).map(({ content, score }) => [content, score]),
      [
        ['three', 1],
        ['one', 1],
      ],
    );
  });
}
