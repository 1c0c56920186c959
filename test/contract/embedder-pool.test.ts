import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { embedTexts } from '@agent-workflow/memory/embedders/embedding';
import { createOpenaiEmbedder } from '@agent-workflow/memory/embedders/openai';
import { createEmbedderPool } from '@agent-workflow/memory/embedders/pool';
import type { Embedder } from '@agent-workflow/memory/ports/embedder';
import { within } from '@agent-workflow/protos/call';
import { startOpenaiEmbeddings, type OpenaiEmbeddings } from '../servers/openai-embeddings.ts';
import { embedderContract } from './embedder.ts';
import { byLoad } from '../by-load.ts';

const dimension = 8;

const poolOf = ({ url }: OpenaiEmbeddings, options: Parameters<typeof createEmbedderPool>[1] = {}): Embedder =>
  createEmbedderPool(
    createOpenaiEmbedder({ baseUrl: url, apiKey: undefined, model: 'letters', dimension, timeoutMs: 10_000 }),
    { firstWaitMs: 20, ...options },
  );

embedderContract(test, 'a pool', async () => {
  const server = await startOpenaiEmbeddings({ dimension });
  return { embedder: poolOf(server), [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose]() };
});

test('the texts of many callers go in few requests, and each caller gets its own vectors', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  const pool = poolOf(server, { maxUnderWay: 2, maxTexts: 50 });
  const texts = Array.from({ length: 120 }, (_, n) => 'a'.repeat(n % 7) + 'b'.repeat(n % 5));
  const vectors = await Promise.all(texts.map(async (text) => pool.embed([text], within(byLoad(10_000)))));
  t.deepEqual(
    vectors.map(([vector]) => [...(vector ?? [])]),
    texts.map(server.vectorOf),
  );
  t.deepEqual(server.requests.map(({ input }) => input.length).sort(), [20, 50, 50]);
});

test('a request that the endpoint is too busy for is sent again', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'status', status: 503 });
  const embedding = poolOf(server, { firstWaitMs: 400 }).embed(['ab'], within(byLoad(10_000)));
  while (server.requests.length === 0) await new Promise(setImmediate);
  server.behave({ kind: 'answer' });
  t.deepEqual(
    (await embedding).map((vector) => [...vector]),
    [server.vectorOf('ab')],
  );
  t.is(server.requests.length, 2);
});

test('an endpoint that cannot be reached is Unavailable after a few attempts; one that refuses is asked once', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'status', status: 500 });
  const away = await t.throwsAsync(poolOf(server).embed(['a'], within(byLoad(10_000))));
  t.true(isServiceError(away, 'Unavailable'));
  t.is(server.requests.length, 3);
  server.behave({ kind: 'status', status: 401 });
  const refused = await t.throwsAsync(poolOf(server).embed(['a'], within(byLoad(10_000))));
  t.true(isServiceError(refused, 'Internal'));
  t.is(server.requests.length, 4);
});

test('one text that has no usable vector is not the failure of the texts that go with it', async (t) => {
  const vectorOf = (text: string): number[] => Array.from({ length: text === 'bad' ? 3 : dimension }, () => 1);
  await using server = await startOpenaiEmbeddings({ dimension, vectorOf });
  const pool = poolOf(server);
  const asked = ['a', 'bad', 'b'].map(async (text) => pool.embed([text], within(byLoad(10_000))));
  const [a, bad, b] = await Promise.allSettled(asked);
  t.deepEqual([a?.status, b?.status], ['fulfilled', 'fulfilled']);
  t.true(bad?.status === 'rejected' && isServiceError(bad.reason, 'Invalid'));
});

test('a wait of half a minute that the endpoint asks for is returned to the caller at once', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'status', status: 429, headers: { 'retry-after': '30' } });
  const error = await t.throwsAsync(poolOf(server).embed(['a'], within(byLoad(10_000))));
  t.is(isServiceError(error, 'Unavailable') ? error.retryAfterMs : undefined, 30_000);
  t.is(server.requests.length, 1);
});

test('each caller has its own deadline, whatever others wait for', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'hang' });
  const pool = poolOf(server, { maxUnderWay: 1 });
  const caller = new AbortController();
  const long = pool.embed(['a'], within(60_000, caller.signal));
  const short = pool.embed(['b'], within(50));
  t.true(isServiceError(await t.throwsAsync(short), 'Timeout'));
  const late = pool.embed(['c'], within(50));
  t.true(isServiceError(await t.throwsAsync(late), 'Timeout'));
  caller.abort();
  t.true(isServiceError(await t.throwsAsync(long), 'Cancelled'));
});

test('more texts than may wait are refused', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  const pool = poolOf(server, { maxWaiting: 2 });
  const error = await t.throwsAsync(pool.embed(['a', 'b', 'c'], within(byLoad(10_000))));
  t.true(isServiceError(error, 'Unavailable'));
  t.is((await pool.embed(['a', 'b'], within(byLoad(10_000)))).length, 2);
});

for (const status of [500, 400, 413, 422, 502, 503])
  test(`one text of eight that the embedder answers with ${String(status)} fails alone, and by name`, async (t) => {
    await using server = await startOpenaiEmbeddings({
      dimension,
      refusalOf: (text) => (text.length > 50 ? status : undefined),
    });
    const pool = poolOf(server);
    const texts = Array.from({ length: 8 }, (_, n) => (n === 5 ? 'a'.repeat(60) : 'b'.repeat(n + 1)));
    const settled = await Promise.allSettled(
      texts.map(async (text) => {
        const [vector] = await embedTexts(pool, { texts: [text], field: ['content'] }, within(byLoad(20_000)));
        return vector;
      }),
    );
    t.deepEqual(
      settled.map((each) => (each.status === 'fulfilled' ? 'stored' : String(each.reason))),
      texts.map((text) => (text.length > 50 ? 'Invalid: content: the embedder cannot take this text' : 'stored')),
    );
    t.true(server.requests.length <= 12, String(server.requests.length));
  });

test('an endpoint that answers every request with 500 gets few more requests than one', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension, refusalOf: () => 500 });
  const pool = poolOf(server, { maxAttempts: 2 });
  const texts = Array.from({ length: 128 }, (_, n) => `text ${String(n)}`);
  const settled = await Promise.allSettled(texts.map(async (text) => pool.embed([text], within(byLoad(20_000)))));
  t.true(settled.every((each) => each.status === 'rejected' && isServiceError(each.reason, 'Unavailable')));
  t.true(server.requests.length <= 2 + 28 + 3, String(server.requests.length));
});

test('a refusal of the key is no failure of one text: the endpoint is asked once for all', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension, refusalOf: () => 401 });
  const pool = poolOf(server);
  await Promise.allSettled(Array.from({ length: 9 }, async () => pool.embed(['a'], within(byLoad(20_000)))));
  t.is(server.requests.length, 1);
});
