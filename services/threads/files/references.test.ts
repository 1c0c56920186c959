import test, { type ExecutionContext } from 'ava';
import { conflict, unavailable } from '@agent-workflow/kit/errors';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import { newHead } from '../record/head.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createReferences, type References } from './references.ts';

const owner = 'u:ada';
const key = { owner, fileId: 'f1' };
const thread = { owner, threadId: 't1' };
const minuteMs = 60_000;

interface Ground {
  readonly store: ThreadStore;
  readonly references: References;
  /** Sets the clock on. */
  readonly pass: (ms: number) => void;
  readonly status: () => Promise<string | undefined>;
}

/** A record with one stored file of an owner, which is due. */
async function open(t: ExecutionContext, wrap = (store: ThreadStore): ThreadStore => store): Promise<Ground> {
  const opened = openSqliteThreadStore({ path: ':memory:' });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const store = wrap(opened);
  let time = 1_000_000_000_000;
  const file = { ...key, filename: 'a', size: 1, createdAt: time, status: 'stored', dueAt: time, noted: 0 } as const;
  await store.changeFile(key, { totals: true }, () => ({ change: { put: file }, reply: undefined }));
  return {
    store,
    references: createReferences({ store, now: () => time }),
    pass: (ms) => void (time += ms),
    status: async () => (await opened.getFile(key))?.status,
  };
}

const makeThread = (store: ThreadStore, deleting = false): Promise<unknown> =>
  store.change(thread, {}, () => ({ change: { head: { ...newHead({}, 1), deleting } }, reply: undefined }));

const naming = (...fileIds: string[]): MessageEntry[] => [
  { messageId: 'm', json: Buffer.from(JSON.stringify({ content: fileIds.map((id) => ({ file_id: id })) })) },
];

const made = async (): Promise<void> => undefined;
const refused = async (): Promise<void> => {
  throw conflict('a run holds the thread');
};
const lost = async (): Promise<void> => {
  throw unavailable('the store is unavailable');
};

test('a note keeps its file for ten minutes before its thread is there, and no longer', async (t) => {
  const { references, pass, status } = await open(t);
  await references.withRequest(thread, naming('f1'), made);
  t.false(await references.settle(key));
  pass(10 * minuteMs - 1);
  t.false(await references.settle(key));
  t.is(await status(), 'stored');
  pass(1);
  t.true(await references.settle(key));
  t.is(await status(), 'deleting');
});

test('a request that names a file which is not there notes none of the others', async (t) => {
  const { store, references } = await open(t);
  const error = await t.throwsAsync<Error & { code: string }>(
    references.withRequest(thread, naming('f1', 'typo'), made),
  );
  t.is(error.code, 'Invalid');
  t.deepEqual(await store.listFilesOf(thread, { limit: 10 }), []);
});

test('a file with a young note is due again when the note is old', async (t) => {
  const { store, references, pass } = await open(t);
  pass(minuteMs);
  await references.withRequest(thread, naming('f1'), made);
  await references.settle(key);
  t.is((await store.getFile(key))?.dueAt, 1_000_000_000_000 + 11 * minuteMs);
  await makeThread(store);
  pass(20 * minuteMs);
  await references.settle(key);
  t.is((await store.getFile(key))?.dueAt, undefined);
});

test('a thread that is being deleted keeps no file', async (t) => {
  const { store, references, pass, status } = await open(t);
  await references.withRequest(thread, naming('f1'), made);
  await makeThread(store, true);
  pass(11 * minuteMs);
  t.true(await references.settle(key));
  t.is(await status(), 'deleting');
});

test('a thread that is noted while a file is looked at wins over its removal', async (t) => {
  let meanwhile: (() => Promise<void>) | undefined;
  const ground = await open(t, (store) => ({
    ...store,
    listFileNotes: async (of, page) => {
      const notes = await store.listFileNotes(of, page);
      const work = meanwhile;
      meanwhile = undefined;
      await work?.();
      return notes;
    },
  }));
  meanwhile = () => ground.references.withRequest(thread, naming('f1'), made);
  t.false(await ground.references.settle(key));
  t.is(await ground.status(), 'stored');
});

