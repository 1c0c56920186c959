import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createWeaviate } from '@agent-workflow/memory/adapters/weaviate-client';
import { tenantOf } from '@agent-workflow/memory/adapters/weaviate-objects';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import type { MemoryStore } from '@agent-workflow/memory/port';
import { link } from '@agent-workflow/protos/wire/link';
import { within } from '@agent-workflow/protos/call';
import type { Memory, SearchRequest } from '@agent-workflow/protos/memory';
import { withServer } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';

const embedder = hashEmbedder;
const memoryOn = (store: MemoryStore): Memory => link(createMemories({ store, embedder, halfLifeDays: 30 }));
const note = { memoryType: 'semantic', category: 'notes', metadataJson: Buffer.from('{}') };
const call = (): ReturnType<typeof within> => within(60_000);
const search = (owner: string, query: string): SearchRequest => ({
  owner,
  query,
  selection: {},
  limit: 100,
  scoreThreshold: 0,
  retrievalStrategy: 'hybrid',
  distanceMetric: 'cosine',
  maxTokens: 1e6,
});

withServer(test, weaviate, (server) => {
  test('fifty owners with the same contents never see each other, while they write, forget and go to rest', async (t) => {
    const { url } = await server();
    await using store = await openTestStore({ url, embedder, idleMs: 150 });
    const memory = memoryOn(store);
    const owners = Array.from({ length: 50 }, (_, n) => `u:${String(n)}`);
    const contents = ['the key is under the stone', 'tea at four', 'the boat is blue', 'call the doctor'];
    const idOf = (place: number): string => `m${String(place)}`;
    const seen = async (owner: string): Promise<string[][]> => {
      const { results } = await memory.search(search(owner, 'the key is blue at four, call'), call());
      const { memories } = await memory.list({ owner, selection: {}, limit: 100, offset: 0 }, call());
      return [results, memories].map((items) => items.map((item) => `${item.memoryId} ${item.category}`).sort());
    };
    await Promise.all(
      owners.map(async (owner) => {
        for (const [place, content] of contents.entries()) {
          await memory.store({ ...note, owner, memoryId: idOf(place), content, category: owner }, call());
        }
      }),
    );
    const forgetful = new Set(owners.filter((_, n) => n % 2 === 0));
    await Promise.all(
      owners.map(async (owner) => {
        if (!forgetful.has(owner)) return;
        const { memoryIds } = await memory.forget({ owner, selection: { category: owner }, all: false }, call());
        t.deepEqual(
          [...memoryIds].sort(),
          contents.map((_, place) => idOf(place)),
        );
        await memory.store({ ...note, owner, memoryId: idOf(9), content: contents[0] ?? '', category: owner }, call());
      }),
    );
    const expected = (owner: string): string[] =>
      (forgetful.has(owner) ? [9] : contents.map((_, place) => place)).map((place) => `${idOf(place)} ${owner}`);
    for (const owner of owners) t.deepEqual(await seen(owner), [expected(owner), expected(owner)], owner);
    t.deepEqual(await seen('u:nobody'), [[], []]);
  });

  test('owners who rest leave working memory, and are there again when they are used', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
    const isAwake = async (): Promise<boolean | undefined> =>
      (await raw.listTenants(`${prefix}_1`)).find(({ name }) => name === tenantOf('u:ada'))?.isHot;
    const failures: unknown[] = [];
    const onFailure = (error: unknown): unknown => failures.push(error);
    await using store = await openTestStore({ url, embedder, prefix, idleMs: 300, onFailure });
    const memory = memoryOn(store);
    await memory.store({ ...note, owner: 'u:ada', memoryId: 'a', content: 'sleep well' }, call());
    t.deepEqual((await memory.search(search('u:nobody', 'sleep'), call())).results, []);
    await until(async () => (await isAwake()) === false);
    t.is((await memory.search(search('u:ada', 'sleep'), call())).results.length, 1);
    await until(async () => (await isAwake()) === false);
    t.is((await memory.get({ owner: 'u:ada', memoryId: 'a' }, call())).content, 'sleep well');
    await until(async () => (await isAwake()) === false);
    await memory.update({ owner: 'u:ada', memoryId: 'a', content: 'wide awake' }, call());
    t.is((await memory.search(search('u:ada', 'awake'), call())).results[0]?.content, 'wide awake');
    t.deepEqual(failures, []);
  });

  test('updates of one memory through two services at once all count', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using one = await openTestStore({ url, embedder, prefix });
    await using two = await openTestStore({ url, embedder, prefix });
    const memory = memoryOn(one);
    await memory.store({ ...note, owner: 'u:ada', memoryId: 'a', content: 'counts' }, call());
    const add = async (store: MemoryStore, n: number): Promise<unknown> =>
      memoryOn(store).update(
        { owner: 'u:ada', memoryId: 'a', content: 'counts', metadataJson: Buffer.from(`{"n${String(n)}":1}`) },
        call(),
      );
    await Promise.all([one, two].flatMap((store, place) => [0, 1, 2, 3].map((n) => add(store, place * 4 + n))));
    const { metadataJson } = await memory.get({ owner: 'u:ada', memoryId: 'a' }, call());
    const fields = JSON.parse(Buffer.from(metadataJson).toString()) as Record<string, number>;
    t.is(Object.keys(fields).length, 8);
  });

  test('many services may begin at once on a Weaviate that is empty', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const stores = await Promise.all([1, 2, 3].map(() => openTestStore({ url, embedder, prefix })));
    t.teardown(() => Promise.all(stores.map((store) => store[Symbol.asyncDispose]())));
    for (const [place, store] of stores.entries()) {
      await memoryOn(store).store({ ...note, owner: 'u:ada', memoryId: String(place), content: 'here' }, call());
    }
    for (const store of stores) t.is((await memoryOn(store).search(search('u:ada', 'here'), call())).results.length, 3);
  });

  test('memories of another embedder are refused at the start; a Weaviate without memories takes it', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const other = { model: 'other', dimension: 3 };
    await (await openTestStore({ url, embedder: other, prefix }))[Symbol.asyncDispose]();
    {
      await using store = await openTestStore({ url, embedder, prefix });
      await memoryOn(store).store({ ...note, owner: 'u:ada', memoryId: 'a', content: 'kept' }, call());
    }
    await t.throwsAsync(openTestStore({ url, embedder: other, prefix }), {
      name: 'ConfigError',
      message:
        'the memories at WEAVIATE_URL were embedded by hash-v1 (384 numbers), not other (3 numbers): set EMBEDDINGS_PROVIDER, ' +
        'EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or run services/memory/reindex.ts',
    });
    await using again = await openTestStore({ url, embedder, prefix });
    t.is((await memoryOn(again).get({ owner: 'u:ada', memoryId: 'a' }, call())).content, 'kept');
  });
});

test('a Weaviate that is not there is Unavailable', async (t) => {
  const error = await t.throwsAsync(openTestStore({ url: 'http://127.0.0.1:9', embedder, prefix: 'T' }));
  t.true(isServiceError(error, 'Unavailable'));
  t.false(error.message.includes('127.0.0.1'));
});

/** Asks again and again, until it is so; the test's own timeout ends it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}
