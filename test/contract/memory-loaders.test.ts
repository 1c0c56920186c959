import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { byLoad } from '../by-load.ts';
import { withServer } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { knowledgeHolds } from './knowledge/suite.ts';

const size = { documents: 400, owners: 20, queries: 40 };

test('on SQLite: what five processes load, of which two die, is stored once and found', async (t) => {
  t.timeout(byLoad(120_000));
  await using store = openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder });
  await knowledgeHolds(t, [store], size);
});

withServer(test, weaviate, (server) => {
  test('on Weaviate: what five processes load at two replicas, of which two die, is stored once and found', async (t) => {
    t.timeout(byLoad(240_000));
    const { url } = await server();
    const options = { url, embedder: hashEmbedder, prefix: newPrefix() };
    t.teardown(() => dropCollections(url, options.prefix));
    await using first = await openTestStore(options);
    await using second = await openTestStore(options);
    await knowledgeHolds(t, [first, second], size);
  });
});
