import test from 'ava';
import { user } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test, 'obedient');

interface Item {
  readonly thread_id?: string;
  readonly thread_name?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
  readonly status?: string;
  readonly waits_for?: string;
  readonly updated_at?: string;
}
interface Found {
  readonly threads: readonly Item[];
  readonly has_more: boolean;
  readonly cursor?: string;
}

const searchTool = { node_name: 'tools', name: 'look', parameters: { type: 'object', properties: {} } };

const greet = (thread_id: string, config: object = {}, rest: object = {}) =>
  send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id, ...config }, ...rest });

test('a thread is renamed, and keys of its metadata are set and removed', async (t) => {
  await greet('named', { thread_name: 'old', metadata: { a: 1, b: { c: 2 } } });
  const patch = async (body: object): Promise<Item> =>
    await data(t, 'updateThread', send('PATCH', '/v1/threads/named', body));
  t.like(await patch({ thread_name: 'new' }), { thread_name: 'new', metadata: { a: 1, b: { c: 2 } }, status: 'idle' });
  t.deepEqual((await patch({ metadata: { a: null, d: [1] } })).metadata, { b: { c: 2 }, d: [1] });
  t.like(await data(t, 'getThread', send('GET', '/v1/threads/named')), { thread_name: 'new' });
  t.like(await patch({ thread_name: null, metadata: null }), { thread_name: null, metadata: null });
  t.like(await patch({}), { thread_name: null });
  t.deepEqual(await refused(t, send('PATCH', '/v1/threads/named', { thread_name: 5 }), 422, codeOf(422)), [
    ['body', 'thread_name'],
  ]);
  const large = { metadata: { a: 'x'.repeat(300_000) } };
  t.deepEqual(await refused(t, send('PATCH', '/v1/threads/named', large), 422, codeOf(422)), [['body', 'metadata']]);
  const most = { metadata: { a: 'x'.repeat(250_000) } };
  await patch(most);
  const more = { metadata: { b: 'x'.repeat(20_000) } };
  t.deepEqual(await refused(t, send('PATCH', '/v1/threads/named', more), 422, codeOf(422)), [['body', 'metadata']]);
  await refused(t, send('PATCH', '/v1/threads/nowhere', { thread_name: 'x' }), 404, codeOf(404));
});

test('a repeated change with its key is made once', async (t) => {
  await greet('keyed');
  const key = { 'idempotency-key': 'rename-once' };
  const first = await send('PATCH', '/v1/threads/keyed', { thread_name: 'first' }, key);
  await send('PATCH', '/v1/threads/keyed', { thread_name: 'second' });
  const again = await send('PATCH', '/v1/threads/keyed', { thread_name: 'first' }, key);
  t.deepEqual([first.status, again.status], [200, 200], JSON.stringify(first.body));
  t.like(await data(t, 'getThread', send('GET', '/v1/threads/keyed')), { thread_name: 'second' });
});

test('threads are searched, counted and sorted, and show what was selected', async (t) => {
  for (const [index, team] of ['red', 'blue', 'red'].entries())
    await greet(`found-${String(index)}`, {
      thread_name: `found ${String(2 - index)}`,
      metadata: { team, of: 'search' },
    });
  await greet('found-tool', { metadata: { of: 'search' } }, { messages: [user('call look')], tools: [searchTool] });
  const search = async (body: object): Promise<Found> =>
    await data(t, 'searchThreads', send('POST', '/v1/threads/search', body));
  const ids = async (body: object): Promise<unknown> => (await search(body)).threads.map((each) => each.thread_id);
  const of = { of: 'search' };
  t.deepEqual(await ids({ metadata: of }), ['found-tool', 'found-2', 'found-1', 'found-0']);
  t.deepEqual(await ids({ metadata: { ...of, team: 'red' } }), ['found-2', 'found-0']);
  t.deepEqual(await ids({ metadata: of, status: 'interrupted' }), ['found-tool']);
  t.deepEqual(await ids({ metadata: of, waits_for: 'tool_results' }), ['found-tool']);
  t.deepEqual(await ids({ thread_ids: ['found-1', 'nowhere'] }), ['found-1']);
  t.deepEqual(await ids({ metadata: { ...of, team: 'red' }, sort_by: 'thread_name', sort_order: 'asc' }), [
    'found-2',
    'found-0',
  ]);
  const select = ['thread_id', 'status', 'waits_for'];
  t.deepEqual((await search({ thread_ids: ['found-1', 'found-tool'], select, sort_by: 'thread_id' })).threads, [
    { thread_id: 'found-tool', status: 'interrupted', waits_for: 'tool_results' },
    { thread_id: 'found-1', status: 'idle' },
  ]);
  const page = await search({ metadata: of, limit: 2 });
  t.true(page.has_more);
  t.deepEqual(await ids({ metadata: of, limit: 2, cursor: page.cursor }), ['found-1', 'found-0']);
  const count = async (body: object): Promise<unknown> =>
    data(t, 'countThreads', send('POST', '/v1/threads/count', body));
  t.deepEqual(await count({ metadata: of, status: ['idle', 'failed'] }), { count: 3 });
});

test('a filter that cannot be meant is refused with its field', async (t) => {
  const cases: readonly (readonly [object, readonly (string | number)[]])[] = [
    [{ status: 'busy' }, ['body', 'status']],
    [{ values: { a: [1] } }, ['body', 'values', 'a']],
    [{ thread_ids: [] }, ['body', 'thread_ids']],
    [{ select: ['secret'] }, ['body', 'select', 0]],
    [{ sort_by: 'agent' }, ['body', 'sort_by']],
    [{ metadata: { a: 'x'.repeat(70_000) } }, ['body', 'metadata']],
    [{ cursor: 'nonsense' }, ['body', 'cursor']],
  ];
  for (const [body, loc] of cases) {
    const locs = await refused(t, send('POST', '/v1/threads/search', body), 422, codeOf(422));
    t.deepEqual(locs[0], loc, JSON.stringify(body).slice(0, 80));
  }
});
