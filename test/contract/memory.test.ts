import test from 'ava';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/port';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { withServer } from '../servers/real-suite.ts';
import { openTestStore, partOf } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { memoryContract } from './memory.ts';

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
