import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { MemoryStore } from '@agent-workflow/memory/ports/port';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite/store';
import { withServer } from '../servers/real-suite.ts';
import { openTestStore, partOf } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { memoryStoreContract, storeDimension } from './memory-store.ts';

const embedder = { model: 'given', dimension: storeDimension };
const folder = await mkdtemp(join(tmpdir(), 'memory-store-'));
test.after.always(async () => rm(folder, { recursive: true }));
let files = 0;

memoryStoreContract(test, 'sqlite in memory', async () =>
  Promise.resolve(openSqliteMemoryStore({ path: ':memory:', embedder })),
);

memoryStoreContract(test, 'sqlite file', async () =>
  Promise.resolve(openSqliteMemoryStore({ path: join(folder, `${String((files += 1))}.sqlite`), embedder })),
);

memoryStoreContract(test, 'sqlite with no room for vectors', async () =>
  Promise.resolve(openSqliteMemoryStore({ path: ':memory:', embedder, cacheBytes: 0 })),
);

withServer(test, weaviate, (server) => {
  let opening: Promise<MemoryStore> | undefined;
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());
  memoryStoreContract(test, 'weaviate', async () => {
    opening ??= server().then(({ url }) => openTestStore({ url, embedder }));
    return partOf(await opening);
  });
});
