import test from 'ava';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { hashEmbedder } from '@agent-workflow/memory/embedders/hash';
import { createOpenaiEmbedder } from '@agent-workflow/memory/embedders/openai';
import { openEmbedder } from '@agent-workflow/memory/embedders/registry';
import { openMemory } from '@agent-workflow/memory/open';
import type { Embedder } from '@agent-workflow/memory/ports/embedder';
import { within } from '@agent-workflow/protos/call';
import { createClient } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { startOpenaiEmbeddings, type Behaviour, type OpenaiEmbeddings } from '../servers/openai-embeddings.ts';
import { embedderContract } from './embedder.ts';
import { byLoad } from '../by-load.ts';

const dimension = 8;

const embedderOf = ({ url }: Pick<OpenaiEmbeddings, 'url'>, timeoutMs = 10_000): Embedder =>
  createOpenaiEmbedder({ baseUrl: url, apiKey: 'sesame', model: 'letters', dimension, timeoutMs });

const embed = async (embedder: Embedder, call = within(byLoad(10_000))): Promise<Float32Array[]> =>
  embedder.embed(['a text'], call);

embedderContract(test, 'hash', async () => {
  const opened = { embedder: hashEmbedder, [Symbol.asyncDispose]: async () => Promise.resolve() };
  return Promise.resolve(opened);
});

embedderContract(test, 'openai', async () => {
  const server = await startOpenaiEmbeddings({ dimension });
  return { embedder: embedderOf(server), [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose]() };
});

test('many texts go in batches, with model and key', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  const texts = Array.from({ length: 129 }, (_, n) => 'a'.repeat(n % 5));
  const vectors = await embedderOf(server).embed(texts, within(byLoad(10_000)));
  t.deepEqual(
    vectors.map((vector) => [...vector]),
    texts.map(server.vectorOf),
  );
  t.deepEqual(
    server.requests.map(({ path, authorization, model, input }) => [path, authorization, model, input.length]),
    [
      ['/v1/embeddings', 'Bearer sesame', 'letters', 128],
      ['/v1/embeddings', 'Bearer sesame', 'letters', 1],
    ],
  );
});

const failures: readonly [behaviour: Behaviour, code: ErrorCode, message: RegExp][] = [
  [{ kind: 'status', status: 500 }, 'Unavailable', /answered with status 500$/],
  [{ kind: 'status', status: 503 }, 'Unavailable', /answered with status 503$/],
  [{ kind: 'status', status: 429 }, 'Unavailable', /answered with status 429$/],
  [{ kind: 'status', status: 401 }, 'Internal', /refused the request with status 401$/],
  [{ kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'Unavailable', /cannot be reached$/],
  [{ kind: 'body', body: 'not json' }, 'Internal', /answered no JSON$/],
  [{ kind: 'body', body: '{}' }, 'Internal', /did not answer one embedding a text$/],
  [
    { kind: 'body', body: '{"data":[{"index":5,"embedding":[1]}]}' },
    'Internal',
    /did not answer one embedding a text$/,
  ],
  [{ kind: 'vector', vector: [1, 2, 3] }, 'Invalid', /gave 3 numbers where 8 are expected$/],
  [{ kind: 'vector', vector: [] }, 'Invalid', /gave 0 numbers where 8 are expected$/],
  [{ kind: 'vector', vector: [1, 2, 3, 4, 5, 6, 7, null] }, 'Invalid', /gave something that is no number$/],
  [{ kind: 'vector', vector: [1, 2, 3, 4, 5, 6, 7, 1e300] }, 'Invalid', /gave something that is no number$/],
  [{ kind: 'body', body: '{"data":[{"embedding":[1,NaN,3]}]}' }, 'Invalid', /gave something that is no number$/],
  [{ kind: 'body', body: '{"data":[{"embedding":[-Infinity]}]}' }, 'Invalid', /gave something that is no number$/],
];

for (const [behaviour, code, message] of failures) {
  test(`an endpoint that gives ${JSON.stringify(behaviour)} is ${code}`, async (t) => {
    await using server = await startOpenaiEmbeddings({ dimension });
    server.behave(behaviour);
    const error = await t.throwsAsync(embed(embedderOf(server)), { message });
    t.true(isServiceError(error, code));
  });
}

test('the wait that a busy endpoint asks for is passed on', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'status', status: 429, headers: { 'retry-after': '7' } });
  const error = await t.throwsAsync(embed(embedderOf(server)));
  t.is(isServiceError(error) ? error.retryAfterMs : undefined, 7000);
});

test('an endpoint that is not there is Unavailable', async (t) => {
  const server = await startOpenaiEmbeddings({ dimension });
  await server[Symbol.asyncDispose]();
  const error = await t.throwsAsync(embed(embedderOf(server)));
  t.true(isServiceError(error, 'Unavailable'));
});

test('a slow endpoint is Unavailable, and Timeout when the deadline comes first', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'hang' });
  const slow = await t.throwsAsync(embed(embedderOf(server, 30)));
  t.true(isServiceError(slow, 'Unavailable'));
  const late = await t.throwsAsync(embed(embedderOf(server), within(30)));
  t.true(isServiceError(late, 'Timeout'));
});

test('a caller that goes away ends the request to the endpoint', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'hang' });
  const caller = new AbortController();
  const embedding = embed(embedderOf(server), within(10_000, caller.signal));
  await server.hanging;
  caller.abort();
  const error = await t.throwsAsync(embedding);
  t.true(isServiceError(error, 'Cancelled'));
  await t.notThrowsAsync(server.abandoned);
});

