import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import { openSqliteMemoryStore } from '../adapters/sqlite/store.ts';
import { createMemories } from '../memories.ts';
import { vectorToJson } from '../vectors/unit.ts';

const embedder = {
  model: 'given',
  dimension: 2,
  embed: async (texts: readonly string[]) => Promise.resolve(texts.map(() => new Float32Array([1, 0]))),
};

test('hybrid finds the best by keywords among the furthest, and reads no others of them', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder });
  const memories = Array.from({ length: 1100 }, (_, place) => {
    const angle = (place / 1100) * 3;
    const vector = new Float32Array([Math.cos(angle), Math.sin(angle)]);
    const content = place === 1099 ? 'harbour' : 'tea';
    const fields = { memoryId: `m${String(place)}`, memoryType: 'semantic', category: 'c', threadId: '' } as const;
    const rest = { timestamp: place, metadataJson: Buffer.from('{}'), vector, vectorJson: vectorToJson(vector) };
    return { owner: 'ada', memory: { ...fields, ...rest, content } };
  });
  await store.load(memories);
  const read: string[] = [];
  const memory = createMemories({
    store: {
      ...store,
      findByVector: async (query) => {
        read.push(...(query.narrowing.memoryIds ?? []));
        return store.findByVector(query);
      },
    },
    embedder,
    halfLifeDays: 30,
  });
  const asked = { retrievalStrategy: 'hybrid', distanceMetric: 'cosine', scoreThreshold: 0, maxTokens: 4000 } as const;
  const request = { ...asked, owner: 'ada', query: 'tea harbour', selection: {}, limit: 2 };
  const options = { optionsJson: Buffer.from('{"alpha": 0.4}') };
  const { results } = await memory.search({ ...request, ...options }, within(30_000, new AbortController().signal));
  t.deepEqual(
    results.map(({ memoryId }) => memoryId),
    ['m1099', 'm0'],
  );
  t.deepEqual(read, ['m1099']);
});
