import { createHash, randomBytes } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type { NewRunFile, RunClaim, RunFileInfo, RunFiles } from '@agent-workflow/protos/run-files';
import type { Threads } from '@agent-workflow/protos/threads';
import { until } from '../until.ts';
import { acceptAndClaim, call, claim as takeOver, commit, completed, owner, refused } from './thread-calls.ts';

/** Files as a worker reaches them, with the record behind them. The largest file has 2 MiB. */
export interface OpenedRunFiles extends AsyncDisposable {
  readonly runFiles: RunFiles;
  readonly threads: Threads;
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
    const parts = [randomBytes(MiB), randomBytes(17), randomBytes(300_000)];
    const sha256 = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    const info = await runFiles.write(claim, { filename: 'ü/b "x".bin', bytes: chunks(...parts) }, signal);
    t.like(info, { filename: 'b "x".bin', contentType: 'application/octet-stream', size: MiB + 300_017, sha256 });
    t.deepEqual(await runFiles.info(claim, info.fileId, signal), info);
    t.true((await readAll(opened, claim, info)).equals(Buffer.concat(parts)));
    t.like(await threads.getFile({ owner, fileId: info.fileId }, call()), { status: 'stored', sha256 });
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
    const parts = Array.from({ length: 48 }, () => randomBytes(64 * 1024));
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

  check('a stream that fails ends its upload with its own error, and nothing is stored', async (t, opened) => {
    const { runFiles, threads, claim } = opened;
    const fault = new Error('the source broke');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield randomBytes(100_000);
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
    const info = await runFiles.write(claim, file(randomBytes(2 * MiB)), signal);
    const stop = new AbortController();
    const reason = new Error('stopped');
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield randomBytes(70_000);
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
