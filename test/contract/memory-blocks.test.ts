import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import type { MemoryHead, OwnedMemory } from '@agent-workflow/memory/ports/memory';
import type { VectorQuery } from '@agent-workflow/memory/ports/search';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import test from 'ava';
import { generousMs, longestBlockMs } from '../longest-block.ts';
import { byLoad } from '../by-load.ts';

const dimension = 256;
const count = 50_000;
const owner = 'u:ada';

/** Of unit length, and no two alike. */
function vectorOf(n: number): Float32Array {
  const numbers = Array.from({ length: dimension }, (_, place) => Math.sin((n + 1) * (place + 1) * 12.9898));
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}

const memoryOf = (n: number): OwnedMemory => ({
  owner,
  memory: {
    ...{ memoryId: `m${String(n)}`, memoryType: 'semantic', category: 'c', threadId: '', timestamp: n },
    content: `some words number ${String(n)}`,
    metadataJson: Buffer.from(JSON.stringify({ topic: n % 7, tags: ['a', 'b'] })),
    vectorJson: Buffer.from('[]'),
    vector: vectorOf(n),
  },
});

const query: VectorQuery = {
  ...{ owner, narrowing: {}, limit: 10, vector: vectorOf(0), measure: 'dot', order: 'nearest' },
};
const accepts = ({ metadata }: MemoryHead): boolean => metadata['topic'] === 3;

const reads: readonly (readonly [what: string, read: (store: MemoryStore) => Promise<unknown>])[] = [
  ['the first search by vector', async (store) => store.findByVector(query)],
  ['a search by vector', async (store) => store.findByVector(query)],
  ['a search by vector with a filter', async (store) => store.findByVector({ ...query, accepts })],
  ['a search by words', async (store) => store.findByKeywords({ owner, narrowing: {}, limit: 10, text: 'some words' })],
  ['a list with a filter', async (store) => store.list({ owner, narrowing: {}, limit: 10, accepts })],
  ['a list of all', async (store) => store.list({ owner, narrowing: {}, limit: Infinity, without: 'metadata' })],
];

for (const [where, cacheBytes] of [
  ['in memory', 256 * 1024 * 1024],
  ['in the file', 0],
] as const) {
  test.serial(`nothing that is asked of ${String(count)} memories ${where} holds up others for long`, async (t) => {
    t.timeout(byLoad(180_000));
    const store = openSqliteMemoryStore({ path: ':memory:', embedder: { model: 'any', dimension }, cacheBytes });
    t.teardown(() => store[Symbol.asyncDispose]());
    for (let from = 0; from < count; from += 1000)
      await store.load(Array.from({ length: 1000 }, (_, n) => memoryOf(from + n)));
    for (const [what, read] of reads) {
      const began = performance.now();
      const blockMs = await longestBlockMs(() => read(store));
      t.log(`${what}: ${blockMs.toFixed(0)} ms at the longest, ${(performance.now() - began).toFixed(0)} ms in all`);
      t.true(blockMs <= generousMs, `${what}: ${blockMs.toFixed(0)} ms`);
    }
    const [nearest] = await store.findByVector(query);
    t.is(nearest?.head.memoryId, 'm0');
  });
}
