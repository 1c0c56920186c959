import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test);
const listing = serve(test);
const selecting = serve(test);
const largeList = serve(test);

interface Memory {
  readonly id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vector: number[];
}
interface Page {
  readonly memories: Memory[];
  readonly total: number;
  readonly cursor?: string;
}

const memory = { content: 'The harbour opens at six', memory_type: 'semantic', category: 'facts' };
const root = '/v1/store/memories';
const store = async (body: object = {}, sendTo = send): Promise<string> => {
  const reply = await sendTo('POST', root, { ...memory, ...body });
  return (reply.body.data as { memory_id: string }).memory_id;
};
const pathOf = (id: string): string => `${root}/${id}`;

test('a stored memory is read back whole, by GET and by POST', async (t) => {
  const stored = (await data(
    t,
    'storeMemory',
    send('POST', root, { ...memory, metadata: { from: 'Ada' }, config: { thread_id: 5 } }),
  )) as {
    memory_id: string;
  };
  const path = pathOf(stored.memory_id);
  for (const reply of [send('GET', path), send('POST', path), send('POST', path, { config: {}, options: {} })]) {
    const { memory: item } = (await data(t, 'getMemory', reply)) as { memory: Memory };
    t.like(item, {
      ...memory,
      id: stored.memory_id,
      score: 1,
      metadata: { from: 'Ada' },
      thread_id: '5',
      user_id: '',
    });
    t.true(item.vector.length > 0);
  }
});

test('an update replaces the content and merges the metadata', async (t) => {
  const id = await store({ metadata: { a: 1, b: 1 } });
  const body = { content: 'It opens at seven', metadata: { b: 2 } };
  const { memory: item } = (await data(t, 'updateMemory', send('PUT', pathOf(id), body))) as { memory: Memory };
  t.like(item, { id, content: 'It opens at seven', metadata: { a: 1, b: 2 } });
});

test('a deleted memory is gone', async (t) => {
  const id = await store();
  t.deepEqual(await data(t, 'deleteMemory', send('DELETE', pathOf(id), { config: {} })), { success: true } as never);
  await refused(t, send('GET', pathOf(id)), 404, codeOf(404));
  await refused(t, send('DELETE', pathOf(id)), 404, codeOf(404));
});

test('memories are listed newest first, with their total, by GET and by POST', async (t) => {
  const { send: sendTo, data: read } = listing;
  const ids: string[] = [];
  for (const content of ['one', 'two', 'three'])
    ids.unshift(await store({ content, config: { thread_id: content } }, sendTo));
  const all: Page = await read(t, 'listMemories', sendTo('GET', root));
  t.deepEqual(
    all.memories.map(({ id }) => id),
    ids,
  );
  t.is(all.total, 3);
  const second: Page = await read(t, 'listMemories', sendTo('POST', `${root}/list`, { limit: 1, offset: 1 }));
  t.deepEqual(
    second.memories.map(({ content }) => content),
    ['two'],
  );
  const config = encodeURIComponent('{"thread_id":"three"}');
  const narrowed: Page = await read(t, 'listMemories', sendTo('GET', `${root}?config=${config}`));
  t.deepEqual(
    narrowed.memories.map(({ content }) => content),
    ['three'],
  );
  const first: Page = await read(t, 'listMemories', sendTo('GET', `${root}?limit=2`));
  const rest: Page = await read(
    t,
    'listMemories',
    sendTo('GET', `${root}?limit=2&cursor=${encodeURIComponent(first.cursor ?? '')}`),
  );
  t.deepEqual(
    [...first.memories, ...rest.memories].map(({ id }) => id),
    ids,
  );
});

