import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data, refused, thread } = serve(test);
const many = serve(test);

interface Page {
  readonly threads: { readonly thread_id: string; readonly updated_at: string }[];
  readonly cursor?: string;
}

const list = (query: string): Promise<Page> =>
  many.send('GET', `/v1/threads${query}`).then(({ body }) => body.data as Page);
const idsOf = ({ threads }: Page): string[] => threads.map(({ thread_id: id }) => id);

test.serial.before(async () => {
  for (const id of ['a', 'b', 'c', 'd', 'e']) await many.thread(id);
});

test('threads are listed, most recently updated first', async (t) => {
  t.deepEqual(idsOf(await many.data(t, 'listThreads', many.send('GET', '/v1/threads'))), ['e', 'd', 'c', 'b', 'a']);
});

test('pages by offset and by cursor hold every thread once', async (t) => {
  t.deepEqual(idsOf(await list('?limit=2&offset=1')), ['d', 'c']);
  t.deepEqual(idsOf(await list('?offset=10')), []);
  const seen: string[] = [];
  let cursor = '';
  do {
    const page = await list(`?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    seen.push(...idsOf(page));
    cursor = page.cursor ?? '';
  } while (cursor !== '');
  t.deepEqual(seen, ['e', 'd', 'c', 'b', 'a']);
});

test('a limit above 1000 is lowered to it', async (t) => {
  t.is(idsOf(await list('?limit=100000')).length, 5);
});

test('a search matches name, id and metadata values, whatever the case', async (t) => {
  const config = { thread_id: 'found-1', thread_name: 'Harbour Talk', metadata: { crew: ['Ada'] } };
  await send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content: 'x' }], config });
  await thread('other');
  for (const search of ['harbour', 'FOUND-', 'ada']) {
    const page: Page = await data(t, 'listThreads', send('GET', `/v1/threads?search=${search}`));
    t.deepEqual(idsOf(page), ['found-1'], search);
  }
});

test('a search of threads finds composed and decomposed letters alike', async (t) => {
  const config = { thread_id: 'accents', thread_name: 'Un cafe\u0301', metadata: { place: 'İSTANBUL' } };
  await send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content: 'x' }], config });
  for (const search of ['café', 'CAFE\u0301', 'istanbul', 'ıstanbul']) {
    const page: Page = await data(t, 'listThreads', send('GET', `/v1/threads?search=${encodeURIComponent(search)}`));
    t.deepEqual(idsOf(page), ['accents'], search);
  }
});

for (const query of [
  'limit=0',
  'limit=-1',
  'limit=ten',
  'limit=',
  'limit=1&limit=2',
  'offset=-1',
  'offset=1.5',
  'offset=x',
  'cursor=nonsense',
]) {
  test(`?${query} is 422 and named`, async (t) => {
    t.deepEqual(await refused(t, send('GET', `/v1/threads?${query}`), 422, codeOf(422)), [
      ['query', query.split('=')[0]],
    ]);
  });
}

test('a thread is described, once flat and once as older clients look for it', async (t) => {
  await thread('described');
  const details = (await data(t, 'getThread', send('GET', '/v1/threads/described'))) as Record<string, unknown>;
  t.like(details, { thread_id: 'described', thread_name: null, user_id: null, metadata: null });
  const { thread_data: threadData, ...flat } = details;
  t.deepEqual((threadData as { thread: unknown }).thread, flat);
});

test('ids with odd characters lead to their thread', async (t) => {
  for (const id of [
    'with space',
    'ümläut',
    '日本',
    '😀',
    'a%2Fb',
    ':',
    '?#&=+',
    '"quoted"',
    "it's",
    '<b>',
    '\\',
    'x'.repeat(256),
  ]) {
    await thread(id);
    const details = await data(t, 'getThread', send('GET', `/v1/threads/${encodeURIComponent(id)}`));
    t.is((details as { thread_id: string }).thread_id, id);
  }
});

test('a deleted thread is gone by every route, with the memories stored for it', async (t) => {
  await thread('doomed');
  const memory = { content: 'gone', memory_type: 'semantic', category: 'x', config: { thread_id: 'doomed' } };
  const { memory_id: id } = (await data(t, 'storeMemory', send('POST', '/v1/store/memories', memory))) as {
    memory_id: string;
  };
  t.deepEqual(await data(t, 'deleteThread', send('DELETE', '/v1/threads/doomed', { config: {} })), {
    success: true,
  } as never);
  for (const path of ['', '/state', '/messages'])
    await refused(t, send('GET', `/v1/threads/doomed${path}`), 404, codeOf(404));
  await refused(t, send('GET', `/v1/store/memories/${id}`), 404, codeOf(404));
  await refused(t, send('DELETE', '/v1/threads/doomed'), 404, codeOf(404));
});

test('a thread that is not there is 404', async (t) => {
  await refused(t, send('GET', '/v1/threads/nowhere'), 404, codeOf(404));
  await refused(t, send('DELETE', '/v1/threads/nowhere'), 404, codeOf(404));
});

test('a config that is no object is 422 wherever a deletion carries it', async (t) => {
  await thread('kept');
  t.deepEqual(await refused(t, send('DELETE', '/v1/threads/kept', { config: [] }), 422, codeOf(422)), [
    ['body', 'config'],
  ]);
  t.deepEqual(await refused(t, send('DELETE', '/v1/threads/kept?config=x'), 422, codeOf(422)), [['query', 'config']]);
  await data(t, 'deleteThread', send('DELETE', `/v1/threads/kept?config=${encodeURIComponent('{"a":1}')}`));
});

test('a thread that changes while pages are read is missed by the later pages, and is in front of the first page', async (t) => {
  const pageOf = (query: string): Promise<Page> =>
    send('GET', `/v1/threads${query}`).then(({ body }) => body.data as Page);
  for (const id of ['moving-1', 'moving-2', 'moving-3']) await thread(id);
  const first = await pageOf('?search=moving&limit=2');
  t.deepEqual(idsOf(first), ['moving-3', 'moving-2']);
  await thread('moving-1');
  t.deepEqual(idsOf(await pageOf(`?search=moving&cursor=${encodeURIComponent(first.cursor ?? '')}`)), []);
  t.deepEqual(idsOf(await pageOf('?search=moving')), ['moving-1', 'moving-3', 'moving-2']);
});
