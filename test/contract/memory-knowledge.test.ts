import { processEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { byLoad } from '../by-load.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { knowledgeHolds } from './knowledge/suite.ts';

/** What it is about, and what a server on a busy machine takes in a minute or two: `KNOWLEDGE=whole` has the whole there, too. */
const whole = { documents: 10_000, owners: 1000, queries: 300 };
const part = { documents: 2000, owners: 200, queries: 100 };
const onServer = processEnv()['KNOWLEDGE'] === 'whole' ? whole : part;

withServerForLong(test, weaviate, (server) => {
  test.serial(
    'on SQLite: 10,000 documents that five load, of which two die, are stored once, and 1,000 owners find them',
    async (t) => {
      t.timeout(byLoad(900_000));
      await using store = openSqliteMemoryStore({ path: ':memory:', embedder: hashEmbedder });
      await knowledgeHolds(t, [store], whole);
    },
  );

  test.serial(
    `on Weaviate: the same with ${String(onServer.documents)} documents and ${String(onServer.owners)} owners, loaded at two replicas`,
    async (t) => {
      t.timeout(byLoad(1_800_000));
      const { url } = await server();
      const options = { url, embedder: hashEmbedder, prefix: newPrefix() };
      t.teardown(() => dropCollections(url, options.prefix));
      await using first = await openTestStore(options);
      await using second = await openTestStore(options);
      await knowledgeHolds(t, [first, second], onServer);
    },
  );
});
