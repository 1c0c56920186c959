import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test);

interface Found {
  readonly results: { readonly content: string; readonly score: number; readonly memory_type: string }[];
}

const path = '/v1/store/search';
const search = (body: object) => send('POST', path, body);

test.serial.before(async () => {
  for (const [content, type, category, thread, metadata] of [
    ['The harbour opens at six in the morning', 'semantic', 'facts', 'a', { level: 1 }],
    ['Ada likes tea with milk', 'episodic', 'people', 'a', { level: 2 }],
    ['Boats are painted in spring', 'procedural', 'facts', 'b', { level: 3 }],
  ] as const) {
    await send('POST', '/v1/store/memories', {
      content,
      memory_type: type,
      category,
      config: { thread_id: thread },
      metadata,
    });
  }
});

test('a question that shares only some of its words finds the memory', async (t) => {
  const { results }: Found = await data(t, 'searchMemories', search({ query: 'when does the harbour open' }));
  t.is(results[0]?.content, 'The harbour opens at six in the morning');
  t.true(results.every(({ score }) => score >= 0 && score <= 1));
});

for (const strategy of ['similarity', 'temporal', 'relevance', 'hybrid', 'graph_traversal']) {
  test(`the strategy ${strategy} answers`, async (t) => {
    const { results }: Found = await data(
      t,
      'searchMemories',
      search({ query: 'tea with milk', retrieval_strategy: strategy }),
    );
    t.true(results.some(({ content }) => content === 'Ada likes tea with milk'));
  });
}

for (const metric of ['cosine', 'euclidean', 'dot_product', 'manhattan']) {
  test(`the metric ${metric} finds the nearest first`, async (t) => {
    const { results }: Found = await data(
      t,
      'searchMemories',
      search({ query: 'Ada likes tea with milk', distance_metric: metric }),
    );
    t.is(results[0]?.content, 'Ada likes tea with milk');
  });
}

test('type, category, thread, filters, limit and threshold narrow it', async (t) => {
  const count = async (narrowing: object): Promise<number> => {
    const { results }: Found = await data(t, 'searchMemories', search({ query: 'harbour', ...narrowing }));
    return results.length;
  };
  t.is(await count({}), 3);
  t.is(await count({ memory_type: 'episodic' }), 1);
  t.is(await count({ category: 'facts' }), 2);
  t.is(await count({ config: { thread_id: 'b' } }), 1);
  t.is(await count({ filters: { level: { $gte: 2 } } }), 2);
  t.is(await count({ limit: 1 }), 1);
  t.is(await count({ limit: 5000 }), 3);
  t.is(await count({ score_threshold: 1 }), 0);
  t.is(await count({ max_tokens: 1 }), 1);
});

test('a query of blanks finds the newest that pass, each with score 1', async (t) => {
  const { results }: Found = await data(t, 'searchMemories', search({ query: ' \n', category: 'facts' }));
  t.deepEqual(
    results.map(({ score }) => score),
    [1, 1],
  );
});

for (const [what, body, field] of [
  ['no query', { query: undefined }, 'query'],
  ['a query that is no text', { query: 5 }, 'query'],
  ['an unknown type', { memory_type: 'vague' }, 'memory_type'],
  ['an unknown strategy', { retrieval_strategy: 'luck' }, 'retrieval_strategy'],
  ['an unknown metric', { distance_metric: 'miles' }, 'distance_metric'],
  ['a limit of 0', { limit: 0 }, 'limit'],
  ['a threshold above 1', { score_threshold: 1.5 }, 'score_threshold'],
  ['a threshold that is a text', { score_threshold: '0' }, 'score_threshold'],
  ['no room for any token', { max_tokens: 0 }, 'max_tokens'],
  ['filters that are a list', { filters: [] }, 'filters'],
] as const) {
  test(`${what} is 422 and named`, async (t) => {
    t.deepEqual(await refused(t, search({ query: 'x', ...body }), 422, codeOf(422)), [['body', field]]);
  });
}
