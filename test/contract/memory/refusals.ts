import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import { call, owner, type Note, type Query } from './calls.ts';
import { checksOf, refuses, type Opener } from './checks.ts';

/** Requests that are refused, and change nothing. */
export function refusalTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory('a value that is not of its list is refused', async (t, _, { store, search }) => {
    await refuses(t, store('text', { memoryType: 'constructor' as never }), 'Invalid');
    await refuses(t, search('tea', { retrievalStrategy: 'toString' as never }), 'Invalid');
    await refuses(t, search('tea', { distanceMetric: 'hamming' as never }), 'Invalid');
    await refuses(t, search('tea', { memoryType: 'nope' as never }), 'Invalid');
  });

  withMemory('each field out of range is refused by its name', async (t, memory, { store, search }) => {
    await store('something');
    const stores: readonly [Note & { readonly content?: string }, readonly string[]][] = [
      [{ content: '' }, ['content']],
      [{ content: ' \n\t' }, ['content']],
      [{ content: 'é'.repeat(sizes.memory / 2) + '!' }, ['content']],
      [{ category: 'c'.repeat(257) }, ['category']],
      [{ metadata: [] as never }, ['metadata']],
      [{ metadata: { large: 'x'.repeat(sizes.memory) } }, ['metadata']],
      [{ content: 'x'.repeat(1024 * 1024) }, ['content']],
    ];
    for (const [{ content = 'text', ...note }, loc] of stores) await refuses(t, store(content, note), 'Invalid', loc);
    const searches: readonly [Query, readonly string[]][] = [
      [{ limit: 0 }, ['limit']],
      [{ maxTokens: -1 }, ['maxTokens']],
      [{ scoreThreshold: NaN }, ['scoreThreshold']],
      [{ filters: [] }, ['filters']],
      [{ filters: { a: { $regex: 'x' } } }, ['filters', 'a', '$regex']],
      [{ filters: { a: { $gt: 1, b: 2 } } }, ['filters', 'a', 'b']],
      [{ filters: { $or: [{ a: 1 }] } }, ['filters', '$or']],
      [{ filters: { a: { $not: { $gt: 1 } } } }, ['filters', 'a', '$not']],
      [{ filters: { a: { $ne: { $gt: 1 } } } }, ['filters', 'a', '$ne', '$gt']],
      [{ filters: { a: { b: { $gt: 1 } } } }, ['filters', 'a', '$gt']],
      [{ filters: { a: { $in: 1 } } }, ['filters', 'a', '$in']],
      [{ filters: { a: { $gt: [] } } }, ['filters', 'a', '$gt']],
      [{ filters: { a: { $in: Array.from({ length: 1001 }, String) } } }, ['filters', 'a']],
      [{ options: { depth: 11 } }, ['options', 'depth']],
      [{ options: { alpha: '1' } }, ['options', 'alpha']],
      [{ options: { weights: { recency: -1 } } }, ['options', 'weights', 'recency']],
      [{ options: { weights: { similarty: 1 } } }, ['options', 'weights', 'similarty']],
    ];
    for (const [query, loc] of searches) await refuses(t, search('text', query), 'Invalid', loc);
    await refuses(t, search('x'.repeat(sizes.memory + 1)), 'Invalid', ['query']);
    t.is((await memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call)).total, 1);
  });

  withMemory('a call whose deadline has passed does nothing', async (t, memory, { store }) => {
    const memoryId = await store('kept');
    await refuses(t, memory.delete({ owner, memoryId }, within(-1)), 'Timeout');
    t.is((await memory.get({ owner, memoryId }, call)).content, 'kept');
  });
}
