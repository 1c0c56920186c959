import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { withServer } from '../servers/real-suite.ts';
import { openStallingProxy } from '../servers/stalling-proxy.ts';
import { openTestStore, partOf } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { memoryContract } from './memory/index.ts';
import { byLoad } from '../by-load.ts';

const open = (): ReturnType<typeof openMemory> => openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) });

memoryContract(test, 'in process', async () => {
  const opened = await open();
  return { memory: link(opened.memory), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
});

memoryContract(test, 'over gRPC', async () => {
  await using opened = new AsyncDisposableStack();
  const { memory } = opened.use(await open());
  const server = opened.use(
    await serve({ memory }, { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined }),
  );
  const client = opened.use(connect('memory', `127.0.0.1:${String(server.port)}`));
  const everything = opened.move();
  return { memory: client, [Symbol.asyncDispose]: () => everything.disposeAsync() };
});

withServer(test, weaviate, (server) => {
  let opening: Promise<MemoryStore> | undefined;
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());
  memoryContract(test, 'on Weaviate', async () => {
    opening ??= server().then(({ url }) => openTestStore({ url, embedder: hashEmbedder }));
    const memory = createMemories({ store: partOf(await opening), embedder: hashEmbedder, halfLifeDays: 30 });
    return { memory: link(memory), [Symbol.asyncDispose]: async () => Promise.resolve() };
  });
});

test('a memory whose caller gave up while the replica was paused is not stored when that goes on', async (t) => {
  await using opened = await open();
  const options = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
  await using server = await serve({ memory: opened.memory }, options);
  await using way = await openStallingProxy(server.port);
  await using client = connect('memory', `127.0.0.1:${String(way.port)}`);
  const note = {
    owner: 'u:ada',
    content: 'tea',
    memoryType: 'semantic' as const,
    category: 'c',
    metadataJson: Buffer.from('{}'),
  };
  const total = async (): Promise<number> =>
    (await client.list({ owner: 'u:ada', selection: {}, limit: 1, offset: 0 }, within(byLoad(60_000)))).total;
  for (let round = 1; round <= 5; round += 1) {
    t.is(await total(), round - 1);
    way.stall();
    const leaving = new AbortController();
    const given = client.store({ ...note, memoryId: `given up ${String(round)}` }, within(60_000, leaving.signal));
    // The request and the word that it is cancelled are on their way, and arrive together.
    const leave = async (): Promise<void> => {
      for (let turns = 0; turns < 50; turns += 1) await nextTurn();
    };
    await leave();
    leaving.abort();
    await t.throwsAsync(given, { name: 'Cancelled' });
    await leave();
    way.resume();
    await client.store({ ...note, memoryId: `kept ${String(round)}` }, within(byLoad(60_000)));
  }
  t.is(await total(), 5);
});
