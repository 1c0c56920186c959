import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteMemoryStore } from '@agent-workflow/memory/adapters/sqlite';
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
