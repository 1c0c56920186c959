import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import type { PutResourceReply, PutResourceRequest, Resource, Threads } from '@agent-workflow/protos/threads';
import { bytes, call, owner, refused, text } from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const key = { kind: 'webhook', owner, id: 'w1' } as const;

const put = (threads: Threads, parts: Partial<PutResourceRequest> = {}): Promise<PutResourceReply> =>
  threads.putResource({ ...key, version: 1, json: bytes('{"a":1}'), ...parts }, call());

const pagesOf = async (threads: Threads, limit: number): Promise<readonly (readonly Resource[])[]> => {
  const pages: (readonly Resource[])[] = [];
  for (let cursor: string | undefined; ;) {
    const page = { kind: key.kind, owner, limit, ...(cursor === undefined ? {} : { cursor }) };
    const reply = await threads.listResources(page, call());
    pages.push(reply.resources);
    if (reply.cursor === undefined) return pages;
    cursor = reply.cursor;
  }
};

/** What the record promises of objects that owners keep beside threads. */
export function threadsResourcesContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('an object is read as it was put, by its owner alone', async (t, threads) => {
    await refused(t, threads.getResource(key, call()), 'NotFound');
    const { at } = await put(threads);
    const { json, ...rest } = await threads.getResource(key, call());
    t.is(text(json), '{"a":1}');
    t.deepEqual(rest, { ...key, version: 1, createdAt: at, updatedAt: at });
    t.is(
      await refused(t, threads.getResource({ ...key, owner: 'u:bob' }, call()), 'NotFound'),
      'webhook "w1" does not exist',
    );
    const second = await put(threads, { version: 2, json: bytes('[]'), dueAt: at + 3_600_000 });
    t.like(await threads.getResource(key, call()), { createdAt: at, updatedAt: second.at, dueAt: at + 3_600_000 });
  });

  check('a write of a version that does not come next is refused', async (t, threads) => {
    t.is(await refused(t, put(threads, { version: 2 }), 'NotFound'), 'webhook "w1" does not exist');
    await put(threads);
    t.is(await refused(t, put(threads), 'Conflict'), 'webhook "w1" has another version');
    await refused(t, put(threads, { version: 3 }), 'Conflict');
    await put(threads, { version: 2 });
    t.is((await threads.getResource(key, call())).version, 2);
  });

  check('a write that is sent again, as another replica would, gets the reply of the first', async (t, threads) => {
    for (const version of [1, 2]) {
      const attemptId = randomUUID();
      const first = await put(threads, { version, attemptId });
      t.deepEqual(await put(threads, { version, attemptId }), first);
      await refused(t, put(threads, { version, attemptId: randomUUID() }), 'Conflict');
    }
  });

  check('an object is deleted once with its version, and again without effect', async (t, threads) => {
    await put(threads);
    await refused(t, threads.deleteResource({ ...key, version: 2 }, call()), 'Conflict');
    for (let times = 0; times < 2; times++)
      t.deepEqual(await threads.deleteResource({ ...key, version: 1 }, call()), {});
    await refused(t, threads.getResource(key, call()), 'NotFound');
  });

  check('an object of a wrong kind, id, version or size, and one that is no JSON, is refused', async (t, threads) => {
    t.is(await refused(t, put(threads, { id: '' }), 'Invalid'), 'id: must not be empty');
    await refused(t, put(threads, { id: 'x'.repeat(sizes.resourceId + 1) }), 'Invalid');
    t.is(await refused(t, put(threads, { version: 0 }), 'Invalid'), 'version: must be >= 1');
    t.is(await refused(t, put(threads, { json: bytes('{') }), 'Invalid'), 'json: must be JSON');
    const most = bytes(JSON.stringify('x'.repeat(sizes.resource - 2)));
    await refused(t, put(threads, { json: new Uint8Array([...most, 0x20]) }), 'Invalid');
    await put(threads, { json: most });
    t.is((await threads.getResource(key, call())).json.byteLength, most.byteLength);
  });

  check('a page of a list holds what fits into a reply, and its cursor is of that list', async (t, threads) => {
    const json = bytes(JSON.stringify('x'.repeat(sizes.resource - 2)));
    const ids = Array.from({ length: 70 }, (_, index) => `w${String(index).padStart(2, '0')}`);
    for (const id of ids) await put(threads, { id, json });
    const pages = await pagesOf(threads, 100);
    t.deepEqual(
      pages.flat().map(({ id }) => id),
      ids.toReversed(),
    );
    t.true(pages.length > 1);
    for (const page of pages) t.true(page.reduce((sum, one) => sum + one.json.byteLength, 0) <= sizes.page);
    t.is((await pagesOf(threads, 30)).length, 3);
    const { cursor = '' } = await threads.listResources({ kind: key.kind, owner, limit: 1 }, call());
    await refused(t, threads.listResources({ kind: 'trigger', owner, limit: 1, cursor }, call()), 'Invalid');
    t.deepEqual(await threads.countResources({ kind: key.kind, owner, atMost: 60 }, call()), { count: 60 });
  });

  check('an item may be larger than other objects, and its id longer', async (t, threads) => {
    const json = bytes(JSON.stringify('x'.repeat(sizes.item)));
    const item = { kind: 'item', id: 'n'.repeat(sizes.itemId), json } as const;
    await put(threads, item);
    await refused(t, put(threads, { ...item, id: 'n'.repeat(sizes.itemId + 1) }), 'Invalid');
    await refused(t, put(threads, { ...item, json: bytes(JSON.stringify('x'.repeat(sizes.itemRow))) }), 'Invalid');
    const list = { kind: 'item', owner, limit: 10 } as const;
    t.is((await threads.listResources({ ...list, fromId: 'n', belowId: 'o' }, call())).resources.length, 1);
    t.deepEqual((await threads.listResources({ ...list, belowId: 'n' }, call())).resources, []);
    const { marks, hasMore, now } = await threads.listResourceMarks({ ...list, fromId: 'n' }, call());
    t.like(marks, { length: 1, 0: { id: item.id } });
    t.false(hasMore);
    t.true(Math.abs(now - Date.now()) < 60_000);
  });

  check('objects are due by the clock of the record, page by page', async (t, threads) => {
    const hour = Date.now() + 3_600_000;
    await put(threads, { id: 'b', dueAt: 1 });
    await put(threads, { id: 'a', dueAt: 0 });
    await put(threads, { id: 'later', dueAt: hour });
    await put(threads, { id: 'never' });
    const first = await threads.listDueResources({ kind: key.kind, limit: 1 }, call());
    t.true(first.hasMore);
    t.true(Math.abs(first.now - Date.now()) < 60_000);
    const [after] = first.due;
    if (!after) return t.fail();
    const second = await threads.listDueResources({ kind: key.kind, limit: 2, after }, call());
    t.false(second.hasMore);
    const due = [...first.due, ...second.due];
    t.deepEqual(due.map(({ id }) => id).toSorted(), ['a', 'b']);
    t.true(due.every(({ dueAt, version }) => version === 1 && dueAt <= second.now && dueAt > hour - 7_200_000));
  });
}
