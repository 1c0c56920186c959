import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { withServer } from '../servers/real-suite.ts';
import { openTestStore, partOf } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { storeDimension } from './memory-store.ts';
import { memoryUpdatesContract } from './memory-updates.ts';

const embedder = { model: 'given', dimension: storeDimension };

memoryUpdatesContract(test, 'sqlite', async () =>
  Promise.resolve(openSqliteMemoryStore({ path: ':memory:', embedder })),
);

withServer(test, weaviate, (server) => {
  let opening: Promise<MemoryStore> | undefined;
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());
  memoryUpdatesContract(test, 'weaviate', async () => {
    opening ??= server().then(({ url }) => openTestStore({ url, embedder }));
    return partOf(await opening);
  });
});
