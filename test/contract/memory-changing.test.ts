import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createWeaviate } from '@agent-workflow/memory/adapters/weaviate/client';
import { objectId, tenantOf, toObject } from '@agent-workflow/memory/adapters/weaviate/objects/objects';
import type { MemoryRecord } from '@agent-workflow/memory/ports/memory';
import type { VectorQuery } from '@agent-workflow/memory/ports/search';
import { withServer } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';

const embedder = { model: 'given', dimension: 2 };
const owner = 'u:ada';
const all = { owner, narrowing: {}, limit: Infinity };

const toMemory = (memoryId: string, content = 'a note'): MemoryRecord => ({
  ...{ memoryId, content, memoryType: 'semantic', category: 'notes', threadId: '', timestamp: 1000 },
  ...{ metadataJson: Buffer.from('{}'), vectorJson: Buffer.from('[1,0]'), vector: Float32Array.from([1, 0]) },
});

const turned = (memory: MemoryRecord): MemoryRecord => {
  const angle = Math.random();
  return { ...memory, vector: Float32Array.from([Math.cos(angle), Math.sin(angle)]) };
};

/** Leads to a Weaviate, whose answers to queries of objects are empty while `isEmptied`. */
async function openEmptyingProxy(url: string) {
  let isEmptied = false;
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = await text(request);
      const { method = 'GET', url: path = '/' } = request;
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${url}${path}`, { method, headers, ...(body !== '' && { body }) });
      const given = await reply.text();
      const isGet = path === '/v1/graphql' && /\bGet\b.*_1\(/.test(body);
      response.writeHead(reply.status, headers).end(isEmptied && isGet ? '{"data":{"Get":{}}}' : given);
    };
    answer().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    empty: (is: boolean) => {
      isEmptied = is;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

withServer(test, weaviate, (server) => {
  test('a list whose pages stay empty though there are memories is Unavailable after three looks', async (t) => {
    const { url } = await server();
    await using proxy = await openEmptyingProxy(url);
    await using store = await openTestStore({ url: proxy.url, embedder });
    const ids = Array.from({ length: 50 }, (_, n) => `m${String(n)}`);
    await store.load(ids.map((memoryId) => ({ owner, memory: toMemory(memoryId) })));
    await store.remove(owner, ids.slice(20));
    proxy.empty(true);
    const error = await t.throwsAsync(store.list({ ...all, limit: 1 }));
    t.true(isServiceError(error, 'Unavailable') && error.retryAfterMs === 1000, String(error));
    proxy.empty(false);
    t.is((await store.list(all)).heads.length, 20);
  });

  test('an object that is no memory costs reads no more than itself, and is named in the log', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const named: string[] = [];
    await using store = await openTestStore({ url, embedder, prefix, onFailure: (error) => named.push(String(error)) });
    const ids = Array.from({ length: 30 }, (_, n) => `m${String(n).padStart(2, '0')}`);
    await store.load(ids.map((memoryId) => ({ owner, memory: toMemory(memoryId) })));
    const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
    const { properties, ...whole } = toObject(`${prefix}_1`, { owner, memory: toMemory('poisoned') });
    const scope = { collection: `${prefix}_1`, tenant: tenantOf(owner) };
    const bare = { ...whole, id: objectId(owner, 'bare'), properties: { keys: properties['keys'] ?? '' } };
    await raw.create({ ...whole, properties: { ...properties, metadata: '{' } });
    await raw.create({ ...scope, ...bare });
    const near: VectorQuery = {
      ...all,
      vector: Float32Array.from([1, 0]),
      measure: 'dot',
      order: 'nearest',
      limit: 100,
    };
    const reads = {
      list: async () => (await store.list(all)).heads,
      filtered: async () => (await store.list({ ...all, accepts: () => true })).heads,
      narrowed: async () => (await store.list({ ...all, narrowing: { category: 'notes' } })).heads,
      nearest: async () => (await store.findByVector(near)).map(({ head }) => head),
      manhattan: async () => (await store.findByVector({ ...near, measure: 'manhattan' })).map(({ head }) => head),
      newest: async () => (await store.findByVector({ ...near, order: 'newest' })).map(({ head }) => head),
      keywords: async () => (await store.findByKeywords({ ...all, text: 'note', limit: 100 })).map(({ head }) => head),
      exported: async () => (await Array.fromAsync(store.scan())).map(({ memory }) => memory),
    };
    for (const [name, read] of Object.entries(reads)) {
      named.length = 0;
      t.deepEqual((await read()).map(({ memoryId }) => memoryId).sort(), ids, name);
      t.true(
        named.some((line) => line.includes(objectId(owner, 'poisoned')) || line.includes(bare.id)),
        name,
      );
    }
  });

  test('a memory that is stored again at one replica while another updates it keeps the updates', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using one = await openTestStore({ url, embedder, prefix });
    await using two = await openTestStore({ url, embedder, prefix });
    await one.put(owner, toMemory('a', '0'));
    let isOver = false;
    const again = async (): Promise<void> => {
      while (!isOver) t.false(await two.put(owner, toMemory('a', 'put')));
    };
    const putting = Promise.all([again(), again(), again()]);
    for (let version = 1; version <= 60; version += 1) {
      const before: string[] = [];
      await one.update(owner, 'a', ({ content }) => {
        before.push(content);
        return turned(toMemory('a', String(version)));
      });
      t.deepEqual(before, [String(version - 1)]);
    }
    isOver = true;
    await putting;
    t.is((await one.get(owner, ['a']))[0]?.content, '60');
  });

  test('a memory that is removed at one replica does not come back by an update of another', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using one = await openTestStore({ url, embedder, prefix });
    await using two = await openTestStore({ url, embedder, prefix });
    const ids = Array.from({ length: 40 }, (_, n) => `m${String(n)}`);
    await one.load(ids.map((memoryId) => ({ owner, memory: toMemory(memoryId) })));
    await Promise.all(
      ids.map(async (memoryId) => {
        const updating = one.update(owner, memoryId, () => turned(toMemory(memoryId, 'updated')));
        await two.remove(owner, [memoryId]);
        t.deepEqual(await two.get(owner, [memoryId]), []);
        await updating;
      }),
    );
    t.deepEqual(await two.get(owner, ids), []);
    t.is((await two.list(all)).total, 0);
  });
});
