import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileStore, openFileSweep, storeFile, type FileStore } from '@agent-workflow/gateway/files';
import { fileSettings } from '@agent-workflow/gateway/files/settings';
import { readEnv } from '@agent-workflow/kit/env';
import { unavailable } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { never, within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import test, { type ExecutionContext } from 'ava';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { noise } from '../noise.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

const log = createLog('test', 'silent');
const secret = 'a secret of thirty-two characters';
const call = () => within(byLoad(30_000));
const dayMs = 24 * 3_600_000;

interface Opened {
  readonly threads: Threads;
  readonly files: FileStore;
  /** The files in the folder of bytes. */
  readonly stored: () => Promise<string[]>;
  /** Lets so many milliseconds of the record's time pass. */
  readonly pass: (ms: number) => void;
}

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

async function open(t: ExecutionContext, path = ':memory:', at?: string): Promise<Opened> {
  const folder = at ?? (await mkdtemp(join(tmpdir(), 'agent-workflow-sweep-')));
  if (at === undefined) t.teardown(() => rm(folder, { recursive: true, force: true }));
  const store = openSqliteThreadStore({ path });
  t.teardown(() => store[Symbol.asyncDispose]());
  let passed = 0;
  const threads = createThreads({ store, keep: 0, now: () => Date.now() + passed });
  const config = readEnv(fileSettings, { FILES_FOLDER: folder, FILES_SECRET: secret });
  const files = await openFileStore({ config, log });
  return { threads, files, stored: () => filesIn(folder), pass: (ms) => (passed += ms) };
}

async function upload({ threads, files }: Opened, fileId: string): Promise<void> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(noise(1000));
  }
  const file = { filename: 'a', contentType: undefined, mostBytes: undefined, bytes: bytes(), signal: never };
  await storeFile({ key: { owner: 'u:ada', fileId }, file, call }, { threads, files, log });
}

/** An upload whose time is over: the sweep takes the settings of its own process for that. */
const overdue = (files: FileStore): FileStore => ({ ...files, limits: { ...files.limits, uploadMs: -dayMs } });

test('a file that no thread names is removed at the end of its time, with its record', async (t) => {
  const opened = await open(t);
  await upload(opened, 'file-1');
  opened.pass(dayMs - 60_000);
  await using _sweep = openFileSweep({ ...opened, log, everyMs: 5 });
  await upload(opened, 'file-2');
  t.is((await opened.stored()).length, 2);
  opened.pass(120_000);
  await until(async () => (await opened.stored()).length === 1);
  await t.throwsAsync(opened.threads.getFile({ owner: 'u:ada', fileId: 'file-1' }, call()), { name: 'NotFound' });
  t.is((await opened.threads.getFile({ owner: 'u:ada', fileId: 'file-2' }, call())).size, 1000);
});

test('a deleted file whose bytes stayed, and an upload that never ended, are removed', async (t) => {
  const opened = await open(t);
  const { threads, files } = opened;
  await upload(opened, 'file-1');
  await threads.deleteFile({ owner: 'u:ada', fileId: 'file-1' }, call());
  const begun = { owner: 'u:ada', fileId: 'file-2', filename: 'a', maxFiles: 10, maxBytes: 1e9 };
  await threads.beginFile(begun, call());
  await using _sweep = openFileSweep({ threads, files: overdue(files), log, everyMs: 5 });
  await until(async () => (await opened.stored()).length === 0);
  // There is room again once the records are gone as well.
  const isRoom = (): Promise<boolean> =>
    threads.beginFile({ ...begun, fileId: 'file-3', maxFiles: 1 }, call()).then(
      () => true,
      () => false,
    );
  await until(isRoom);
  t.deepEqual(await opened.stored(), []);
});

