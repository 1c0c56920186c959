import test from 'ava';
import { unavailable } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import { retrievalStrategies, type RetrievalStrategy } from '@agent-workflow/protos/lists';
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

test('a search of which one scope cannot be read fails and names it, as a search of that scope alone does not', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder });
  const memory = createMemories({
    store: {
      ...store,
      findByVector: async (query) => {
        if (query.owner.endsWith('shared:dead')) throw unavailable('the tenant cannot be read');
        return store.findByVector(query);
      },
    },
    embedder,
    halfLifeDays: 30,
  });
  const asked = { distanceMetric: 'cosine', scoreThreshold: 0, maxTokens: 4000, limit: 5 } as const;
  const request = { ...asked, owner: 'ada', query: 'tea', selection: {} };
  const search = async (scopes: readonly string[], retrievalStrategy: RetrievalStrategy): Promise<unknown> =>
    memory.search({ ...request, scopes, retrievalStrategy }, within(30_000, new AbortController().signal));
  for (const strategy of retrievalStrategies) {
    const both = search(['own', 'shared:dead'], strategy);
    await t.throwsAsync(both, { name: 'Unavailable', message: 'scope "shared:dead": the tenant cannot be read' });
    await t.throwsAsync(search(['shared:dead'], strategy), { message: 'the tenant cannot be read' });
    await t.notThrowsAsync(search(['own', 'shared:alive'], strategy));
  }
});
