import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { createWeaviate } from '@agent-workflow/memory/adapters/weaviate/client';
import { openMarks } from '@agent-workflow/memory/adapters/weaviate/marks';
import { openRequests } from '@agent-workflow/memory/adapters/weaviate/records/idempotency';
import { openReindex } from '@agent-workflow/memory/adapters/weaviate/reindex';
import { tenantOf } from '@agent-workflow/memory/adapters/weaviate/objects/objects';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createMemories } from '@agent-workflow/memory/memories';
import type { IdempotentRequest } from '@agent-workflow/memory/ports/records';
import type { MemoryStore } from '@agent-workflow/memory/ports/store';
import { link } from '@agent-workflow/protos/wire/link';
import { within } from '@agent-workflow/protos/call';
import { requestOf } from '@agent-workflow/protos/repeats';
import type { Memory, SearchRequest } from '@agent-workflow/protos/memory';
import { withServer } from '../servers/real-suite.ts';
import { dropCollections, newPrefix, openTestStore } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { byLoad } from '../by-load.ts';

const embedder = hashEmbedder;
const memoryOn = (store: MemoryStore): Memory => link(createMemories({ store, embedder, halfLifeDays: 30 }));
const note = { memoryType: 'semantic' as const, category: 'notes', metadataJson: Buffer.from('{}') };
const call = (): ReturnType<typeof within> => within(byLoad(60_000));
/** Time that services have to begin, in milliseconds. */
const openMs = 120_000;
const search = (owner: string, query: string): SearchRequest => ({
  owner,
  query,
  selection: {},
  limit: 100,
  scoreThreshold: 0,
  retrievalStrategy: 'hybrid' as const,
  distanceMetric: 'cosine' as const,
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
      (await raw.listTenants(`${prefix}_1`)).find(({ name }) => name === tenantOf('u:ada'))?.isActive;
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

  test('three replicas that get one request at once have its effect once, and say the same', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using one = await openTestStore({ url, embedder, prefix });
    await using two = await openTestStore({ url, embedder, prefix });
    await using three = await openTestStore({ url, embedder, prefix });
    const replicas = [one, two, three].map(memoryOn);
    const [first] = replicas as [Memory];
    const owner = 'u:ada';
    for (const memoryId of ['a', 'b']) await first.store({ ...note, owner, memoryId, content: 'once' }, call());
    const update = { owner, memoryId: 'a', content: 'changed', onceKey: 'k' };
    const updates = await Promise.all(replicas.map(async (memory) => memory.update(update, call())));
    t.is(new Set(updates.map(({ timestamp }) => timestamp)).size, 1);
    const forget = { owner, selection: { category: 'notes' }, all: false, onceKey: 'k' };
    const forgotten = await Promise.all(replicas.map(async (memory) => memory.forget(forget, call())));
    for (const { memoryIds, deletedCount } of forgotten)
      t.deepEqual([[...memoryIds].sort(), deletedCount], [['a', 'b'], 2]);
    await first.store({ ...note, owner, memoryId: 'c', content: 'came since' }, call());
    for (const memory of replicas) t.is((await memory.forget(forget, call())).deletedCount, 2);
    for (const memory of replicas) t.is((await memory.update(update, call())).timestamp, updates[0]?.timestamp ?? 0);
    t.is((await first.list({ owner, selection: {}, limit: 10, offset: 0 }, call())).total, 1);
  });

  test('a removal whose process died goes on at another replica with what it was to remove', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using store = await openTestStore({ url, embedder, prefix });
    const memory = memoryOn(store);
    const owner = 'u:ada';
    for (const memoryId of ['a', 'b']) await memory.store({ ...note, owner, memoryId, content: 'goes' }, call());
    const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
    const died = await openRequests({ weaviate: raw, collection: `${prefix}Requests` });
    const known = requestOf('forget', { onceKey: 'k' });
    await died.beginRemoval(owner, { at: Date.now(), id: known?.id ?? '', keptMs: 60_000 }, ['a', 'b']);
    await memory.store({ ...note, owner, memoryId: 'c', content: 'came since' }, call());
    const forget = { owner, selection: { category: 'notes' }, all: false, onceKey: 'k' };
    for (const _ of [1, 2]) t.is((await memory.forget(forget, call())).deletedCount, 2);
    const { memories } = await memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
    t.deepEqual(
      memories.map(({ memoryId }) => memoryId),
      ['c'],
    );
  });

  test('the list of a removal has parts, and what is no longer known is forgotten with them', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const raw = await createWeaviate({ url, requestTimeoutMs: 10_000 });
    const collection = `${prefix}Requests`;
    const requests = await openRequests({ weaviate: raw, collection, partBytes: 10 });
    const request = (id: string, at: number): IdempotentRequest => ({ id, at, keptMs: 60_000 });
    const ids = ['aaaa', 'bbbb', 'cccc', 'dddddddddddddddddd'];
    const past = Date.now() - 120_000;
    for (const [id, at] of [['old', past] as const, ['new', Date.now()] as const]) {
      const { removed, memoryIds } = await requests.beginRemoval('u:ada', request(id, at), ids);
      t.deepEqual(removed, { memoryIds: ids, count: 4 });
      t.deepEqual(await Array.fromAsync(memoryIds()), [['aaaa', 'bbbb'], ['cccc'], ['dddddddddddddddddd']]);
    }
    await requests.expire();
    t.is(await requests.findRemoval('u:ada', request('old', past)), undefined);
    t.deepEqual((await requests.findRemoval('u:ada', request('new', Date.now())))?.removed.count, 4);
    t.is((await raw.page({ collection }, { limit: 100 })).length, 4);
  });

  test('many services may begin at once on a Weaviate that is empty', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    // A slow Weaviate may refuse one while another makes the collections: a service then tries again, as here.
    const open = async (): ReturnType<typeof openTestStore> =>
      retry(() => openTestStore({ url, embedder, prefix }), {
        ...serverAway,
        signal: AbortSignal.timeout(openMs),
        onRetry: (error) => t.log(error),
        mayHelp: (error) => isServiceError(error, 'Unavailable'),
      });
    const stores = await Promise.all([1, 2, 3].map(open));
    t.teardown(() => Promise.all(stores.map((store) => store[Symbol.asyncDispose]())));
    for (const [place, store] of stores.entries()) {
      await memoryOn(store).store({ ...note, owner: 'u:ada', memoryId: String(place), content: 'here' }, call());
    }
    await Promise.all(stores.map((store) => store.untilComplete()));
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

  test('an entry of what expires that cannot be read is set aside, and the others are removed', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await using store = await openTestStore({ url, embedder, prefix });
    const memory = memoryOn(store);
    for (const [memoryId, expiresAt] of [
      ['a', 1000],
      ['b', 2000],
    ] as const)
      await memory.store({ ...note, owner: 'u:ada', memoryId, content: 'short', expiresAt }, call());
    const client = await createWeaviate({ url, requestTimeoutMs: 20_000 });
    const id = '00000000-0000-4000-8000-000000000000';
    await client.create({ collection: `${prefix}Expiries`, id, properties: { due: 1, value: '{' } });
    const failures: unknown[] = [];
    await store.removeExpired(3000, (error) => failures.push(error));
    t.is(failures.length, 1);
    t.deepEqual(await store.get('u:ada', ['a', 'b']), []);
    await store.removeExpired(3000, (error) => failures.push(error));
    t.is(failures.length, 1);
  });

  test('memories with the keywords of another version are refused until reindex has made them anew', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    const client = await createWeaviate({ url, requestTimeoutMs: 20_000 });
    {
      await using store = await openTestStore({ url, embedder, prefix });
      await memoryOn(store).store({ ...note, owner: 'u:ada', memoryId: 'a', content: 'हिन्दी सीखता हूँ' }, call());
    }
    const scope = { collection: `${prefix}_1`, tenant: tenantOf('u:ada') };
    const [object] = await client.page(scope, { limit: 1 });
    if (!object) throw new Error('the memory is not there');
    const { id, properties, vector } = object;
    await client.replace({
      ...scope,
      id,
      properties: { ...properties, words: 'x' },
      vector: Float32Array.from(vector),
    });
    const marks = await openMarks(client, `${prefix}Marks`);
    const current = (await marks.read('current'))?.value as Record<string, unknown>;
    await marks.write('current', '', { ...current, terms: 1 });
    await t.throwsAsync(openTestStore({ url, embedder, prefix }), {
      instanceOf: ConfigError,
      message: /^the memories at WEAVIATE_URL have keywords of version 1, not \d+: run services\/memory\/reindex\.ts$/,
    });
    {
      await using reindex = await openReindex({ url, prefix, requestTimeoutMs: 20_000, onFailure: t.log });
      await reindex.load(await Array.fromAsync(reindex.scan()));
      await reindex.finish(embedder);
    }
    await using store = await openTestStore({ url, embedder, prefix });
    const hits = await store.findByKeywords({ owner: 'u:ada', text: 'हिन्दी', narrowing: {}, limit: 10 });
    t.deepEqual(
      hits.map(({ head }) => head.memoryId),
      ['a'],
    );
  });

  test('memories of a version before the first release are neither served nor copied', async (t) => {
    const { url } = await server();
    const prefix = newPrefix();
    t.teardown(() => dropCollections(url, prefix));
    await (await openTestStore({ url, embedder, prefix }))[Symbol.asyncDispose]();
    const marks = await openMarks(await createWeaviate({ url, requestTimeoutMs: 20_000 }), `${prefix}Marks`);
    const current = (await marks.read('current'))?.value as Record<string, unknown>;
    await marks.write('current', '', { ...current, schema: 2 });
    const refusal = {
      instanceOf: ConfigError,
      message: /^the memories at WEAVIATE_URL: the data has schema 2, and the last commit that reads it is \w+$/,
    };
    await t.throwsAsync(openTestStore({ url, embedder, prefix }), refusal);
    await t.throwsAsync(openReindex({ url, prefix, requestTimeoutMs: 20_000, onFailure: t.log }), refusal);
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
