import test from 'ava';
import { deleteItem, putItem, searchItems } from '@agent-workflow/gateway/items';
import { hashEmbedder as embedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import { within } from '@agent-workflow/protos/call';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { byLoad } from '../by-load.ts';
import { withServer } from '../servers/real-suite.ts';
import { openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { itemsContract } from './items.ts';
import { testedStores } from './thread-stores/list.ts';

for (const { isEmbedded, withStore } of testedStores)
  withStore(test, (store) => itemsContract(test, store, isEmbedded ? 60 : 8));

withServer(test, weaviate, (server) => {
  test('items are found by their meaning in Weaviate, below a namespace, until they are replaced or deleted', async (t) => {
    await using store = await openTestStore({ url: (await server()).url, embedder });
    await using record = openSqliteThreadStore({ path: ':memory:' });
    const memory = link(createMemories({ store, embedder, halfLifeDays: 30 }));
    const log = { warn: t.log, error: t.log };
    const parts = { threads: createThreads({ store: record }), memory, log };
    const of = { owner: 'u:ada', call: () => within(byLoad(60_000)) };
    const put = (labels: readonly string[], key: string, text: string, more: object = {}) =>
      putItem(parts, { ...of, namespace: ['x', ...labels], key, value: { text }, index: ['text'], ...more });
    await put(['a'], 'tea', 'green tea in the morning');
    await put(['a', 'b'], 'deep', 'black tea in the evening');
    await put(['ab'], 'beside', 'green tea in the morning');
    await put(['a'], 'trains', 'night trains');
    await put(['a'], 'unindexed', 'green tea in the morning', { index: undefined });
    const found = async (labels: readonly string[], more: object = {}): Promise<readonly string[]> => {
      const search = { ...of, query: 'green tea in the morning', limit: 2, offset: 0, refreshes: false, ...more };
      return (await searchItems(parts, { ...search, namespace: ['x', ...labels] })).items.map(({ key }) => key);
    };
    t.deepEqual(await found(['a']), ['tea', 'deep']);
    t.deepEqual((await found([], { limit: 5 })).toSorted(), ['beside', 'deep', 'tea', 'trains']);
    t.deepEqual(await found(['a', 'b']), ['deep']);
    t.deepEqual(await found(['a'], { passes: ({ text }: { text: string }) => text.startsWith('black') }), ['deep']);
    t.deepEqual(await found([], { owner: 'u:bob' }), []);
    await put(['a'], 'tea', 'rivers and lakes');
    await deleteItem(parts, { ...of, namespace: ['x', 'ab'], key: 'beside' });
    t.deepEqual(await found([], { limit: 1 }), ['deep']);
    const left = await memory.list({ owner: 'u:ada', selection: {}, limit: 10, offset: 0 }, within(byLoad(60_000)));
    t.is(left.total, 0);
  });
});
