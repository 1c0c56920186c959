import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { embeddedOnly, isCluster } from '../../http/shape.ts';
import { openRecordFile } from '../../servers/record-file.ts';
import { until } from '../../until.ts';
import { serveLangGraph } from './service.ts';

const folder = await mkdtemp(join(tmpdir(), 'aws-items-'));
const service = serveLangGraph(test, { DATA_DIR: folder });
test.after.always(() => rm(folder, { recursive: true, force: true }));
const store = () => service.client().store;

const keysOf = (found: { readonly items: readonly { readonly key: string }[] }): readonly string[] =>
  found.items.map(({ key }) => key);

/** A refused request: the text of its reply, which is JSON. */
const refusal = async (path: string, body: object, method = 'POST'): Promise<unknown> => {
  const reply = await service.send(method, path, body);
  return reply.status === 422 ? reply.body : reply.status;
};

/** What `/v1` has of the memories of the owner. */
const inV1 = async (method: string, path: string, body?: object): Promise<string> => {
  const url = new URL(service.url()).origin;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.text();
};

test('an item is put, read, replaced and deleted', async (t) => {
  const namespace = ['users', 'one'];
  t.is(await store().getItem(namespace, 'likes'), null);
  const value = { colour: 'blue', n: 3, deep: { list: [1, null, 'é'] }, 'odd.key': '' };
  await store().putItem(namespace, 'likes', value);
  const first = await store().getItem(namespace, 'likes');
  t.like(first, { namespace, key: 'likes' });
  t.deepEqual(first?.value, value);
  t.is(first?.createdAt, first?.updatedAt);
  await delay(5);
  await store().putItem(namespace, 'likes', { colour: 'red' });
  const second = await store().getItem(namespace, 'likes');
  t.deepEqual(second?.value, { colour: 'red' });
  t.is(second?.createdAt, first?.createdAt);
  t.true((second?.updatedAt ?? '') > (first?.updatedAt ?? ''));
  t.is(await store().getItem(['users'], 'likes'), null);
  for (let times = 0; times < 2; times += 1) await store().deleteItem(namespace, 'likes');
  t.is(await store().getItem(namespace, 'likes'), null);
  t.deepEqual(await store().searchItems(namespace), { items: [] });
});

test('items are found below a namespace, the newest first, by filters and page by page', async (t) => {
  const root = `root-${String(process.pid)}`;
  for (const [labels, key, n] of [
    [['a'], 'k1', 1],
    [['a', 'b'], 'k2', 2],
    [['a', 'b'], '..k.3', 3],
    [['ab'], 'k4', 4],
    [['a-'], 'k5', 5],
  ] as const)
    await store().putItem([root, ...labels], key, { n, tags: ['x'], of: n % 2 === 0 ? 'even' : 'odd' });
  await store().putItem([root, 'a'], 'k1', { n: 1, tags: ['x', 'y'], of: 'odd' });
  t.deepEqual(keysOf(await store().searchItems([root])), ['k1', 'k5', 'k4', '..k.3', 'k2']);
  t.deepEqual(keysOf(await store().searchItems([root, 'a'])), ['k1', '..k.3', 'k2']);
  t.deepEqual(keysOf(await store().searchItems([root], { limit: 2, offset: 1 })), ['k5', 'k4']);
  t.deepEqual(keysOf(await store().searchItems([root], { filter: { of: 'even' } })), ['k4', 'k2']);
  t.deepEqual(keysOf(await store().searchItems([root], { filter: { n: { $gt: 1, $lte: 3 } } })), ['..k.3', 'k2']);
  t.deepEqual(keysOf(await store().searchItems([root], { filter: { tags: ['x', 'y'] } })), ['k1']);
  t.deepEqual(keysOf(await store().searchItems([root], { filter: { n: { $ne: 1 } }, limit: 1, offset: 3 })), ['k2']);
  t.is((await store().searchItems([root])).items[0]?.score, null as never);
  t.regex(JSON.stringify(await refusal('/store/items/search', { filter: { n: { $near: 1 } } })), /is no operator/);
});

