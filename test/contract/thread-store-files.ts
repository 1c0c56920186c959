import type { ExecutionContext, TestFn } from 'ava';
import { conflict } from '@agent-workflow/kit/errors';
import type { FileRow } from '@agent-workflow/threads/ports/files';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { TestedStore } from './thread-stores/tested.ts';

const owner = 'u:ada';
const key = { owner, fileId: 'f1' };

const file = (parts: Partial<FileRow> = {}): FileRow => ({
  ...{ ...key, filename: 'a.txt', size: 0, createdAt: 5, status: 'uploading', noted: 0 },
  ...parts,
});

const put = (store: ThreadStore, row: FileRow): Promise<unknown> =>
  store.changeFile(row, { totals: true }, ({ totals }) => ({ change: { put: row }, reply: totals }));

const totalsOf = (store: ThreadStore, of: { readonly owner: string; readonly fileId: string }): Promise<unknown> =>
  store.changeFile(of, { totals: true }, ({ totals }) => ({ reply: totals }));

const dueOf = async (store: ThreadStore, time: number): Promise<readonly string[]> =>
  (await store.listDueFiles({ until: time, limit: 100 })).map(({ fileId }) => fileId);

let places = 0;

/** What a record of files must promise, whatever keeps it. */
export function threadStoreFilesContract(test: TestFn, { name, open, openPart, keeps }: TestedStore): void {
  const check = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await openPart();
      await body(t, store);
    });
  };

  check('a file that was never written is absent, and is of no owner but its own', async (t, store) => {
    t.is(await store.getFile(key), undefined);
    t.deepEqual(await totalsOf(store, key), { files: 0, bytes: 0 });
    await put(store, file());
    t.is(await store.getFile({ ...key, owner: 'u:bob' }), undefined);
    t.is(await store.getFile({ ...key, fileId: 'f2' }), undefined);
  });

  check('a file is read as it was written, with every part and with none', async (t, store) => {
    const least = file();
    const most = file({
      ...{ fileId: 'f2', filename: 'ü 🦊.txt', contentType: 'text/plain', sniffedType: 'image/png', size: 2 ** 40 },
      ...{ sha256: 'ab'.repeat(32), status: 'stored', dueAt: 77, noted: 3 },
    });
    for (const row of [least, most]) {
      await put(store, row);
      t.deepEqual(await store.getFile(row), row);
    }
    await put(store, { ...least, fileId: 'f2' });
    t.deepEqual(await store.getFile(most), { ...least, fileId: 'f2' });
  });

  check('the totals of an owner follow what is put, grows and is removed', async (t, store) => {
    await put(store, file({ size: 10 }));
    await put(store, file({ fileId: 'f2', size: 5 }));
    await put(store, file({ owner: 'u:bob', size: 1000 }));
    t.deepEqual(await totalsOf(store, key), { files: 2, bytes: 15 });
    await put(store, file({ size: 30 }));
    t.deepEqual(await totalsOf(store, key), { files: 2, bytes: 35 });
    await store.changeFile(key, { totals: true }, () => ({ change: { remove: true }, reply: undefined }));
    t.is(await store.getFile(key), undefined);
    t.deepEqual(await totalsOf(store, key), { files: 1, bytes: 5 });
    await put(store, file({ size: 2 }));
    t.deepEqual(await totalsOf(store, key), { files: 2, bytes: 7 });
  });

  check('what a decision throws is thrown as it is, with nothing written', async (t, store) => {
    const error = conflict('no');
    const refusing = store.changeFile(key, { totals: true }, () => {
      throw error;
    });
    t.is(await t.throwsAsync(refusing), error);
    t.is(await store.getFile(key), undefined);
  });

  check('changes of one file that are made at once are made one after another', async (t, store) => {
    await put(store, file());
    const raise = (): Promise<number> =>
      store.changeFile(key, { totals: false }, ({ file: seen }) => {
        const noted = (seen?.noted ?? -100) + 1;
        return { change: { put: file({ noted }) }, reply: noted };
      });
    await Promise.all(Array.from({ length: 5 }, raise));
    t.is((await store.getFile(key))?.noted, 5);
  });

  check('of new files at once only as many are put as the totals allow', async (t, store) => {
    const begin = (fileId: string): Promise<boolean> =>
      store.changeFile({ owner, fileId }, { totals: true }, ({ totals, file: seen }) => {
        if (seen) return { reply: true };
        return totals.files >= 3 ? { reply: false } : { change: { put: file({ fileId, size: 2 }) }, reply: true };
      });
    const begun = await Promise.all(Array.from({ length: 8 }, (_, index) => begin(`f${String(index)}`)));
    t.is(begun.filter(Boolean).length, 3);
    t.deepEqual(await totalsOf(store, key), { files: 3, bytes: 6 });
  });

  check(
    'the files of an owner are listed by id from the highest on, page by page, whatever their status',
    async (t, store) => {
      t.deepEqual(await store.listOwnFiles(owner, { limit: 5 }), []);
      const deleting = file({ fileId: 'b', status: 'deleting', size: 3 });
      await put(store, file({ fileId: 'a' }));
      await put(store, deleting);
      await put(store, file({ fileId: 'c', status: 'stored' }));
      await put(store, file({ fileId: 'd', owner: 'u:bob' }));
      const ids = async (page: { readonly after?: string; readonly limit: number }): Promise<readonly string[]> =>
        (await store.listOwnFiles(owner, page)).map(({ fileId }) => fileId);
      t.deepEqual(await ids({ limit: 2 }), ['c', 'b']);
      t.deepEqual(await ids({ limit: 2, after: 'b' }), ['a']);
      t.deepEqual(await ids({ limit: 2, after: 'a' }), []);
      t.deepEqual((await store.listOwnFiles(owner, { limit: 5 }))[1], deleting);
      for (const fileId of ['a', 'b', 'c'])
        await store.changeFile({ owner, fileId }, { totals: true }, () => ({
          change: { remove: true },
          reply: undefined,
        }));
      t.deepEqual(await ids({ limit: 5 }), []);
      t.deepEqual(
        (await store.listOwnFiles('u:bob', { limit: 5 })).map(({ fileId }) => fileId),
        ['d'],
      );
    },
  );

  check('due files are listed by time and id, page by page, over all owners', async (t, store) => {
    const at = Date.now() - 60_000;
    await put(store, file({ fileId: 'c', dueAt: at }));
    await put(store, file({ fileId: 'b', dueAt: at, owner: 'u:bob' }));
    await put(store, file({ fileId: 'a', dueAt: at + 10 }));
    await put(store, file({ fileId: 'never' }));
    await put(store, file({ fileId: 'later', dueAt: at + 3_600_000 }));
    const first = await store.listDueFiles({ until: at + 50, limit: 2 });
    t.deepEqual(
      first.map(({ owner: of, fileId, dueAt }) => [of, fileId, dueAt]),
      [
        ['u:bob', 'b', at],
        [owner, 'c', at],
      ],
    );
    const rest = await store.listDueFiles({ until: at + 50, limit: 2, after: { dueAt: at, fileId: 'c' } });
    t.deepEqual(
      rest.map(({ fileId }) => fileId),
      ['a'],
    );
    t.deepEqual(await dueOf(store, at + 3_600_000), ['b', 'c', 'a', 'later']);
  });

  check('a file is due at its last time, and not after its time or its row was removed', async (t, store) => {
    const at = Date.now() - 60_000;
    await put(store, file({ dueAt: at }));
    await put(store, file({ dueAt: at + 20 }));
    t.deepEqual(await dueOf(store, at), []);
    t.deepEqual(await dueOf(store, at + 20), ['f1']);
    await put(store, file());
    t.deepEqual(await dueOf(store, at + 50), []);
    await put(store, file({ dueAt: at + 30 }));
    await store.changeFile(key, { totals: true }, () => ({ change: { remove: true }, reply: undefined }));
    t.deepEqual(await dueOf(store, at + 50), []);
  });

  check('notes are found by file and by thread, each of its own owner, page by page', async (t, store) => {
    const note = (fileId: string, threadId: string, at = 1, of = owner): Promise<void> =>
      store.putFileNote({ owner: of, fileId }, { threadId, at });
    await Promise.all([note('f1', 't2'), note('f1', 't1'), note('f2', 't1'), note('f1', 't3', 1, 'u:bob')]);
    await note('f1', 't2', 9);
    t.deepEqual(await store.listFileNotes(key, { limit: 1 }), [{ threadId: 't1', at: 1 }]);
    t.deepEqual(await store.listFileNotes(key, { limit: 5, after: 't1' }), [{ threadId: 't2', at: 9 }]);
    t.deepEqual(await store.listFilesOf({ owner, threadId: 't1' }, { limit: 1 }), ['f1']);
    t.deepEqual(await store.listFilesOf({ owner, threadId: 't1' }, { limit: 5, after: 'f1' }), ['f2']);
    t.deepEqual(await store.listFilesOf({ owner, threadId: 't3' }, { limit: 5 }), []);
    await store.dropFileNote(key, 't1');
    t.deepEqual(await store.listFileNotes(key, { limit: 5 }), [{ threadId: 't2', at: 9 }]);
    t.deepEqual(await store.listFilesOf({ owner, threadId: 't1' }, { limit: 5 }), ['f2']);
  });

  if (!keeps) return;
  test(`${name}: files, their notes and their times are there after it is opened again`, async (t) => {
    const place = `files-${String((places += 1))}`;
    const at = Date.now() - 60_000;
    {
      await using store = await open(place);
      await put(store, file({ dueAt: at, size: 4 }));
      await store.putFileNote(key, { threadId: 't1', at });
    }
    await using store = await open(place);
    t.deepEqual(await store.getFile(key), file({ dueAt: at, size: 4 }));
    t.deepEqual(await totalsOf(store, key), { files: 1, bytes: 4 });
    t.deepEqual(await dueOf(store, at), ['f1']);
    t.deepEqual(await store.listFilesOf({ owner, threadId: 't1' }, { limit: 5 }), ['f1']);
  });
}
