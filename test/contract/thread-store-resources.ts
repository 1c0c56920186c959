import { randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import type { DueResource, ResourceKey, ResourceRow, ResourceWrite } from '@agent-workflow/threads/ports/resources';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { TestedStore } from './thread-stores/tested.ts';

const owner = 'u:ada';
const key: ResourceKey = { kind: 'schedule', owner, id: 's1' };
const json = new Uint8Array(Buffer.from('{"cron":"* * * * *"}'));

/** Due times are not past when they are written. */
const soon = Date.now() + 3_600_000;

const write = (parts: Partial<ResourceWrite> = {}): ResourceWrite => ({
  ...{ ...key, version: 1, json, at: 5, attempt: randomUUID() },
  ...parts,
});

const rowOf = ({ at, attempt: _, isNew: _new, ...row }: ResourceWrite, createdAt = at): ResourceRow => ({
  ...{ ...row, createdAt, updatedAt: at },
});

const put = (store: ThreadStore, parts: Partial<ResourceWrite> = {}): Promise<number | undefined> =>
  store.putResource(write(parts));

const idsOf = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id);

const dueOf = async (
  store: ThreadStore,
  until = Number.MAX_SAFE_INTEGER,
  kind = key.kind,
): Promise<readonly DueResource[]> => store.listDueResources(kind, { until, limit: 100 });

let places = 0;

