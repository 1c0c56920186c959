import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/port';
import { cassandra } from '../servers/cassandra.ts';
import { openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { withServer } from '../servers/real-suite.ts';
import { storeApart } from './apart.ts';
import { threadSizesContract } from './thread-sizes.ts';
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

threadSizesContract(test, 'sqlite in memory', {
  open: async () => openSqliteThreadStore({ path: ':memory:' }),
  stories: 60,
});

withServer(test, cassandra, (server) => {
  let opening: Promise<Keyspace> | undefined;
  const keyspace = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());

  threadStoreContract(test, 'cassandra', {
    open: async (place) => storeApart(await (await keyspace()).open(), place),
    keeps: true,
    ages: true,
  });

  let places = 0;
  const openApart = async (options = {}): Promise<ThreadStore> =>
    storeApart(await (await keyspace()).open(options), `sizes-${String((places += 1))}`);
  threadSizesContract(test, 'cassandra', { open: openApart, stories: 2 });

  const sizes = { width: 3, maxRows: 4, maxBytes: 1000, keptRows: 2 };
  threadStoreContract(test, 'cassandra, every log in many segments', {
    open: async (place) => storeApart(await (await keyspace()).open({ sizes }), place),
    keeps: true,
    ages: true,
  });
  threadSizesContract(test, 'cassandra, every log in many segments', { open: () => openApart({ sizes }), stories: 2 });
});
