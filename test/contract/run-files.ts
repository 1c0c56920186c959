import { createHash } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type { FileBytes } from '@agent-workflow/gateway/files/port';
import type { NewRunFile, RunClaim, RunFileInfo, RunFiles } from '@agent-workflow/protos/run-files';
import type { Threads } from '@agent-workflow/protos/threads';
import { noise } from '../noise.ts';
import { until } from '../until.ts';
import { acceptAndClaim, call, claim as takeOver, commit, completed, owner, refused } from './thread-calls.ts';

/** Files as a worker reaches them, with the record behind them. The largest file has 2 MiB, those of an owner 4 MiB. */
export interface OpenedRunFiles extends AsyncDisposable {
  readonly runFiles: RunFiles;
  readonly threads: Threads;
  readonly files: { readonly bytes: FileBytes };
}

const MiB = 1024 * 1024;
const { signal } = new AbortController();

async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part as Uint8Array);
}

const file = (...parts: readonly (string | Uint8Array)[]): NewRunFile => ({
  filename: 'notes.txt',
  contentType: 'text/plain',
  bytes: chunks(...parts),
});

/** What workers are promised of the files of their runs, whatever stands between them and the bytes. */
export function runFilesContract(test: TestFn, name: string, open: () => Promise<OpenedRunFiles>): void {
  const check = (
    title: string,
    body: (t: ExecutionContext, opened: OpenedRunFiles & { readonly claim: RunClaim }) => Promise<void>,
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      await using opened = await open();
      const { epoch } = await acceptAndClaim(opened.threads, 'r1');
      await body(t, { ...opened, claim: { owner, runId: 'r1', epoch } });
    });
  };
  const readAll = async ({ runFiles }: OpenedRunFiles, by: RunClaim, { fileId }: RunFileInfo): Promise<Buffer> =>
    Buffer.concat(await Array.fromAsync(runFiles.read(by, fileId, signal)));

  check('what a run writes is a file of its owner, byte for byte', async (t, opened) => {
    const { runFiles, threads, claim } = opened;
    const parts = [noise(MiB), noise(17), noise(300_000)];
    const sha256 = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    const info = await runFiles.write(claim, { filename: 'ü/b "x".bin', bytes: chunks(...parts) }, signal);
    t.like(info, { filename: 'b "x".bin', contentType: 'application/octet-stream', size: MiB + 300_017, sha256 });
    t.deepEqual(await runFiles.info(claim, info.fileId, signal), info);
    t.true((await readAll(opened, claim, info)).equals(Buffer.concat(parts)));
    t.like(await threads.getFile({ owner, fileId: info.fileId }, call()), { status: 'stored', sha256 });
  });

  check('a file is read from a byte on, and nothing after its end', async (t, { runFiles, claim }) => {
    const bytes = noise(MiB + 5);
    const { fileId } = await runFiles.write(claim, { filename: 'a', bytes: chunks(bytes) }, signal);
    for (const from of [1, MiB, MiB + 4, MiB + 5]) {
      const read = Buffer.concat(await Array.fromAsync(runFiles.read(claim, fileId, signal, from)));
      t.true(read.equals(bytes.subarray(from)), String(from));
    }
  });

  check('a file whose store has lost bytes is StorageFailed where they end', async (t, opened) => {
    const { runFiles, claim, files } = opened;
    const { fileId } = await runFiles.write(claim, file('abcd'), signal);
    await files.bytes.write({ owner, fileId }, chunks('ab'), signal);
    const read: Uint8Array[] = [];
    const reading = async (from: number): Promise<void> => {
      for await (const chunk of runFiles.read(claim, fileId, signal, from)) read.push(chunk);
    };
    for (const from of [0, 2, 3]) await refused(t, reading(from), 'StorageFailed');
    t.is(Buffer.concat(read).toString(), 'ab');
  });

  check('a run reads no file of another owner, and none that is not there', async (t, { runFiles, threads, claim }) => {
    const info = await runFiles.write(claim, file('secret'), signal);
    const other = { owner: 'u:bob', threadId: 't1' };
    await threads.acceptRun(
      {
        ...{ ...other, runId: 'r2', requestId: 'q', messages: [], answers: [], hasNewInput: true },
        ...{ optionsJson: Buffer.from('{}'), multitaskStrategy: 'enqueue', granularity: 'low' },
      },
      call(),
    );
    const { epoch } = await threads.claimRun({ ...other, runId: 'r2', workerId: 'w1' }, call());
    const foreign = { owner: 'u:bob', runId: 'r2', epoch };
    const sentence = `file "${info.fileId}" does not exist`;
    t.is(await refused(t, runFiles.info(foreign, info.fileId, signal), 'NotFound'), sentence);
    t.is(await refused(t, Array.fromAsync(runFiles.read(foreign, info.fileId, signal)), 'NotFound'), sentence);
    t.is(await refused(t, runFiles.info(claim, 'nothing', signal), 'NotFound'), 'file "nothing" does not exist');
    // The id of a run of another owner is no claim.
    await refused(t, runFiles.info({ ...foreign, owner }, info.fileId, signal), 'Stale');
  });

  check('a claim that was taken over, and one of a run that has ended, reads and writes nothing', async (t, opened) => {
    const { runFiles, threads, claim } = opened;
    const info = await runFiles.write(claim, file('text'), signal);
    const { epoch } = await takeOver(threads, 'r1', { workerId: 'w2', takeoverEpoch: claim.epoch });
    const next = { ...claim, epoch };
    const all = (by: RunClaim): Promise<unknown>[] => [
      runFiles.info(by, info.fileId, signal),
      Array.fromAsync(runFiles.read(by, info.fileId, signal)),
      runFiles.write(by, file('more'), signal),
    ];
    for (const asked of all(claim)) await refused(t, asked, 'Stale');
    t.is((await readAll(opened, next, info)).toString(), 'text');
    await commit(threads, 'r1', epoch, { end: completed });
    for (const asked of all(next)) await refused(t, asked, 'Stale');
  });

  check('a file that is too large, or that belies its type, is refused and leaves nothing', async (t, opened) => {
    const { runFiles, threads, claim } = opened;
    const parts = Array.from({ length: 48 }, () => noise(64 * 1024));
    t.is(
      await refused(t, runFiles.write(claim, file(...parts), signal), 'TooLarge'),
      `the file is larger than ${String(2 * MiB)} bytes`,
    );
    const png = { filename: 'a.png', contentType: 'image/png', bytes: chunks('no image') };
    t.regex(await refused(t, runFiles.write(claim, png, signal), 'Invalid'), /image\/png/);
    await refused(t, runFiles.write(claim, file(), signal), 'Invalid');
    await until(async () => {
      const { files } = await threads.listFilesToRemove({ limit: 5, uploadingBefore: Date.now() + 60_000 }, call());
      return files.length === 0;
    });
    t.is((await runFiles.write(claim, file('fits'), signal)).size, 4);
  });

  check('uploads under way take no more than their owner may have together', async (t, opened) => {
    const { runFiles, claim } = opened;
    const mayEnd = Promise.withResolvers<undefined>();
    async function* holding(): AsyncGenerator<Uint8Array> {
      for (let chunk = 0; chunk < 30; chunk++) yield noise(64 * 1024);
      await mayEnd.promise;
    }
    let probes = 0;
    const isFull = (): Promise<boolean> => {
      const probe = { owner, fileId: `probe-${String((probes += 1))}`, filename: 'a', maxFiles: 1e6 };
      return opened.threads.beginFile({ ...probe, maxBytes: 4 * MiB, leastBytes: 64 * 1024 }, call()).then(
        () => false,
        () => true,
      );
    };
    const writing = ['a', 'b'].map((filename) => runFiles.write(claim, { filename, bytes: holding() }, signal));
    await until(isFull);
    const more = (): Promise<RunFileInfo> => runFiles.write(claim, { filename: 'c', bytes: holding() }, signal);
    t.regex(await refused(t, more(), 'TooLarge'), /together they may take 4194304 bytes: delete some files first$/);
    const known = { filename: 'd', size: MiB, bytes: chunks(noise(MiB)) };
    await refused(t, runFiles.write(claim, known, signal), 'TooLarge');
    mayEnd.resolve(undefined);
    for (const info of await Promise.all(writing)) t.is(info.size, 30 * 64 * 1024);
    t.is((await runFiles.write(claim, file('fits'), signal)).size, 4);
  });

  check('many small files at once reserve no more than they have', async (t, { runFiles, claim }) => {
    const mayEnd = Promise.withResolvers<undefined>();
    let held = 0;
    async function* small(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('small');
      if ((held += 1) === 12) mayEnd.resolve(undefined);
      await mayEnd.promise;
    }
    const writing = Array.from({ length: 12 }, () => runFiles.write(claim, { filename: 'a', bytes: small() }, signal));
    t.is((await Promise.all(writing)).length, 12);
  });

  check('a stream that fails ends its upload with its own error, and nothing is stored', async (t, opened) => {
    const { runFiles, threads, claim } = opened;
    const fault = new Error('the source broke');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield noise(100_000);
      throw fault;
    }
    t.is(await t.throwsAsync(runFiles.write(claim, { filename: 'a', bytes: failing() }, signal)), fault);
    await until(async () => {
      const { files } = await threads.listFilesToRemove({ limit: 5, uploadingBefore: Date.now() + 60_000 }, call());
      return files.length === 0;
    });
    t.pass();
  });

  check('a run that is stopped ends its uploads and downloads', async (t, { runFiles, claim }) => {
    const info = await runFiles.write(claim, file(noise(2 * MiB)), signal);
    const stop = new AbortController();
    const reason = new Error('stopped');
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield noise(70_000);
      stop.abort(reason);
      await new Promise<never>(() => undefined);
    }
    t.is(await t.throwsAsync(runFiles.write(claim, { filename: 'a', bytes: endless() }, stop.signal)), reason);
    await t.throwsAsync(Array.fromAsync(runFiles.read(claim, info.fileId, stop.signal)));
    for await (const chunk of runFiles.read(claim, info.fileId, signal)) {
      t.true(chunk.byteLength > 0);
      break;
    }
  });
}