test('memories are stored and found through the endpoint, and nothing is stored while it is unavailable', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  const env = {
    EMBEDDINGS_PROVIDER: 'openai',
    EMBEDDINGS_BASE_URL: server.url,
    EMBEDDINGS_MODEL: 'letters',
    EMBEDDINGS_DIMENSION: '8',
  };
  await using opened = await openMemory({ path: ':memory:', values: readEnv(memorySettings, env) });
  const { memory } = opened;
  const parts = { owner: 'anon', memoryType: 'semantic' as const, category: '', metadataJson: Buffer.from('{}') };
  await memory.store({ ...parts, memoryId: 'a', content: 'aaa' }, within(byLoad(10_000)));
  await memory.store({ ...parts, memoryId: 'b', content: 'bbb' }, within(byLoad(10_000)));
  const query = {
    selection: {},
    limit: 1,
    scoreThreshold: 0,
    retrievalStrategy: 'similarity' as const,
    distanceMetric: 'cosine' as const,
    maxTokens: 10,
  };
  const { results } = await memory.search({ owner: 'anon', query: 'b', ...query }, within(byLoad(10_000)));
  t.deepEqual(
    results.map(({ memoryId, score, vectorJson }) => [memoryId, score, Buffer.from(vectorJson).toString()]),
    [['b', 1, '[0,1,0,0,0,0,0,0]']],
  );
  t.is(server.requests[0]?.authorization, undefined);

  server.behave({ kind: 'status', status: 503 });
  const error = await t.throwsAsync(memory.store({ ...parts, memoryId: 'c', content: 'c' }, within(byLoad(10_000))));
  t.true(isServiceError(error, 'Unavailable'));
  t.is((await memory.list({ owner: 'anon', selection: {}, limit: 10, offset: 0 }, within(byLoad(10_000)))).total, 2);
});

test('a wrong address of the embeddings endpoint stops the start', (t) => {
  const values = readEnv(memorySettings, { EMBEDDINGS_PROVIDER: 'openai', EMBEDDINGS_BASE_URL: 'localhost:11434' });
  t.throws(() => openEmbedder(values), {
    name: 'ConfigError',
    message: 'EMBEDDINGS_BASE_URL must be an http or https address, not "localhost:11434"',
  });
});

test('embeddings of OpenAI without their key stop the start; a server elsewhere may need none', (t) => {
  const open = (env: Readonly<Record<string, string>>): unknown =>
    openEmbedder(readEnv(memorySettings, { EMBEDDINGS_PROVIDER: 'openai', ...env }));
  t.throws(() => open({}), {
    name: 'ConfigError',
    message:
      'EMBEDDINGS_API_KEY must be set, because EMBEDDINGS_PROVIDER is openai and EMBEDDINGS_BASE_URL is https://api.openai.com/v1',
  });
  t.notThrows(() => open({ EMBEDDINGS_API_KEY: 'key' }));
  t.notThrows(() => open({ EMBEDDINGS_BASE_URL: 'http://127.0.0.1:11434/v1' }));
});

test('a request whose embedder does not answer in time is 504, and Retry-After says when to come back', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension });
  server.behave({ kind: 'hang' });
  await using service = await openEmbedded(null, {
    ...{ EMBEDDINGS_PROVIDER: 'openai', EMBEDDINGS_BASE_URL: server.url, EMBEDDINGS_DIMENSION: String(dimension) },
    CALL_TIMEOUT_MS: '300',
  });
  const { status, headers, body } = await createClient(service.url).send('POST', '/v1/store/search', { query: 'tea' });
  t.is(status, 504, JSON.stringify(body));
  t.is(headers.get('retry-after'), '1');
});

test('a dimension below that of the model is asked for, once it is seen to be below', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension: 20 });
  const embedder = embedderOf(server);
  for (const text of ['ab', 'cd']) {
    const [vector] = await embedder.embed([text], within(byLoad(10_000)));
    t.deepEqual([...(vector ?? [])], server.vectorOf(text).slice(0, dimension));
  }
  t.deepEqual(
    server.requests.map(({ dimensions }) => dimensions),
    [undefined, dimension, dimension],
  );
});

for (const [dimensions, msg] of [
  ['ignored', 'the embedder gave 20 numbers where 8 are expected, though it was asked for so many as `dimensions`'],
  ['refused', 'the embedder gave 20 numbers where 8 are expected, and refuses to be asked for so many as `dimensions`'],
] as const)
  test(`a store says so when \`dimensions\` are ${dimensions} by the embedder`, async (t) => {
    await using server = await startOpenaiEmbeddings({ dimension: 20, dimensions });
    for (let times = 0; times < 2; times += 1) {
      const error = await t.throwsAsync(embedderOf(server).embed(['ab'], within(byLoad(10_000))));
      t.true(isServiceError(error, 'Invalid') && error.details[0]?.msg === msg, String(error));
    }
  });

test('an embedder whose model has the dimension of the settings is never asked for it', async (t) => {
  await using server = await startOpenaiEmbeddings({ dimension, dimensions: 'refused' });
  await embedderOf(server).embed(['ab'], within(byLoad(10_000)));
  t.is(server.requests[0]?.dimensions, undefined);
});
