import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { noise } from '../noise.ts';
import { makeBucket, s3 } from '../servers/s3.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { withFaults, withFaultsOf } from './suite.ts';
import { byLoad } from '../by-load.ts';

const MiB = 1024 * 1024;
const large = 1024 * MiB;
/** What a process may grow by while a file of any size passes through it. */
const mayGrow = 64 * MiB;

const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) * 1024;

/** Measures by how much a process grows while the work is under way. */
async function growthDuring(pid: number, work: () => Promise<void>): Promise<number> {
  const before = rssOf(pid);
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, rssOf(pid));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return most - before;
}

interface Uploaded {
  readonly file_id: string;
  readonly sha256: string;
}

/** Uploads so many bytes, which are never in memory together. */
async function upload(url: string, size: number): Promise<Uploaded> {
  const outgoing = request(`${url}/v1/files/upload`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.write('--x\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n\r\n');
  const chunk = noise(MiB);
  const hash = createHash('sha256');
  for (let sent = 0; sent < size; sent += chunk.length) {
    hash.update(chunk);
    if (!outgoing.write(chunk)) await once(outgoing, 'drain');
  }
  outgoing.end('\r\n--x--\r\n');
  const [response] = await answered;
  const { data, error } = JSON.parse(await text(response)) as { readonly data?: Uploaded; readonly error?: unknown };
  if (data?.sha256 !== hash.digest('hex')) throw new Error(JSON.stringify(error ?? data));
  return data;
}

async function download(url: string, { file_id, sha256 }: Uploaded): Promise<void> {
  const outgoing = request(`${url}/v1/files/${file_id}`).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  for await (const chunk of response as AsyncIterable<Buffer>) hash.update(chunk);
  if (hash.digest('hex') !== sha256) throw new Error('other bytes came back');
}

const bounds = { HOST: '127.0.0.1', FILES_MAX_MB: '2048', FILES_QUOTA_MB: '8192', FILES_UPLOAD_SECONDS: '600' };

/** How much a fresh process grows by, in bytes. */
async function growthOf(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly up: number; readonly down: number }> {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone({ ...workspace.env, ...bounds, ...env });
  const pid = service.child.pid ?? 0;
  // What is loaded and compiled with the first file is there whatever its size.
  await download(service.url, await upload(service.url, 16 * MiB));
  let file: Uploaded | undefined;
  const up = await growthDuring(pid, async () => {
    file = await upload(service.url, large);
  });
  return { up, down: await growthDuring(pid, () => download(service.url, file as Uploaded)) };
}

/** How much garbage waits to be collected differs by some ten MiB from process to process: one of so many must keep the bound. */
const processes = 3;

async function measure(t: ExecutionContext, env: Readonly<Record<string, string>>): Promise<void> {
  let most = Number.POSITIVE_INFINITY;
  for (let count = 0; count < processes && most > mayGrow; count++) {
    const { up, down } = await growthOf(env);
    most = Math.max(up, down);
    t.log(
      `the process grew by ${(up / MiB).toFixed(0)} MiB at the upload and by ${(down / MiB).toFixed(0)} MiB at the download of 1 GiB`,
    );
  }
  t.true(most <= mayGrow, String(most));
}

withFaults(test, () => {
  test.serial(
    'a file of 1 GiB passes to a folder and back, and the process grows by no more than 64 MiB',
    async (t) => {
      t.timeout(byLoad(300_000));
      await measure(t, {});
    },
  );
});

withFaultsOf(test, s3, (server) => {
  test.serial('a file of 1 GiB passes to S3 and back, and the process grows by no more than 64 MiB', async (t) => {
    t.timeout(byLoad(300_000));
    const { url, accessKeyId, secretAccessKey } = await server();
    const bucket = `large-${randomBytes(8).toString('hex')}`;
    await makeBucket(await server(), bucket);
    await measure(t, {
      ...{ FILES_S3_BUCKET: bucket, FILES_S3_ENDPOINT: url },
      ...{ FILES_S3_ACCESS_KEY_ID: accessKeyId, FILES_S3_SECRET_ACCESS_KEY: secretAccessKey },
    });
  });
});