/** What a record of objects that owners keep beside threads must promise, whatever keeps it. */
export function threadStoreResourcesContract(test: TestFn, { name, open, openPart, keeps, scale }: TestedStore): void {
  const check = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await openPart();
      await body(t, store);
    });
  };

  check('an object is absent before it is written, and of no other owner, kind or id', async (t, store) => {
    t.is(await store.getResource(key), undefined);
    t.is(await put(store), 5);
    t.deepEqual(await store.getResource(key), rowOf(write()));
    t.is(await store.getResource({ ...key, owner: 'u:bob' }), undefined);
    t.is(await store.getResource({ ...key, kind: 'webhook' }), undefined);
    t.is(await store.getResource({ ...key, id: 's2' }), undefined);
  });

  check('an object is read as it was written last, with the time of its first version', async (t, store) => {
    await put(store, { dueAt: soon });
    const second = write({ version: 2, json: new Uint8Array(64 * 1024).fill(0x61), at: 9 });
    t.is(await store.putResource(second), 9);
    t.deepEqual(await store.getResource(key), rowOf(second, 5));
    t.deepEqual(await dueOf(store), []);
    t.is(await put(store, { version: 3, at: 10, dueAt: soon + 1 }), 10);
    t.like(await store.getResource(key), { version: 3, dueAt: soon + 1, createdAt: 5, updatedAt: 10 });
  });

  check('a store keeps what is no JSON as it came', async (t, store) => {
    await put(store, { json: new Uint8Array([0xff, 0, 0x7b]), dueAt: soon });
    await put(store, { id: 's2', dueAt: soon + 1 });
    t.deepEqual((await store.getResource(key))?.json, new Uint8Array([0xff, 0, 0x7b]));
    t.deepEqual(idsOf(await store.listResources(key, { limit: 10 })), ['s2', 's1']);
    t.deepEqual(idsOf(await dueOf(store)), ['s1', 's2']);
  });

  check('a write is refused unless its version follows the one on record', async (t, store) => {
    for (const version of [2, 3]) t.is(await put(store, { version }), undefined);
    t.is(await store.getResource(key), undefined);
    await put(store);
    for (const version of [1, 3]) t.is(await put(store, { version, at: 7 }), undefined);
    t.deepEqual(await store.getResource(key), rowOf(write()));
  });

  check('a write that is made again is the same write, until another follows it', async (t, store) => {
    const [first, second] = [write(), write({ version: 2, at: 6, dueAt: soon })];
    for (const again of [0, 1]) t.is(await store.putResource({ ...first, at: 5 + again }), 5);
    for (const again of [0, 1]) t.is(await store.putResource({ ...second, at: 6 + again }), 6);
    t.is(await store.putResource(first), undefined);
    t.like(await store.getResource(key), { version: 2, updatedAt: 6, dueAt: soon });
    t.deepEqual(idsOf(await dueOf(store)), ['s1']);
  });

  check('an object is made with any version, and made again with another', async (t, store) => {
    const first = write({ version: 7_000_000_000_000_000, isNew: true, dueAt: soon });
    for (const again of [0, 1]) t.is(await store.putResource({ ...first, at: 5 + again }), 5);
    t.is(await put(store, { version: 8_000_000_000_000_000, isNew: true }), undefined);
    t.is(await put(store, { version: first.version + 1, at: 6, dueAt: soon }), 6);
    t.false(await store.deleteResource(key, first.version));
    t.true(await store.deleteResource(key, first.version + 1));
    t.is(await put(store, { version: 50, isNew: true, dueAt: soon }), 5);
    t.false(await store.deleteResource(key, first.version + 1));
    t.like(await store.getResource(key), { version: 50, createdAt: 5 });
    t.deepEqual(await dueOf(store), [{ owner, id: 's1', version: 50, dueAt: soon }]);
  });

  check('of several writes of one version at once one succeeds, and is on record', async (t, store) => {
    for (const version of [1, 2, 3]) {
      const writes = Array.from({ length: 6 }, (_, index) => write({ version, at: index, dueAt: soon + index }));
      const written = await Promise.all(writes.map((one) => store.putResource(one)));
      const [at, ...others] = written.filter((one) => one !== undefined);
      t.deepEqual(others, []);
      t.like(await store.getResource(key), { version, updatedAt: at, dueAt: soon + (at ?? NaN) });
      t.deepEqual(
        (await dueOf(store)).map(({ version: of, dueAt }) => [of, dueAt]),
        [[version, soon + (at ?? NaN)]],
      );
    }
  });

  check('an object is deleted with the version that it has, and can be made again', async (t, store) => {
    t.false(await store.deleteResource(key, 1));
    await put(store, { dueAt: soon });
    t.false(await store.deleteResource(key, 2));
    t.false(await store.deleteResource({ ...key, owner: 'u:bob' }, 1));
    t.true(await store.deleteResource(key, 1));
    t.is(await store.getResource(key), undefined);
    t.deepEqual(await dueOf(store), []);
    t.false(await store.deleteResource(key, 1));
    t.is(await put(store, { at: 8, dueAt: soon }), 8);
    t.deepEqual(idsOf(await dueOf(store)), ['s1']);
  });

  check('of a delete and a write at once one succeeds', async (t, store) => {
    for (let race = 0; race < 6; race++) {
      const id = `s${String(race)}`;
      await put(store, { id });
      const [isDeleted, written] = await Promise.all([
        store.deleteResource({ ...key, id }, 1),
        put(store, { id, version: 2, at: 6, dueAt: soon }),
      ]);
      t.is(isDeleted, written === undefined);
      t.is((await store.getResource({ ...key, id }))?.version, isDeleted ? undefined : 2);
    }
  });

  check('a list has the objects of one kind and owner by id, descending, page by page', async (t, store) => {
    for (const id of ['b', 'a', 'Z', 'é', 'a0', '🦊']) await put(store, { id });
    await put(store, { id: 'x', owner: 'u:bob' });
    await put(store, { id: 'y', kind: 'webhook' });
    const all = ['🦊', 'é', 'b', 'a0', 'a', 'Z'];
    t.deepEqual(idsOf(await store.listResources(key, { limit: 100 })), all);
    for (const limit of [1, 2, 5]) {
      const found: string[] = [];
      for (let after: string | undefined; ; after = found.at(-1)) {
        const page = await store.listResources(key, { limit, after });
        found.push(...idsOf(page));
        if (page.length < limit) break;
      }
      t.deepEqual(found, all);
    }
    t.deepEqual(idsOf(await store.listResources(key, { limit: 5, after: 'a1' })), ['a0', 'a', 'Z']);
    t.like((await store.listResources({ ...key, owner: 'u:bob' }, { limit: 5 }))[0], {
      id: 'x',
      owner: 'u:bob',
      version: 1,
    });
  });

  check('a list ends after the row at which it exceeds its bytes, and not before the second', async (t, store) => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await put(store, { id, json: new Uint8Array(10_000) });
    t.deepEqual(idsOf(await store.listResources(key, { limit: 5, bytes: 25_000 })), ['e', 'd', 'c']);
    t.deepEqual(idsOf(await store.listResources(key, { limit: 5, bytes: 1 })), ['e', 'd']);
    t.deepEqual(idsOf(await store.listResources(key, { limit: 5, bytes: 25_000, after: 'c' })), ['b', 'a']);
  });

  check('a list has the ids of a range, with or without what the objects hold', async (t, store) => {
    for (const id of ['a', 'b.', 'b.c', 'b.é', 'b/', 'c']) await put(store, { id });
    await put(store, { id: 'b.z', at: 9, dueAt: soon });
    await put(store, { id: 'b.x', owner: 'u:bob' });
    for (const [range, ids] of [
      [{ from: 'b.', after: 'b/' }, ['b.é', 'b.z', 'b.c', 'b.']],
      [{ from: 'b.d' }, ['c', 'b/', 'b.é', 'b.z']],
      [{ after: 'b.c' }, ['b.', 'a']],
      [{ from: 'b.', after: 'b.' }, []],
      [{}, ['c', 'b/', 'b.é', 'b.z', 'b.c', 'b.', 'a']],
    ] as const) {
      t.deepEqual(idsOf(await store.listResources(key, { limit: 10, ...range })), ids);
      t.deepEqual(idsOf(await store.listResourceMarks(key, { limit: 10, ...range })), ids);
      t.deepEqual(idsOf(await store.listResourceMarks(key, { limit: 2, ...range })), ids.slice(0, 2));
    }
    t.deepEqual(await store.listResourceMarks(key, { limit: 2, from: 'b.c', after: 'b.é' }), [
      { id: 'b.z', updatedAt: 9, dueAt: soon },
      { id: 'b.c', updatedAt: 5 },
    ]);
  });

  check('an object may be a mebibyte, and a list of such reads few at a time', async (t, store) => {
    const large = new Uint8Array(1024 * 1024).fill(0x61);
    for (let n = 0; n < 12; n++) await put(store, { id: `large ${String(n).padStart(2, '0')}`, json: large });
    t.is((await store.getResource({ ...key, id: 'large 03' }))?.json.byteLength, large.byteLength);
    t.is((await store.listResources(key, { limit: 20, bytes: 3.5 * 1024 * 1024 })).length, 4);
    t.is((await store.listResourceMarks(key, { limit: 20 })).length, 12);
  });

  check('objects are counted by kind and owner, up to a bound', async (t, store) => {
    t.is(await store.countResources(key, 10), 0);
    for (const id of ['a', 'b', 'c']) await put(store, { id });
    await put(store, { owner: 'u:bob' });
    t.is(await store.countResources(key, 10), 3);
    t.is(await store.countResources(key, 2), 2);
    t.is(await store.countResources({ ...key, kind: 'webhook' }, 2), 0);
  });

  check('due objects are listed by time, owner and id, page by page, over all owners', async (t, store) => {
    const at = soon;
    for (const id of ['c', 'a']) await put(store, { id, dueAt: at });
    await put(store, { id: 'b', owner: 'u:bob', dueAt: at });
    await put(store, { id: 'z', dueAt: at - 1 });
    await put(store, { id: 'y', dueAt: at + 7_200_000 });
    await put(store, { id: 'never' });
    await put(store, { id: 'other', kind: 'webhook', dueAt: at });
    const all = ['z', 'a', 'c', 'b'];
    t.deepEqual(idsOf(await dueOf(store, at)), all);
    t.deepEqual(idsOf(await dueOf(store, at - 1)), ['z']);
    t.deepEqual(idsOf(await dueOf(store, at + 7_200_000)), [...all, 'y']);
    t.deepEqual(idsOf(await dueOf(store, at, 'webhook')), ['other']);
    for (const limit of [1, 2, 3]) {
      const found: DueResource[] = [];
      for (let after: DueResource | undefined; ; after = found.at(-1)) {
        const page = await store.listDueResources(key.kind, { until: at, after, limit });
        found.push(...page);
        if (page.length < limit) break;
      }
      t.deepEqual(idsOf(found), all);
      t.deepEqual(found[3], { owner: 'u:bob', id: 'b', version: 1, dueAt: at });
    }
  });

  check('an object is due at the time of its last version, also when an earlier one had the same', async (t, store) => {
    await put(store, { dueAt: soon });
    await put(store, { version: 2, dueAt: soon + 20_000 });
    t.deepEqual(await dueOf(store, soon), []);
    await put(store, { version: 3, dueAt: soon });
    await put(store, { version: 4, dueAt: soon });
    t.deepEqual(await dueOf(store), [{ owner, id: 's1', version: 4, dueAt: soon }]);
    await put(store, { version: 5 });
    t.deepEqual(await dueOf(store), []);
  });

  test(`${name}: objects are as a model of them says, whatever is written in which order`, async (t) => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b'),
      version: fc.integer({ min: 1, max: 4 }),
      dueAt: fc.option(fc.constantFrom(soon, soon + 1, soon + 60_000), { nil: undefined }),
      isDelete: fc.boolean(),
      isNew: fc.boolean(),
    });
    const play = async (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]): Promise<void> => {
      await using store = await openPart();
      const model = new Map<string, ResourceRow>();
      for (const [at, { id, version, dueAt, isDelete, isNew }] of steps.entries()) {
        const known = model.get(id);
        if (isDelete) {
          t.is(await store.deleteResource({ ...key, id }, version), known?.version === version);
          if (known?.version === version) model.delete(id);
          continue;
        }
        const next = write({ id, version, at, ...(isNew && { isNew }), ...(dueAt === undefined ? {} : { dueAt }) });
        const isNext = isNew ? !known : (known?.version ?? 0) === version - 1;
        t.is(await store.putResource(next), isNext ? at : undefined);
        if (isNext) model.set(id, rowOf(next, known?.createdAt ?? at));
      }
      const rows = [...model.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1));
      t.deepEqual(await store.listResources(key, { limit: 10 }), rows);
      const due = rows.flatMap(({ id, version, dueAt }) => (dueAt === undefined ? [] : { owner, id, version, dueAt }));
      t.deepEqual(
        await dueOf(store),
        due.toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)),
      );
    };
    const numRuns = scale ? scale.stories * 2 : 20;
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 20 }), play), { numRuns });
  });

  if (!keeps) return;
  test(`${name}: objects and their times are there after the store is opened again`, async (t) => {
    const place = `resources-${String((places += 1))}`;
    {
      await using store = await open(place);
      await put(store, { dueAt: soon });
    }
    await using store = await open(place);
    t.deepEqual(await store.getResource(key), rowOf(write({ dueAt: soon })));
    t.deepEqual(idsOf(await dueOf(store)), ['s1']);
  });
}
