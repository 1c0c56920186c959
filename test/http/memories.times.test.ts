import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test);

interface Memory {
  readonly id: string;
  readonly content: string;
  readonly timestamp: string;
  readonly expires_at?: string;
}

const root = '/v1/store/memories';
const memory = { content: 'The harbour opened', memory_type: 'episodic', category: 'facts' };
const store = async (body: object): Promise<string> => {
  const reply = await send('POST', root, { ...memory, ...body });
  return (reply.body.data as { memory_id: string }).memory_id;
};
const get = async (id: string) => send('GET', `${root}/${id}`);
const contentsOf = (memories: readonly Memory[]): string[] => memories.map(({ content }) => content);

test('a memory has the time of what it tells, which filters compare and temporal searches order by', async (t) => {
  const category = 'diary';
  for (const [content, timestamp] of [
    ['third', '2024-03-05T10:00:00+02:00'],
    ['first', 1_704_067_200],
    ['second', '2024-02-01T00:00:00Z'],
  ] as const)
    await store({ content, category, timestamp });
  await store({ content: 'of now', category });
  const search = async (filters: object, more: object = {}): Promise<readonly Memory[]> => {
    const body = { query: 'first second third now', category, filters, ...more };
    const reply = await data(t, 'searchMemories', send('POST', '/v1/store/search', body));
    return (reply as { results: Memory[] }).results;
  };
  const temporal = { retrieval_strategy: 'temporal' };
  t.deepEqual(contentsOf(await search({}, temporal)), ['of now', 'third', 'second', 'first']);
  t.deepEqual(
    (await search({ timestamp: { $lt: '2025-01-01' } }, temporal)).map(({ timestamp }) => timestamp),
    ['2024-03-05T08:00:00.000Z', '2024-02-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z'],
  );
  const march = { $gte: '2024-03-05', $lt: '2024-03-06' };
  for (const strategy of ['similarity', 'hybrid', 'relevance'])
    t.deepEqual(contentsOf(await search({ timestamp: march }, { retrieval_strategy: strategy })), ['third'], strategy);
  t.deepEqual(contentsOf(await search({ timestamp: { $lt: 1_706_745_600_000 } })), ['first']);
  t.deepEqual(contentsOf(await search({ timestamp: '2024-02-01T00:00:00Z' })), ['second']);
  const filters = encodeURIComponent(JSON.stringify({ timestamp: { $lt: '2025-01-01' } }));
  const listed = await data(t, 'listMemories', send('GET', `${root}?category=${category}&filters=${filters}`));
  t.like(listed, { total: 3 });
  // A list is in the order in which its memories were stored.
  t.deepEqual(contentsOf((listed as { memories: Memory[] }).memories), ['second', 'first', 'third']);
});

test('metadata with a field named timestamp is compared by it', async (t) => {
  await store({ category: 'old', metadata: { timestamp: 'noon' } });
  const body = { query: 'harbour', category: 'old', filters: { timestamp: { $in: ['noon', '2024-01-01'] } } };
  t.is((await send('POST', '/v1/store/search', body)).status, 422);
  await store({ category: 'old', metadata: { timestamp: '2020-01-01' } });
  const { results } = (await data(
    t,
    'searchMemories',
    send('POST', '/v1/store/search', { query: 'harbour', category: 'old', filters: { timestamp: '2020-01-01' } }),
  )) as { results: Memory[] };
  t.is(results.length, 1);
});

test('an update keeps the time of what a memory tells and its end, unless it gives others', async (t) => {
  const [timestamp, expires_at] = ['2024-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'];
  const id = await store({ timestamp, expires_at });
  const update = async (body: object): Promise<unknown> =>
    data(t, 'updateMemory', send('PUT', `${root}/${id}`, { content: 'The harbour closed', ...body }));
  t.like(await update({}), { memory: { timestamp, expires_at } });
  const later = '2024-06-01T00:00:00.000Z';
  t.like(await update({ timestamp: later, expires_at: 32_503_680_000 }), {
    memory: { timestamp: later, expires_at: '3000-01-01T00:00:00.000Z' },
  });
  t.like(await data(t, 'getMemory', get(id)), { memory: { timestamp: later, content: 'The harbour closed' } });
});

test('an expired memory is found by nothing', async (t) => {
  const category = 'short';
  const id = await store({ category, expires_at: '2020-01-01' });
  const kept = await store({ category, expires_at: Date.now() + 3_600_000 });
  t.is((await get(id)).status, 404);
  t.is((await send('PUT', `${root}/${id}`, { content: 'back' })).status, 404);
  for (const strategy of ['similarity', 'temporal', 'relevance', 'hybrid', 'graph_traversal']) {
    const body = { query: 'the harbour opened', category, retrieval_strategy: strategy };
    const { results } = (await data(t, 'searchMemories', send('POST', '/v1/store/search', body))) as {
      results: Memory[];
    };
    t.deepEqual(
      results.map((each) => each.id),
      [kept],
      strategy,
    );
  }
  const listed = (await data(t, 'listMemories', send('GET', `${root}?category=${category}`))) as {
    memories: Memory[];
    total: number;
  };
  t.is(listed.total, 1);
  t.deepEqual(
    listed.memories.map((each) => each.id),
    [kept],
  );
  const again = await store({ category: 'dedupe', expires_at: '2020-01-01', options: { dedupe: true } });
  t.not(await store({ category: 'dedupe', options: { dedupe: true } }), again);
});

for (const field of ['timestamp', 'expires_at'])
  for (const value of ['yesterday', -1, true, '', {}, 9e18])
    test(`${field} ${JSON.stringify(value)} is 422 and named`, async (t) => {
      const details = await refused(t, send('POST', root, { ...memory, [field]: value }), 422, codeOf(422));
      t.deepEqual(details[0], ['body', field]);
    });

for (const filter of [{ $gte: 'yesterday' }, { $in: ['2024-01-01', 'soon'] }, 'never', { $near: '2024-01-01' }])
  test(`the filter timestamp ${JSON.stringify(filter)} is 422 and named`, async (t) => {
    const reply = await send('POST', '/v1/store/search', { query: 'x', filters: { timestamp: filter } });
    t.is(reply.status, 422);
    t.regex(JSON.stringify(reply.body), /"loc":\["body","filters","timestamp"/);
  });
