import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import { openSqliteMemoryStore } from './adapters/sqlite/store.ts';
import { hashEmbedder } from './embedders/hash.ts';
import { createMemories } from './memories.ts';

const call = () => within(30_000, new AbortController().signal);

test('a page whose memories are removed while it is read leads on to the others', async (t) => {
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder });
  const memory = createMemories({
    store: {
      ...store,
      list: async (query) => {
        const page = await store.list(query);
        if (query.after === undefined) await store.remove('ada', ['d', 'c']);
        return page;
      },
    },
    embedder: hashEmbedder,
    halfLifeDays: 30,
  });
  const rest = { owner: 'ada', memoryType: 'semantic', category: 'notes', metadataJson: Buffer.from('{}') } as const;
  for (const memoryId of ['a', 'b', 'c', 'd']) await memory.store({ ...rest, memoryId, content: memoryId }, call());
  const page = { owner: 'ada', selection: {}, limit: 2, offset: 0 };
  const { memories, cursor = '' } = await memory.list(page, call());
  t.deepEqual(memories, []);
  const next = await memory.list({ ...page, cursor }, call());
  t.deepEqual(
    next.memories.map(({ memoryId }) => memoryId),
    ['b', 'a'],
  );
});
