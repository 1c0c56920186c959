import type { TestFn } from 'ava';
import type { FileFilter, FileRecord, ListFilesReply, MessageEntry, Threads } from '@agent-workflow/protos/threads';
import { accept, acceptAndClaim, call, commit, completed, message, owner, refused, thread1 } from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const sha256 = 'ab'.repeat(32);
const dayMs = 24 * 3600 * 1000;
const roomy = { maxFiles: 10, maxBytes: 1000 };

const begin = (threads: Threads, fileId: string, parts: object = {}): Promise<FileRecord> =>
  threads.beginFile({ owner, fileId, filename: 'a.txt', contentType: 'text/plain', ...roomy, ...parts }, call());

const finish = (threads: Threads, fileId: string, parts: object = {}): Promise<FileRecord> =>
  threads.finishFile({ owner, fileId, size: 10, sha256, maxBytes: roomy.maxBytes, ttlMs: dayMs, ...parts }, call());

const upload = async (threads: Threads, fileId: string, parts: object = {}): Promise<FileRecord> => {
  await begin(threads, fileId);
  return finish(threads, fileId, parts);
};

const get = (threads: Threads, fileId: string, of = owner): Promise<FileRecord> =>
  threads.getFile({ owner: of, fileId }, call());

const idsOf = ({ files }: ListFilesReply): readonly string[] => files.map(({ fileId }) => fileId);

const list = async (threads: Threads, filter?: FileFilter): Promise<readonly string[]> =>
  idsOf(await threads.listFiles({ owner, limit: 10, ...(filter && { filter }) }, call()));

/** What an owner with too many bytes is told. */
const noRoom = (taken: number, needed: number, bound: number): string =>
  `the stored files and other uploads under way of the owner take ${String(taken)} bytes, ` +
  `this upload needs at least ${String(needed)} bytes, and together they may take ${String(bound)} bytes: ` +
  'delete some files first';

const isReadable = async (threads: Threads, fileId: string): Promise<boolean> =>
  get(threads, fileId).then(
    () => true,
    () => false,
  );

const toRemove = async (threads: Threads, uploadingBefore = 0): Promise<readonly string[]> => {
  const found: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = { limit: 2, uploadingBefore, ...(cursor === undefined ? {} : { cursor }) };
    const reply = await threads.listFilesToRemove(page, call());
    found.push(...reply.files.map(({ fileId }) => fileId));
    if (reply.cursor === undefined) return found;
    cursor = reply.cursor;
  }
};

const naming = (messageId: string, ...fileIds: string[]): MessageEntry =>
  message(
    messageId,
    'user',
    fileIds.map((id) => ({ type: 'image', file_id: id })),
  );

const remove = async (threads: Threads, threadId: string): Promise<void> => {
  await threads.beginDelete({ owner, threadId }, call());
  await threads.finishDelete({ owner, threadId }, call());
};

