import { sizes } from '@agent-workflow/kit/sizes';
import test, { type ExecutionContext } from 'ava';
import { createClient, type Client, type Reply } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { startOpenaiEmbeddings, type Behaviour, type OpenaiEmbeddings } from '../servers/openai-embeddings.ts';

const dimension = 4;
const note = { content: 'a cab', memory_type: 'semantic', category: 'notes' };
const root = '/v1/store/memories';

interface Opened extends Pick<Client, 'send'> {
  readonly embeddings: OpenaiEmbeddings;
  /** What is kept, as texts. */
  readonly kept: () => Promise<string[]>;
}

/** The whole service over an endpoint for embeddings, with one memory in it. */
async function open(t: ExecutionContext): Promise<Opened> {
  const embeddings = await startOpenaiEmbeddings({ dimension });
  const service = await openEmbedded(null, {
    EMBEDDINGS_PROVIDER: 'openai',
    EMBEDDINGS_BASE_URL: embeddings.url,
    EMBEDDINGS_DIMENSION: String(dimension),
  });
  t.teardown(async () => {
    await service[Symbol.asyncDispose]();
    await embeddings[Symbol.asyncDispose]();
  });
  const { send } = createClient(service.url);
  t.is((await send('POST', root, { ...note, content: 'a bad cab' })).status, 200);
  const kept = async (): Promise<string[]> => {
    const { memories } = (await send('GET', root)).body.data as { memories: { content: string }[] };
    return memories.map(({ content }) => content);
  };
  return { send, embeddings, kept };
}

interface Refusal {
  readonly error: {
    readonly code: string;
    readonly details: readonly { readonly loc: unknown; readonly msg: string }[];
  };
}

/** Checks that it is 422 at this place, and gives what is said there. */
function refused(t: ExecutionContext, { status, body }: Reply, loc: readonly string[]): string | undefined {
  const { error } = body as unknown as Refusal;
  t.deepEqual([status, error.code, error.details[0]?.loc], [422, 'VALIDATION_ERROR', loc], JSON.stringify(body));
  return error.details[0]?.msg;
}

const broken: Readonly<Record<string, readonly [gives: Behaviour, said: string]>> = {
  'a vector of another dimension': [
    { kind: 'vector', vector: [1, 2, 3] },
    'the embedder gave 3 numbers where 4 are expected',
  ],
  'a vector of none': [{ kind: 'vector', vector: [] }, 'the embedder gave 0 numbers where 4 are expected'],
  'NaN as Python writes it': [
    { kind: 'body', body: '{"data":[{"index":0,"embedding":[1, NaN, 3, 4]}]}' },
    'the embedder gave something that is no number',
  ],
  'NaN as JavaScript writes it': [
    { kind: 'vector', vector: [1, null, 3, 4] },
    'the embedder gave something that is no number',
  ],
  'a number beyond all that a vector holds': [
    { kind: 'vector', vector: [1, 1e300, 3, 4] },
    'the embedder gave something that is no number',
  ],
};

for (const [what, [gives, message]] of Object.entries(broken)) {
  test(`an embedder that gives ${what}: 422 at the text, and nothing is stored, changed or found`, async (t) => {
    const { send, embeddings, kept } = await open(t);
    const [{ id }] = ((await send('GET', root)).body.data as { memories: [{ id: string }] }).memories;
    embeddings.behave(gives);
    t.is(refused(t, await send('POST', root, note), ['body', 'content']), message);
    t.is(refused(t, await send('POST', root, { ...note, options: { dedupe: true } }), ['body', 'content']), message);
    t.is(refused(t, await send('PUT', `${root}/${id}`, { content: 'changed' }), ['body', 'content']), message);
    t.is(refused(t, await send('POST', '/v1/store/search', { query: 'cab' }), ['body', 'query']), message);
    t.deepEqual(await kept(), ['a bad cab']);

    embeddings.behave({ kind: 'answer' });
    t.is((await send('POST', root, note)).status, 200);
    t.deepEqual(await kept(), ['a cab', 'a bad cab']);
  });
}

