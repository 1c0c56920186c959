import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite';
import { threadStoreContract } from './thread-store.ts';

const folder = await mkdtemp(join(tmpdir(), 'thread-store-'));
test.after.always(async () => rm(folder, { recursive: true }));

threadStoreContract(test, 'sqlite in memory', {
  open: async () => openSqliteThreadStore({ path: ':memory:' }),
  keeps: false,
});

threadStoreContract(test, 'sqlite file', {
  open: async (place) => openSqliteThreadStore({ path: join(folder, `${place}.sqlite`) }),
  keeps: true,
});