test('a list shows, and counts, what the same selection forgets, by GET and by POST', async (t) => {
  const { send: sendTo, data: read } = selecting;
  for (const [content, category, city] of [
    ['one', 'places', 'Lisbon'],
    ['two', 'places', 'Porto'],
    ['three', 'taste', 'Lisbon'],
  ] as const)
    await store({ content, category, metadata: { city } }, sendTo);
  const selection = { memory_type: 'semantic', category: 'places', filters: { city: { $ne: 'Porto' } } };
  const query = `memory_type=semantic&category=places&filters=${encodeURIComponent(JSON.stringify(selection.filters))}`;
  for (const reply of [sendTo('GET', `${root}?${query}`), sendTo('POST', `${root}/list`, selection)]) {
    const page: Page = await read(t, 'listMemories', reply);
    t.deepEqual([page.total, page.memories.map(({ content }) => content)], [1, ['one']]);
  }
  const other: Page = await read(t, 'listMemories', sendTo('GET', `${root}?memory_type=episodic`));
  t.is(other.total, 0);
  const wrong = encodeURIComponent('{"city":{"$near":1}}');
  t.deepEqual(await selecting.refused(t, sendTo('GET', `${root}?filters=${wrong}`), 422, codeOf(422)), [
    ['query', 'filters', 'city', '$near'],
  ]);
  t.like(await read(t, 'forgetMemories', sendTo('POST', `${root}/forget`, selection)), { deleted_count: 1 });
});

test('a memory that is not there is 404', async (t) => {
  await refused(t, send('GET', pathOf('nothing')), 404, codeOf(404));
  await refused(t, send('POST', pathOf('nothing'), {}), 404, codeOf(404));
  await refused(t, send('PUT', pathOf('nothing'), { content: 'x' }), 404, codeOf(404));
  await refused(t, send('DELETE', pathOf('nothing')), 404, codeOf(404));
});

for (const [what, change, field] of [
  ['no content', { content: undefined }, ['content']],
  ['an empty content', { content: '' }, ['content']],
  ['no type', { memory_type: undefined }, ['memory_type']],
  ['an unknown type', { memory_type: 'vague' }, ['memory_type']],
  ['no category', { category: undefined }, ['category']],
  ['metadata that is a list', { metadata: [] }, ['metadata']],
  ['a thread id with a slash', { config: { thread_id: 'a/b' } }, ['config', 'thread_id']],
] as const) {
  test(`storing with ${what} is 422 and named`, async (t) => {
    t.deepEqual(await refused(t, send('POST', root, { ...memory, ...change }), 422, codeOf(422)), [['body', ...field]]);
  });
}

test('an update without content, and a content that is no text, are 422', async (t) => {
  const path = pathOf(await store());
  t.deepEqual(await refused(t, send('PUT', path, {}), 422, codeOf(422)), [['body', 'content']]);
  t.deepEqual(await refused(t, send('PUT', path, { content: 5 }), 422, codeOf(422)), [['body', 'content']]);
});

test('paging that does not hold is 422, in the query as in the body', async (t) => {
  t.deepEqual(await refused(t, send('GET', `${root}?limit=0`), 422, codeOf(422)), [['query', 'limit']]);
  t.deepEqual(await refused(t, send('POST', `${root}/list`, { limit: 0 }), 422, codeOf(422)), [['body', 'limit']]);
  t.deepEqual(await refused(t, send('GET', `${root}?options=x`), 422, codeOf(422)), [['query', 'options']]);
  t.deepEqual(await refused(t, send('GET', `${root}?cursor=nonsense`), 422, codeOf(422)), [['query', 'cursor']]);
});

test('a list of large memories ends a page by its bytes, says that there is more, and continues after it', async (t) => {
  const large = 'x '.repeat(sizes.memory / 2);
  const metadata = { large: 'y'.repeat(sizes.memory - 100) };
  const { send: sendTo } = largeList;
  for (let n = 0; n < 45; n += 1) await store({ content: large.slice(n), metadata }, sendTo);
  const ids: string[] = [];
  let pages = 0;
  for (let query = '?limit=1000'; query !== ''; pages += 1) {
    const page = (await sendTo('GET', `${root}${query}`)).body.data as Page & { readonly has_more: boolean };
    const bytes = Buffer.byteLength(JSON.stringify(page.memories));
    t.true(bytes <= sizes.page, `${String(bytes)} bytes`);
    t.is(page.total, 45);
    t.is(page.has_more, page.cursor !== undefined);
    ids.push(...page.memories.map(({ id }) => id));
    query = page.has_more ? `?limit=1000&cursor=${encodeURIComponent(page.cursor ?? '')}` : '';
  }
  t.is(new Set(ids).size, 45);
  t.is(ids.length, 45);
  t.true(pages > 1);
});
