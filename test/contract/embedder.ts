import type { TestFn } from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { Embedder } from '@agent-workflow/memory/ports/embedder';
import { byLoad } from '../by-load.ts';

type Opened = AsyncDisposable & { readonly embedder: Embedder };

/** What any embedder must promise. */
export function embedderContract(test: TestFn, name: string, open: () => Promise<Opened>): void {
  test(`${name}: gives one vector a text, in order, of its dimension`, async (t) => {
    await using opened = await open();
    const texts = Array.from({ length: 300 }, (_, n) => `text ${'abc'.repeat(n % 7)} ${String(n)}`);
    const vectors = await opened.embedder.embed(texts, within(byLoad(10_000)));
    t.is(vectors.length, texts.length);
    t.true(vectors.every(({ length }) => length === opened.embedder.dimension));
    t.true(vectors.every((vector) => vector.every(Number.isFinite)));
    const [alone] = await opened.embedder.embed([texts[200] ?? ''], within(byLoad(10_000)));
    t.deepEqual(alone, vectors[200]);
    t.notDeepEqual(alone, vectors[201]);
  });

  test(`${name}: gives the same vector for the same text, and none for no text`, async (t) => {
    await using opened = await open();
    const [first, second] = await opened.embedder.embed(['a cab', 'a cab'], within(byLoad(10_000)));
    t.deepEqual(first, second);
    t.deepEqual(await opened.embedder.embed([], within(byLoad(10_000))), []);
  });
}