test('a note that comes after the removal was decided is refused and leaves nothing', async (t) => {
  const ground = await open(t, (store) => ({
    ...store,
    putFileNote: async (of, note) => {
      await store.putFileNote(of, note);
      await store.changeFile(of, { totals: false }, ({ file }) => ({
        change: { put: { ...(file ?? t.fail()), status: 'deleting' } as never },
        reply: undefined,
      }));
    },
  }));
  await t.throwsAsync(ground.references.withRequest(thread, naming('f1'), made), { message: /there is no file "f1"/ });
  t.deepEqual(await ground.store.listFileNotes(key, { limit: 5 }), []);
});

test('a step passes over files that are not there, and a release settles each file of its thread', async (t) => {
  const { store, references, status } = await open(t);
  await references.withStep(thread, naming('f0', 'f1', 'f2'), made);
  t.deepEqual(await store.listFilesOf(thread, { limit: 5 }), ['f1']);
  await makeThread(store, true);
  await references.release(thread);
  t.is(await status(), 'deleting');
  t.deepEqual(await store.listFilesOf(thread, { limit: 5 }), []);
});

test('a request that names more than 100 files is refused, and one of 100 is looked up', async (t) => {
  const { references } = await open(t);
  const names = Array.from({ length: 101 }, (_, index) => `x${String(index)}`);
  await t.throwsAsync(references.withRequest(thread, naming(...names), made), {
    message: 'messages: must NOT name more than 100 files',
  });
  await t.throwsAsync(references.withRequest(thread, naming(...names.slice(1)), made), {
    message: /there is no file "x1"/,
  });
});

test('a refused change leaves no note, and takes none away', async (t) => {
  const { store, references, status } = await open(t);
  await makeThread(store);
  const refuse = (): Promise<unknown> =>
    t.throwsAsync(references.withRequest(thread, naming('f1'), refused), { message: /holds the thread/ });
  await references.withRequest({ owner, threadId: 't2' }, naming('f1'), async () => {
    await refuse();
  });
  t.deepEqual(
    (await store.listFileNotes(key, { limit: 5 })).map(({ threadId }) => threadId),
    ['t2'],
  );
  await references.withRequest(thread, naming('f1'), refuse);
  await t.throwsAsync(references.withStep(thread, naming('f1'), refused));
  await t.throwsAsync(references.withCopy(thread, { owner, threadId: 't3' }, refused));
  t.deepEqual(
    (await store.listFileNotes(key, { limit: 5 })).map(({ threadId }) => threadId),
    ['t1', 't2'],
  );
  t.is(await status(), 'stored');
});

test('a file that only a refused request named goes at its time, and not with the thread', async (t) => {
  const { store, references, status } = await open(t);
  await makeThread(store);
  await t.throwsAsync(references.withRequest(thread, naming('f1'), refused));
  await makeThread(store, true);
  await references.release(thread);
  t.is(await status(), 'stored');
  t.true(await references.settle(key));
});

test('a file of a change of unknown outcome stays while the thread is there, and is looked at from day to day', async (t) => {
  const { store, references, pass, status } = await open(t);
  await makeThread(store);
  await t.throwsAsync(references.withRequest(thread, naming('f1'), lost));
  pass(60 * minuteMs);
  t.false(await references.settle(key));
  t.is((await store.getFile(key))?.dueAt, 1_000_000_000_000 + 25 * 60 * minuteMs);
  await makeThread(store, true);
  await references.release(thread);
  t.is(await status(), 'stored');
  t.true(await references.settle(key));
});

test('a change that is made is not undone when its notes cannot be kept', async (t) => {
  const { store, references } = await open(t, (opened) => ({
    ...opened,
    dropFileNote: async () => {
      throw unavailable('away');
    },
  }));
  t.is(await references.withRequest(thread, naming('f1'), async () => 'made'), 'made');
  t.is((await store.listFilesOf(thread, { limit: 5 })).length, 1);
});

test('a request with a name that is no identifier is refused by its field', async (t) => {
  const { references } = await open(t);
  await t.throwsAsync(references.withRequest(thread, naming('f1', 'a/b'), made), {
    message: /^messages\.0\.content\.1\.file_id: must not hold a slash/,
  });
  await references.withStep(thread, naming('a/b'), made);
});

test('messages without files read and write nothing', async (t) => {
  const refuse = (): never => t.fail();
  const { references } = await open(t, (store) => ({ ...store, getFile: refuse, putFileNote: refuse }));
  const messages = [{ messageId: 'm', json: Buffer.from('{"content":[{"type":"text","text":"file_id"}]}') }];
  await references.withRequest(thread, messages, made);
  await references.withStep(thread, messages, made);
  t.pass();
});