/** What the record promises of files: their life, their quota, and that a file lives as long as a thread names it. */
export function threadsFilesContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('a file can be read once it is stored, by its owner alone', async (t, threads) => {
    const begun = await begin(threads, 'f1');
    t.like(begun, { fileId: 'f1', owner, status: 'uploading', size: 0, contentType: 'text/plain' });
    t.false('sha256' in begun || 'expiresAt' in begun);
    await refused(t, get(threads, 'f1'), 'NotFound');
    const stored = await finish(threads, 'f1', { sniffedType: 'image/png' });
    t.like(stored, { status: 'stored', size: 10, sha256, sniffedType: 'image/png', filename: 'a.txt' });
    t.true(Math.abs((stored.expiresAt ?? 0) - Date.now() - dayMs) < 60_000);
    t.deepEqual(await get(threads, 'f1'), stored);
    t.is(await refused(t, get(threads, 'f1', 'u:bob'), 'NotFound'), 'file "f1" does not exist');
    t.is(
      await refused(t, threads.deleteFile({ owner: 'u:bob', fileId: 'f1' }, call()), 'NotFound'),
      'file "f1" does not exist',
    );
    t.true(await isReadable(threads, 'f1'));
  });

  check('a file is found by a thread as long as the thread names it, and by no other', async (t, threads) => {
    await upload(threads, 'f1');
    await upload(threads, 'f2');
    const by = (fileId: string, threadId: string, of = owner) =>
      threads.getFile({ owner: of, fileId, threadId }, call());
    await accept(threads, 'r1', { ...thread1, messages: [naming('m1', 'f1')] });
    t.is((await by('f1', thread1.threadId)).fileId, 'f1');
    for (const [fileId, threadId, of] of [
      ['f2', thread1.threadId],
      ['f1', 'another'],
      ['f1', thread1.threadId, 'u:bob'],
    ] as const)
      await refused(t, by(fileId, threadId, of), 'NotFound');
    await remove(threads, thread1.threadId);
    await refused(t, by('f1', thread1.threadId), 'NotFound');
  });

  check('begin and finish made again give the same record', async (t, threads) => {
    t.deepEqual(await begin(threads, 'f1'), await begin(threads, 'f1', { maxFiles: 1 }));
    const stored = await finish(threads, 'f1');
    t.deepEqual(await finish(threads, 'f1', { maxBytes: 10 }), stored);
    await refused(t, finish(threads, 'f1', { size: 11 }), 'Stale');
    await refused(t, finish(threads, 'f2'), 'Stale');
  });

  check('an owner with too many files or bytes is refused, until some are gone', async (t, threads) => {
    await upload(threads, 'f1');
    t.is(
      await refused(t, begin(threads, 'f2', { maxFiles: 1 }), 'TooLarge'),
      'the stored files and uploads under way of the owner are 1, and they may be 1: delete some files first',
    );
    t.is(await refused(t, begin(threads, 'f2', { maxBytes: 10 }), 'TooLarge'), noRoom(10, 1, 10));
    await begin(threads, 'f2');
    const tooLarge = finish(threads, 'f2', { maxBytes: 19 });
    t.is(await refused(t, tooLarge, 'TooLarge'), noRoom(10, 10, 19));
    await begin(threads, 'f3', { owner: 'u:bob', maxFiles: 1 });
    await threads.deleteFile({ owner, fileId: 'f1' }, call());
    await refused(t, begin(threads, 'f4', { maxFiles: 2 }), 'TooLarge');
    await threads.forgetFile({ owner, fileId: 'f1' }, call());
    await begin(threads, 'f4', { maxFiles: 2 });
    await finish(threads, 'f2', { maxBytes: 10 });
  });

  check('uploads count with the bytes that are reserved for them, until they end', async (t, threads) => {
    t.is((await begin(threads, 'f1', { reserveBytes: 600, leastBytes: 1 })).size, 600);
    t.is((await begin(threads, 'f1', { reserveBytes: 500, leastBytes: 1 })).size, 600);
    t.is((await begin(threads, 'f2', { reserveBytes: 900, leastBytes: 400 })).size, 400);
    t.is(
      await refused(t, begin(threads, 'f3', { reserveBytes: 10, leastBytes: 1 }), 'TooLarge'),
      noRoom(1000, 1, 1000),
    );
    t.is((await finish(threads, 'f1', { size: 100 })).size, 100);
    t.is((await begin(threads, 'f2', { reserveBytes: 800, leastBytes: 700 })).size, 800);
    t.is(
      await refused(t, begin(threads, 'f2', { reserveBytes: 901, leastBytes: 901 }), 'TooLarge'),
      noRoom(100, 901, 1000),
    );
    t.is((await begin(threads, 'f3', { reserveBytes: 500, leastBytes: 1 })).size, 100);
    t.is((await begin(threads, 'f1', { reserveBytes: 900, leastBytes: 900 })).status, 'stored');
    await threads.deleteFile({ owner, fileId: 'f2' }, call());
    await refused(t, begin(threads, 'f4'), 'TooLarge');
    await threads.forgetFile({ owner, fileId: 'f2' }, call());
    t.is((await begin(threads, 'f4', { reserveBytes: 900, leastBytes: 800 })).size, 800);
    t.is((await finish(threads, 'f4', { size: 800 })).size, 800);
    t.regex(await refused(t, begin(threads, 'f5', { reserveBytes: -1 }), 'Invalid'), /^reserveBytes: /);
  });

  check('uploads that begin at once reserve no more than their owner may have', async (t, threads) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) =>
        begin(threads, `f${String(index)}`, { reserveBytes: 300, leastBytes: 300 }),
      ),
    );
    t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
  });

  check('a deleted file is not found, is listed until it is forgotten, and finishes no upload', async (t, threads) => {
    await upload(threads, 'f1');
    await begin(threads, 'f2');
    for (const fileId of ['f1', 'f2', 'f1']) await threads.deleteFile({ owner, fileId }, call());
    await refused(t, get(threads, 'f1'), 'NotFound');
    await refused(t, finish(threads, 'f2'), 'Stale');
    t.deepEqual((await toRemove(threads)).toSorted(), ['f1', 'f2']);
    await threads.forgetFile({ owner, fileId: 'f1' }, call());
    await threads.forgetFile({ owner, fileId: 'f1' }, call());
    t.deepEqual(await toRemove(threads), ['f2']);
    await refused(t, threads.deleteFile({ owner, fileId: 'f1' }, call()), 'NotFound');
  });

  check('a file that is not being deleted is not forgotten', async (t, threads) => {
    await upload(threads, 'f1');
    await threads.forgetFile({ owner, fileId: 'f1' }, call());
    t.true(await isReadable(threads, 'f1'));
  });

  check('an upload that began too long ago is listed, and finishes no more', async (t, threads) => {
    const { createdAt } = await begin(threads, 'f1');
    t.deepEqual(await toRemove(threads, createdAt), []);
    t.deepEqual(await toRemove(threads, createdAt + 1), ['f1']);
    await refused(t, finish(threads, 'f1'), 'Stale');
    await upload(threads, 'f2');
    t.deepEqual(await toRemove(threads, createdAt + dayMs), ['f1']);
  });

  check('a file that no thread names goes at the end of its time', async (t, threads) => {
    await upload(threads, 'f1', { ttlMs: 0 });
    await upload(threads, 'f2');
    t.true(await isReadable(threads, 'f1'));
    t.deepEqual(await toRemove(threads), ['f1']);
    t.false(await isReadable(threads, 'f1'));
    t.true(await isReadable(threads, 'f2'));
  });

  check('pages of files to remove go on after those that stay', async (t, threads) => {
    for (const fileId of ['f1', 'f2', 'f3', 'f4', 'f5']) await upload(threads, fileId, { ttlMs: 0 });
    await accept(threads, 'r1', { messages: [naming('m1', 'f1', 'f2', 'f3')] });
    t.deepEqual((await toRemove(threads)).toSorted(), ['f4', 'f5']);
    t.deepEqual((await toRemove(threads)).toSorted(), ['f4', 'f5']);
  });

  check('a file stays while a message of a thread names it, however it came there', async (t, threads) => {
    const all = ['input', 'step', 'added', 'written'];
    for (const fileId of all) await upload(threads, fileId, { ttlMs: 0 });
    await accept(threads, 'r1', { messages: [naming('m1', 'input')] });
    const { epoch } = await threads.claimRun({ ...thread1, runId: 'r1', workerId: 'w1' }, call());
    const end = { messages: [naming('m2', 'step', 'unknown')], end: completed };
    const { version } = await commit(threads, 'r1', epoch, end);
    await threads.addMessages({ ...thread1, messages: [naming('m3', 'added')] }, call());
    t.true((await threads.getThread(thread1, call())).version > version);
    const { version: expectedVersion } = await threads.getThread(thread1, call());
    await threads.writeState({ ...thread1, expectedVersion, fields: {}, messages: [naming('m4', 'written')] }, call());
    for (const fileId of all) t.false('expiresAt' in (await get(threads, fileId)), fileId);
    t.deepEqual(await toRemove(threads), []);
    for (const fileId of all) t.false('expiresAt' in (await get(threads, fileId)), fileId);
    await remove(threads, 't1');
    for (const fileId of all) t.false(await isReadable(threads, fileId), fileId);
    t.deepEqual((await toRemove(threads)).toSorted(), all.toSorted());
  });

  check('a file that two threads name goes with the second of them', async (t, threads) => {
    await upload(threads, 'f1');
    await accept(threads, 'r1', { messages: [naming('m1', 'f1')] });
    await accept(threads, 'r2', { threadId: 't2', messages: [naming('m1', 'f1')] });
    await remove(threads, 't1');
    t.true(await isReadable(threads, 'f1'));
    t.deepEqual(await toRemove(threads), []);
    await remove(threads, 't2');
    t.false(await isReadable(threads, 'f1'));
    t.deepEqual(await toRemove(threads), ['f1']);
  });

  check('a fork names the files of its thread', async (t, threads) => {
    await upload(threads, 'f1', { ttlMs: 0 });
    await accept(threads, 'r1', { messages: [naming('m1', 'f1')] });
    const { epoch } = await threads.claimRun({ ...thread1, runId: 'r1', workerId: 'w1' }, call());
    const { version } = await commit(threads, 'r1', epoch, { end: completed });
    const fork = { ...thread1, checkpointId: String(version), newThreadId: 't2' };
    await threads.forkThread(fork, call());
    await remove(threads, 't1');
    t.true(await isReadable(threads, 'f1'));
    t.deepEqual(await toRemove(threads), []);
    await remove(threads, 't2');
    t.false(await isReadable(threads, 'f1'));
  });

  check(
    'a request that is refused takes no file: that goes at its time, and not with the thread',
    async (t, threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      const { expiresAt } = await upload(threads, 'f1');
      const messages = [naming('m1', 'f1')];
      await refused(t, accept(threads, 'r2', { messages, multitaskStrategy: 'reject' }), 'Conflict');
      await refused(t, threads.addMessages({ ...thread1, messages }, call()), 'Conflict');
      await refused(t, threads.addMessages({ owner, threadId: 't0', messages }, call()), 'NotFound');
      await refused(t, accept(threads, 'r2', { messages: [...messages, naming('m2', 'f0')] }), 'Invalid');
      t.is((await get(threads, 'f1')).expiresAt, expiresAt);
      await commit(threads, 'r1', epoch, { end: completed });
      await refused(t, commit(threads, 'r1', epoch, { messages }), 'Stale');
      await remove(threads, 't1');
      t.is((await get(threads, 'f1')).expiresAt, expiresAt);
      await upload(threads, 'f2', { ttlMs: 0 });
      const again = { threadId: 't2', messages: [naming('m1', 'f2')] };
      await accept(threads, 'r3', { threadId: 't2' });
      await refused(t, accept(threads, 'r4', { ...again, multitaskStrategy: 'reject' }), 'Conflict');
      t.deepEqual(await toRemove(threads), ['f2']);
    },
  );

  check('a request that names a file by no identifier is refused by its field', async (t, threads) => {
    const messages = [message('m1', 'user', [{ type: 'image', file_id: 'a/b' }])];
    t.regex(await refused(t, accept(threads, 'r1', { messages }), 'Invalid'), /^messages\.0\.content\.0\.file_id: /);
    await refused(t, threads.getThread(thread1, call()), 'NotFound');
  });

  check('a request that names a file of nobody, or of another owner, is refused by its field', async (t, threads) => {
    await upload(threads, 'f1');
    await begin(threads, 'f2', { owner: 'u:bob' });
    await threads.finishFile({ owner: 'u:bob', fileId: 'f2', size: 1, sha256, maxBytes: 10, ttlMs: dayMs }, call());
    const messages = [naming('m1', 'f1'), naming('m2', 'f1', 'f2')];
    const sentence = 'messages.1.content.1.file_id: there is no file "f2"';
    t.is(await refused(t, accept(threads, 'r1', { messages }), 'Invalid'), sentence);
    await refused(t, threads.getThread(thread1, call()), 'NotFound');
    const { epoch } = await acceptAndClaim(threads, 'r2');
    await commit(threads, 'r2', epoch, { end: completed });
    t.is(await refused(t, threads.addMessages({ ...thread1, messages }, call()), 'Invalid'), sentence);
  });

  check('the stored files of an owner are listed, newest first, and no others', async (t, threads) => {
    t.deepEqual(await list(threads), []);
    for (const fileId of ['f1', 'f2', 'f3', 'f4']) await upload(threads, fileId);
    await begin(threads, 'f5');
    await upload(threads, 'f6', { owner: 'u:bob' }).catch(() => undefined);
    await threads.deleteFile({ owner, fileId: 'f2' }, call());
    t.deepEqual(await list(threads), ['f4', 'f3', 'f1']);
    const { files } = await threads.listFiles({ owner, limit: 10 }, call());
    t.deepEqual(files[0], await get(threads, 'f4'));
    t.deepEqual((await threads.listFiles({ owner: 'u:eve', limit: 10 }, call())).files, []);
  });

  check('a list of files goes on after its cursor, also when files come and go meanwhile', async (t, threads) => {
    for (const fileId of ['f1', 'f3', 'f5', 'f7']) await upload(threads, fileId);
    const first = await threads.listFiles({ owner, limit: 2 }, call());
    t.deepEqual(idsOf(first), ['f7', 'f5']);
    await threads.deleteFile({ owner, fileId: 'f5' }, call());
    await upload(threads, 'f9');
    const cursor = first.cursor ?? '';
    const rest = await threads.listFiles({ owner, limit: 2, cursor }, call());
    t.deepEqual([idsOf(rest), rest.cursor], [['f3', 'f1'], undefined]);
    await refused(t, threads.listFiles({ owner: 'u:bob', limit: 2, cursor }, call()), 'Invalid');
    await refused(t, threads.listFiles({ owner, limit: 2, cursor, filter: { search: 'a' } }, call()), 'Invalid');
  });

  check('files are found by name, id, type and time', async (t, threads) => {
    await begin(threads, 'f1', { filename: 'Report März.pdf', contentType: 'application/pdf' });
    await finish(threads, 'f1');
    await begin(threads, 'f2', { filename: 'photo.png' });
    const { createdAt } = await finish(threads, 'f2', { sniffedType: 'image/png' });
    await threads.beginFile({ owner, fileId: 'f3', filename: 'bytes', ...roomy }, call());
    await finish(threads, 'f3');
    t.deepEqual(await list(threads, { search: 'REPORT mä' }), ['f1']);
    t.deepEqual(await list(threads, { search: 'f2' }), ['f2']);
    t.deepEqual(await list(threads, { mediaType: 'image/*' }), ['f2']);
    t.deepEqual(await list(threads, { mediaType: 'text/plain' }), [], 'what its bytes show counts');
    t.deepEqual(await list(threads, { mediaType: 'application/octet-stream' }), ['f3']);
    t.deepEqual(await list(threads, { mediaType: 'application/*', search: 'report' }), ['f1']);
    t.deepEqual(await list(threads, { from: createdAt + 60_000 }), []);
    t.deepEqual(await list(threads, { to: createdAt - 60_000 }), []);
    t.deepEqual(await list(threads, { from: createdAt - 60_000, to: createdAt + 60_000 }), ['f3', 'f2', 'f1']);
  });

  check('a file in a list has a time to go as long as no thread names it', async (t, threads) => {
    await upload(threads, 'f1');
    await upload(threads, 'f2');
    await accept(threads, 'r1', { messages: [naming('m1', 'f1')] });
    const { files } = await threads.listFiles({ owner, limit: 10 }, call());
    t.deepEqual(
      files.map(({ fileId, expiresAt }) => [fileId, expiresAt === undefined]),
      [
        ['f2', false],
        ['f1', true],
      ],
    );
  });

  check('names and hashes out of bounds are refused by their field', async (t, threads) => {
    const wide = 'ä'.repeat(128);
    t.regex(await refused(t, begin(threads, 'f1', { filename: wide }), 'Invalid'), /^filename: .* 255 bytes$/);
    t.regex(await refused(t, begin(threads, 'f1', { contentType: wide }), 'Invalid'), /^contentType: .* 255 bytes$/);
    await begin(threads, 'f1');
    t.regex(await refused(t, finish(threads, 'f1', { sha256: 'AB' }), 'Invalid'), /^sha256: /);
    t.regex(await refused(t, finish(threads, 'f1', { size: -1 }), 'Invalid'), /^size: /);
    await refused(t, threads.listFilesToRemove({ limit: 1, uploadingBefore: 0, cursor: 'x' }, call()), 'Invalid');
  });
}