test('a file that cannot be removed holds up no other, and is removed when it can be', async (t) => {
  const opened = await open(t);
  const { threads, files } = opened;
  for (const fileId of ['file-1', 'file-2', 'file-3']) {
    await upload(opened, fileId);
    await threads.deleteFile({ owner: 'u:ada', fileId }, call());
  }
  let isStuck = true;
  let tries = 0;
  const bytes: FileStore['bytes'] = {
    ...files.bytes,
    remove: async (key, signal) => {
      if (key.fileId === 'file-1') tries += 1;
      if (key.fileId === 'file-1' && isStuck) throw new Error('the disk does not want to');
      await files.bytes.remove(key, signal);
    },
  };
  await using _sweep = openFileSweep({ threads, files: { ...files, bytes }, log, everyMs: 5 });
  await until(async () => (await opened.stored()).length === 1);
  await until(() => tries > 2);
  t.is((await opened.stored()).length, 1);
  isStuck = false;
  await until(async () => (await opened.stored()).length === 0);
});

test('while the record is unavailable the log has one line of the sweeps that fail', async (t) => {
  const { threads, files } = await open(t);
  let lists = 0;
  const lines: unknown[] = [];
  const away: Threads = {
    ...threads,
    listFilesToRemove: () => {
      lists += 1;
      return Promise.reject(unavailable('the record is unavailable'));
    },
  };
  const keep = (_fields: unknown, text: string): void => void lines.push(text);
  const kept = Object.assign(Object.create(log) as typeof log, { warn: keep, error: keep });
  await using _sweep = openFileSweep({ threads: away, files, log: kept, everyMs: 5 });
  await until(() => lists > 10);
  t.deepEqual(lines, ['files that are to be removed could not be listed']);
});

test('three replicas that sweep the same files remove all of them and fail at none', async (t) => {
  const opened = await open(t);
  const { threads, files } = opened;
  const warned: unknown[] = [];
  const listening = Object.assign(Object.create(log) as typeof log, {
    warn: (...what: unknown[]) => warned.push(what),
  });
  for (let file = 0; file < 30; file++) {
    await upload(opened, `file-${String(file)}`);
    await threads.deleteFile({ owner: 'u:ada', fileId: `file-${String(file)}` }, call());
  }
  await using opening = new AsyncDisposableStack();
  for (let replica = 0; replica < 3; replica++)
    opening.use(openFileSweep({ threads, files, log: listening, everyMs: 5 }));
  await until(
    async () => (await threads.listFilesToRemove({ limit: 10, uploadingBefore: 0 }, call())).files.length === 0,
  );
  t.deepEqual(await opened.stored(), []);
  t.deepEqual(warned, []);
});

test('a process that is killed during uploads leaves nothing after the sweep', async (t) => {
  await using workspace = await makeWorkspace('echo');
  const service = await startStandalone({ ...workspace.env, HOST: '127.0.0.1' });
  const bytes = join(workspace.folder, 'data', 'files');
  const uploads = Array.from({ length: 4 }, () => {
    const outgoing = request(`${service.url}/v1/files/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x', 'transfer-encoding': 'chunked' },
    });
    outgoing.on('error', () => undefined);
    outgoing.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
    outgoing.write(noise(300_000));
    return outgoing;
  });
  await until(async () => (await filesIn(bytes)).length === 4);
  t.true((await filesIn(bytes)).every((name) => name.endsWith('.part')));
  await service.stop('SIGKILL');
  await Promise.all(uploads.map((outgoing) => (outgoing.destroyed ? Promise.resolve() : once(outgoing, 'close'))));
  t.is((await filesIn(bytes)).length, 4);
  const opened = await open(t, join(workspace.folder, 'data', 'threads.sqlite'), bytes);
  await using _sweep = openFileSweep({ ...opened, files: overdue(opened.files), log, everyMs: 5 });
  await until(async () => (await filesIn(bytes)).length === 0);
  const begun = { owner: 'anon', fileId: 'file-3', filename: 'a', maxFiles: 1, maxBytes: 1 };
  await until(async () =>
    opened.threads.beginFile(begun, call()).then(
      () => true,
      () => false,
    ),
  );
});
