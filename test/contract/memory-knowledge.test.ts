import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { byLoad } from '../by-load.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { knowledgeHolds } from './knowledge/suite.ts';

const size = { documents: 10_000, owners: 1000, queries: 300 };

withServerForLong(test, weaviate, (server) => {
  test.serial(
    'on SQLite: 10,000 documents that five load, of which two die, are stored once, and 1,000 owners find them',
    async (t) => {
      t.timeout(byLoad(900_000));
      await using store = openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder });
      await knowledgeHolds(t, [store], size);
    },
  );

  test.serial('on Weaviate: the same, loaded at two replicas', async (t) => {
    t.timeout(byLoad(1_800_000));
    const { url } = await server();
    const options = { url, embedder: hashEmbedder, prefix: newPrefix() };
    t.teardown(() => dropCollections(url, options.prefix));
    await using first = await openTestStore(options);
    await using second = await openTestStore(options);
    await knowledgeHolds(t, [first, second], size);
  });
});