test('items are found by their meaning where they are indexed, and their memories are nobody’s', async (t) => {
  const root = `meaning-${String(process.pid)}`;
  await store().putItem([root, 'a'], 'tea', { text: 'green tea in the morning', n: 1 });
  await store().putItem(
    [root, 'a'],
    'trains',
    { text: 'night trains through the mountains', secret: 'tea' },
    { index: ['text'] },
  );
  await store().putItem([root, 'b'], 'hidden', { text: 'green tea in the morning' }, { index: false });
  await store().putItem([root, 'b'], 'more', { text: 'black tea in the evening', n: 2 });
  const query = 'green tea in the morning';
  const found = await store().searchItems([root], { query, limit: 2 });
  t.deepEqual(keysOf(found), ['tea', 'more']);
  t.true((found.items[0]?.score ?? 0) > (found.items[1]?.score ?? 1));
  t.deepEqual(keysOf(await store().searchItems([root], { query, limit: 1, offset: 1 })), ['more']);
  t.deepEqual(keysOf(await store().searchItems([root, 'b'], { query })), ['more']);
  t.deepEqual(keysOf(await store().searchItems([root], { query, filter: { n: { $gte: 2 } } })), ['more']);

  const foreign = [
    await inV1('GET', '/v1/store/memories'),
    await inV1('POST', '/v1/store/memories/list', {}),
    await inV1('POST', '/v1/store/search', { query }),
  ].join('');
  t.false(foreign.includes('tea'), foreign);
  t.regex(await inV1('POST', '/v1/store/memories/forget', { all: true }), /"deleted_count":0/);
  t.deepEqual(keysOf(await store().searchItems([root], { query, limit: 2 })), ['tea', 'more']);

  await store().putItem([root, 'a'], 'tea', { text: 'rivers' });
  await store().deleteItem([root, 'b'], 'more');
  await store().putItem([root, 'a'], 'trains', { text: 'green tea in the morning' }, { index: false });
  t.deepEqual(keysOf(await store().searchItems([root], { query })), ['tea']);
  // What is left to do for memories is seen in the record of the one process.
  if (isCluster) return;
  using db = openRecordFile(folder);
  const notes = db.prepare(`SELECT * FROM resources WHERE kind = 'item_memory' AND CAST(json AS TEXT) LIKE ?`);
  t.deepEqual(notes.all(`%${root}%`), []);
});

test('namespaces are listed by what they begin and end with, to a depth', async (t) => {
  const root = `names-${String(process.pid)}`;
  const list = async (options: object): Promise<unknown> =>
    (await store().listNamespaces({ prefix: [root], ...options })).namespaces.map((labels) =>
      labels.slice(1).join('/'),
    );
  for (const labels of [[], ['u1'], ['u1', 'docs'], ['u1', 'docs', 'x'], ['u2', 'docs'], ['u2', 'mails']])
    for (const key of ['one', 'two']) await store().putItem([root, ...labels], key, {}, { index: false });
  t.deepEqual(await list({}), ['', 'u1', 'u1/docs', 'u1/docs/x', 'u2/docs', 'u2/mails']);
  t.deepEqual(await list({ suffix: ['docs'] }), ['u1/docs', 'u2/docs']);
  t.deepEqual(await list({ prefix: [root, '*', 'docs'] }), ['u1/docs', 'u1/docs/x', 'u2/docs']);
  t.deepEqual(await list({ suffix: ['*', 'x'] }), ['u1/docs/x']);
  t.deepEqual(await list({ maxDepth: 2 }), ['', 'u1', 'u2']);
  t.deepEqual(await list({ limit: 2, offset: 3 }), ['u1/docs/x', 'u2/docs']);
  for (const key of ['one', 'two']) await store().deleteItem([root, 'u2', 'mails'], key);
  t.deepEqual(await list({ prefix: [root, 'u2'] }), ['u2/docs']);
});

embeddedOnly(test, 'an item goes after its time to live, which a read begins again', async (t) => {
  const namespace = [`ttl-${String(process.pid)}`];
  const seconds = 5;
  const ttl = seconds / 60;
  for (const key of ['kept', 'left', 'unread']) await store().putItem(namespace, key, { of: 'tea' }, { ttl });
  const rows = (): number => {
    using db = openRecordFile(folder);
    return Number(db.prepare(`SELECT count(*) AS n FROM resources WHERE id LIKE 'ttl-%'`).get()?.['n']);
  };
  t.is(rows(), 3);
  const kept = await store().getItem(namespace, 'kept');
  await until(async () => {
    t.deepEqual((await store().getItem(namespace, 'kept'))?.value, { of: 'tea' });
    await store().getItem(namespace, 'left', { refreshTtl: false });
    return keysOf(await store().searchItems(namespace, { refreshTtl: false })).length === 1;
  });
  t.is((await store().getItem(namespace, 'kept'))?.updatedAt, kept?.updatedAt);
  t.deepEqual(keysOf(await store().searchItems(namespace, { refreshTtl: false })), ['kept']);
  t.deepEqual(keysOf(await store().searchItems(namespace, { query: 'tea', refreshTtl: false })), ['kept']);
  await store().putItem(namespace, 'left', { again: true });
  t.deepEqual((await store().getItem(namespace, 'left'))?.value, { again: true });
  // The other is gone with its time, also from the disk.
  await until(() => rows() === 1, { timeoutMs: 30_000 });
  t.deepEqual((await store().listNamespaces({ prefix: namespace })).namespaces, [namespace]);
});