test('a content that is empty, blank, larger than a memory may be, or of 1 MB is 422, and nothing is stored', async (t) => {
  const { send, embeddings, kept } = await open(t);
  const asked = embeddings.requests.length;
  const [{ id }] = ((await send('GET', root)).body.data as { memories: [{ id: string }] }).memories;
  for (const content of ['', ' \n\t', 'é'.repeat(sizes.memory / 2) + '!', 'x'.repeat(1024 * 1024)]) {
    refused(t, await send('POST', root, { ...note, content }), ['body', 'content']);
    refused(t, await send('PUT', `${root}/${id}`, { content }), ['body', 'content']);
  }
  refused(t, await send('POST', '/v1/store/search', { query: 'x'.repeat(1024 * 1024) }), ['body', 'query']);
  t.is(embeddings.requests.length, asked, 'no embedder is asked for any of it');
  t.deepEqual(await kept(), ['a bad cab']);
});

const searches: readonly (readonly [what: string, body: object, loc: readonly string[]])[] = [
  ['a strategy that there is not', { retrieval_strategy: 'luck' }, ['retrieval_strategy']],
  ['a strategy that every object has', { retrieval_strategy: 'toString' }, ['retrieval_strategy']],
  ['conditions in a list', { filters: { $or: [{ a: 1 }, { b: 2 }] } }, ['filters', '$or']],
  ['a condition below an operator', { filters: { a: { $not: { $gt: 1 } } } }, ['filters', 'a', '$not']],
  ['an operator as an operand', { filters: { a: { $ne: { $gt: 1 } } } }, ['filters', 'a', '$ne', '$gt']],
  ['an operator inside a value', { filters: { a: { b: { $gt: 1 } } } }, ['filters', 'a', '$gt']],
  ['an operator inside a list', { filters: { a: { $in: [[{ $gt: 1 }]] } } }, ['filters', 'a', '$in', '$gt']],
  ['code as a key', { filters: { $where: 'this.owner' } }, ['filters', '$where']],
  ['code as an operator', { filters: { a: { $function: 'x' } } }, ['filters', 'a', '$function']],
  ['a pattern as a value', { filters: { a: { $regex: '.*' } } }, ['filters', 'a', '$regex']],
];

for (const [what, body, loc] of searches) {
  test(`${what} is 422 in a search and, as filters, in forgetting, which forgets nothing`, async (t) => {
    const { send, kept } = await open(t);
    refused(t, await send('POST', '/v1/store/search', { query: 'cab', ...body }), ['body', ...loc]);
    if ('filters' in body) refused(t, await send('POST', `${root}/forget`, body), ['body', ...loc]);
    t.deepEqual(await kept(), ['a bad cab']);
  });
}

test('a query language in keys and values of filters is a text among texts: it finds and forgets nothing', async (t) => {
  const { send, kept } = await open(t);
  const hostile = [`" OR 1=1 --`, `') OR ('a'='a`, '"}}) { Get { Agent } }', 'a\u0000b', '*', '%', 'owner'];
  for (const text of hostile)
    for (const filters of [{ [text]: text }, { topic: text }, { topic: { $in: [text] } }, { category: text }]) {
      const found = await send('POST', '/v1/store/search', { query: 'cab', filters });
      t.deepEqual([found.status, found.body.data], [200, { results: [] }], JSON.stringify(filters));
      const forgotten = await send('POST', `${root}/forget`, { filters });
      t.like(forgotten.body.data, { deleted_count: 0, memory_ids: [] }, JSON.stringify(filters));
    }
  t.deepEqual(await kept(), ['a bad cab']);
});

test('a key that reaches for prototypes is 400 wherever it stands, and nothing is stored', async (t) => {
  const { send, kept } = await open(t);
  const reaching: object = JSON.parse('{"__proto__": {"owner": "u:bob"}}') as object;
  for (const [path, body] of [
    [root, { ...note, metadata: reaching }],
    ['/v1/store/search', { query: 'cab', filters: reaching }],
    [`${root}/forget`, { filters: reaching }],
  ] as const)
    t.is((await send('POST', path, body)).status, 400, path);
  t.deepEqual(await kept(), ['a bad cab']);
});
