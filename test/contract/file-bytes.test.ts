import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { openFolderFiles } from '@agent-workflow/gateway/files/folder';
import { openS3Files } from '@agent-workflow/gateway/files/s3';
import { never } from '@agent-workflow/protos/call';
import test, { type ExecutionContext } from 'ava';
import { openSmallDisk } from '../faults/small-disk.ts';
import { withServer } from '../servers/real-suite.ts';
import { makeBucket, privateS3, s3, toS3Client, type S3 } from '../servers/s3.ts';
import { fileBytesContract } from './file-bytes.ts';

async function makeFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-file-bytes-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

fileBytesContract(test, 'in a folder', async (t) => {
  const folder = await makeFolder(t);
  return { bytes: openFolderFiles(folder), count: async () => (await filesIn(folder)).length };
});

test('in a folder: no text of a caller is part of a path', async (t) => {
  const folder = await makeFolder(t);
  await using bytes = openFolderFiles(folder);
  async function* content(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('x'));
  }
  await bytes.write({ owner: '../../ada', fileId: '/etc/passwd' }, content(), never);
  t.regex((await readdir(folder, { recursive: true })).toSorted().join(' '), /^(\w\w) \1\/(\w\w) \1\/\2\/\1\2\w{60}$/);
});

test('in a folder: one that cannot be written is not available, and the error names no path', async (t) => {
  await using bytes = openFolderFiles('/dev/null/files');
  const key = { owner: 'a', fileId: 'b' };
  async function* content(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('x'));
  }
  const error = await t.throwsAsync(bytes.write(key, content(), never), { name: 'Unavailable' });
  t.is(error.message, 'the store of files is not available');
  await t.throwsAsync(bytes.check(never), { name: 'Unavailable', message: error.message });
});

const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux('in a folder: a file system that takes no folders is refused at once', async (t) => {
  await using bytes = openFolderFiles('/proc/absent');
  async function* content(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('x'));
  }
  await t.throwsAsync(bytes.write({ owner: 'a', fileId: 'b' }, content(), never), { name: 'Unavailable' });
});

test('in a folder: one that is full, or cannot be made with the first file, is found before a file is written', async (t) => {
  const disk = await openSmallDisk(1);
  if (typeof disk === 'string') {
    t.log(disk);
    t.pass();
    return;
  }
  t.teardown(() => disk[Symbol.asyncDispose]());
  await using there = openFolderFiles(disk.folder);
  await using missing = openFolderFiles(join(disk.folder, 'files', 'of', 'callers'));
  const findings = async (): Promise<unknown[]> =>
    Promise.all([there, missing].map((bytes) => bytes.check(never).catch(String)));
  t.deepEqual(await findings(), [undefined, undefined]);
  disk.fill();
  const full = 'Unavailable: the store of files is full';
  t.deepEqual(await findings(), [full, full]);
  disk.free();
  t.deepEqual(await findings(), [undefined, undefined]);
  disk.makeReadOnly();
  const away = 'Unavailable: the store of files is not available';
  t.deepEqual(await findings(), [away, away]);
});

withServer(test, s3, (server) => {
  fileBytesContract(test, 'in S3', async (t) => {
    const { options, count } = await openBucket(t, await server());
    return { bytes: openS3Files(options), count };
  });
});

withServer(test, privateS3(), (server) => {
  test.serial('in S3: what a dead process had uploaded is removed with the file', async (t) => {
    const { options, count, uploads } = await openBucket(t, await server());
    const key = { owner: 'u:ada', fileId: 'file-1' };
    const dying = openS3Files(options);
    const isUnderWay = Promise.withResolvers<undefined>();
    async function* stuck(): AsyncGenerator<Uint8Array> {
      for (let chunk = 0; chunk < 12; chunk++) yield randomBytes(1024 * 1024);
      while ((await uploads()) === 0) await new Promise((resolve) => setImmediate(resolve));
      isUnderWay.resolve(undefined);
      await new Promise(() => undefined);
    }
    void dying.write(key, stuck(), never).catch(() => undefined);
    await isUnderWay.promise;
    t.is(await uploads(), 1);
    await using next = openS3Files(options);
    await next.remove(key, never);
    t.is(await count(), 0);
  });

  test.serial('in S3: a reader may pause for longer than the server may be silent', async (t) => {
    const { options } = await openBucket(t, await server());
    await using bytes = openS3Files({ ...options, timeoutMs: 300 });
    const size = 24 * 1024 * 1024;
    async function* content(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 24; at++) yield await Promise.resolve(Buffer.alloc(size / 24, at));
    }
    const key = { owner: 'u:ada', fileId: 'paused' };
    await bytes.write(key, content(), never);
    let read = 0;
    for await (const chunk of (await bytes.read(key, { signal: never })) ?? []) {
      if (read === 0) await new Promise((resolve) => setTimeout(resolve, 1500));
      read += chunk.byteLength;
    }
    t.is(read, size);
  });

  test.serial('in S3: a server that is unavailable makes files unavailable, and no longer', async (t) => {
    const private_ = await server();
    const { options } = await openBucket(t, private_);
    await using bytes = openS3Files({ ...options, timeoutMs: 1000 });
    const key = { owner: 'u:ada', fileId: 'file-1' };
    async function* content(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('x'));
    }
    await bytes.write(key, content(), never);
    await private_.kill();
    const away = { name: 'Unavailable', message: 'the store of files is not available' };
    await t.throwsAsync(bytes.write({ ...key, fileId: 'file-2' }, content(), never), away);
    await t.throwsAsync(bytes.read(key, { signal: never }), away);
    await t.throwsAsync(bytes.remove(key, never), away);
    await t.throwsAsync(bytes.check(never), away);
    await private_.restart();
    t.is(Buffer.concat(await Array.fromAsync((await bytes.read(key, { signal: never })) ?? [])).toString(), 'x');
  });
});

/** An empty bucket of the test's own. */
async function openBucket(t: ExecutionContext, server: S3) {
  const bucket = `files-${randomBytes(8).toString('hex')}`;
  await makeBucket(server, bucket);
  const client = toS3Client(server);
  t.teardown(() => client.destroy());
  const { url: endpoint, accessKeyId, secretAccessKey } = server;
  const uploads = async (): Promise<number> =>
    ((await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? []).length;
  return {
    options: {
      ...{ endpoint, bucket, region: 'us-east-1', prefix: 'some/', timeoutMs: 10_000 },
      credentials: { accessKeyId, secretAccessKey },
    },
    uploads,
    count: async () =>
      ((await client.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount ?? 0) + (await uploads()),
  };
}