test('what is no place, too large or no item is refused', async (t) => {
  const put = (body: object): Promise<unknown> => refusal('/store/items', { key: 'k', value: {}, ...body }, 'PUT');
  const label = "Namespace label 'a.b' must be a non-empty string without periods";
  t.is(await put({ namespace: ['a.b'] }), label);
  t.is(await put({ namespace: ['a', ''] }), "Namespace label '' must be a non-empty string without periods");
  t.is(await refusal('/store/namespaces', { prefix: ['a.b'] }), label);
  t.is(await refusal('/store/items/search', { namespace_prefix: ['a.b'] }), label);
  for (const body of [
    { namespace: [] },
    { namespace: ['a'], key: '' },
    { namespace: ['a'], key: 'k'.repeat(513) },
    { namespace: ['a'], key: 'é'.repeat(300) },
    { namespace: ['a'], key: 'a\0b' },
    { namespace: ['a\0b'] },
    { namespace: Array.from({ length: 17 }, () => 'a') },
    { namespace: Array.from({ length: 8 }, () => 'a'.repeat(200)) },
    { namespace: ['a'], value: ['no', 'object'] },
    { namespace: ['a'], value: { text: 'x'.repeat(1024 * 1024) } },
    { namespace: ['a'], index: true },
    { namespace: ['a'], ttl: 0 },
  ])
    t.not(typeof (await put(body)), 'number', JSON.stringify(body).slice(0, 100));
  t.is(await put({ namespace: ['a'], key: 'most', value: { text: 'x'.repeat(1024 * 1024 - 11) }, index: false }), 204);
  const most = await store().getItem(['a'], 'most');
  t.is((most?.value as { text: string } | undefined)?.text.length, 1024 * 1024 - 11);
});

embeddedOnly(test, 'an item that cannot be read stands in the way of no other', async (t) => {
  const namespace = [`torn-${String(process.pid)}`];
  for (const key of ['good', 'bad']) await store().putItem(namespace, key, { of: 'cabbage' });
  using db = openRecordFile(folder);
  const tear = (): void => {
    db.prepare('UPDATE resources SET json = ? WHERE id = ?').run(
      Buffer.from('{"value":'),
      `${namespace[0] ?? ''}..bad`,
    );
  };
  tear();
  t.deepEqual(keysOf(await store().searchItems(namespace)), ['good']);
  t.deepEqual(keysOf(await store().searchItems(namespace, { filter: { of: 'cabbage' } })), ['good']);
  t.deepEqual(keysOf(await store().searchItems(namespace, { query: 'cabbage' })), ['good']);
  t.is((await service.send('GET', `/store/items?namespace=${namespace[0] ?? ''}&key=bad`)).status, 500);
  await store().putItem(namespace, 'bad', { of: 'cabbage' });
  t.deepEqual(keysOf(await store().searchItems(namespace, { query: 'cabbage' })).length, 2);
  tear();
  await store().deleteItem(namespace, 'bad');
  t.deepEqual(keysOf(await store().searchItems(namespace)), ['good']);
});

embeddedOnly(test, 'a note that a process has left about memories is settled by a sweep', async (t) => {
  const namespace = [`noted-${String(process.pid)}`];
  await store().putItem(namespace, 'kept', { text: 'lighthouses' });
  using db = openRecordFile(folder);
  const id = `${namespace[0] ?? ''}..kept`;
  const row = db.prepare('SELECT owner, json FROM resources WHERE id = ?').get(id);
  const { memory } = JSON.parse(Buffer.from(row?.['json'] as Uint8Array).toString()) as { memory: string };
  const note = Buffer.from(JSON.stringify({ item: id, memories: [memory, 'one that was never stored'] }));
  db.prepare(
    `INSERT INTO resources (owner, kind, id, version, attempt, json, created_at, updated_at, due_at)
     VALUES (?, 'item_memory', 'left behind', 1, 'a', ?, 1, 1, 1)`,
  ).run(row?.['owner'] as string, note);
  const left = db.prepare(`SELECT count(*) AS n FROM resources WHERE id = 'left behind'`);
  await until(() => left.get()?.['n'] === 0);
  t.deepEqual(keysOf(await store().searchItems(namespace, { query: 'lighthouses' })), ['kept']);
});
