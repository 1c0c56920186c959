import { ServiceError, stale, timeout, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Call } from '@agent-workflow/protos/call';
import type { RunClaim, RunFileInfo, RunFiles } from '@agent-workflow/protos/run-files';
import type { FileCalls, FileRecord, Run, RunReadCalls } from '@agent-workflow/protos/threads';
import { idFrom, newId, threadText } from '@agent-workflow/kit/ids';
import type { FileStore } from './open.ts';
import { storeFile } from './store-file.ts';
import { toContent } from './to-content.ts';
import { typeOf } from './media-types.ts';
import { unless } from './unless.ts';

interface RunFilesOptions {
  readonly threads: Pick<FileCalls, 'beginFile' | 'finishFile' | 'getFile' | 'deleteFile' | 'forgetFile'> &
    Pick<RunReadCalls, 'getRun'>;
  readonly files: FileStore;
  readonly log: Log;
  /** How long one call of the threads service may take, in milliseconds. */
  readonly callTimeoutMs: number;
}

/** The files of owners for the workers of their runs. A claim is checked with the record before anything is read or written. */
export function createRunFiles({ threads, files, log, callTimeoutMs }: RunFilesOptions): RunFiles {
  const callUnder = (signal: AbortSignal) => (): Call => within(callTimeoutMs, signal);

  const claimedRun = async ({ owner, runId, epoch }: RunClaim, call: Call): Promise<Run> => {
    const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call));
    if (run?.status !== 'running' || run.epoch !== epoch)
      throw stale(`another worker has run "${runId}", or it has ended`);
    return run;
  };

  const recordOf = async (claim: RunClaim, fileId: string, signal: AbortSignal): Promise<FileRecord> => {
    const call = callUnder(signal);
    const { owner, sender, threadId } = await claimedRun(claim, call());
    // Who has only a share of the thread reaches no other file of its owner: those that it names, and those that its runs have written.
    const isOpen = sender === undefined || fileId.endsWith(markOf({ owner, threadId }));
    return threads.getFile({ owner, fileId, ...(!isOpen && { threadId }) }, call());
  };

  return {
    info: async (claim, fileId, signal) => toInfo(await recordOf(claim, fileId, signal)),

    read: async function* (claim, fileId, signal, from = 0) {
      const record = await recordOf(claim, fileId, signal);
      if (from >= record.size) return;
      const rest = from === 0 ? undefined : { start: from, end: record.size - 1 };
      yield* await toContent(record, { files, log, isEmbeddable: false }).open(rest, signal);
    },

    write: async (claim, { filename, contentType, size, bytes }, signal) => {
      const { maxFileBytes, uploadMs } = files.limits;
      using limit = timeLimit(uploadMs, signal);
      const call = callUnder(limit.signal);
      const { owner, threadId } = await claimedRun(claim, call());
      const key = { owner, fileId: `${newId()}${markOf({ owner, threadId })}` };
      const file = {
        filename,
        contentType,
        mostBytes: size === undefined ? undefined : Math.min(size, maxFileBytes),
        bytes: bounded(bytes, { most: maxFileBytes, signal: limit.signal }),
        signal: limit.signal,
      };
      return toInfo(await storeFile({ key, file, call }, { threads, files, log }));
    },
  };
}

/** What the ids of files end with that runs of a thread have written. */
const markOf = (thread: { readonly owner: string; readonly threadId: string }): string =>
  `-${idFrom(threadText(thread), 'files of a thread')}`;

const toInfo = (record: FileRecord): RunFileInfo => ({
  fileId: record.fileId,
  filename: record.filename,
  contentType: typeOf(record),
  size: record.size,
  sha256: record.sha256 ?? '',
});

/** Fires with `signal`, or when the time is over. */
function timeLimit(ms: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(timeout(`the file did not arrive within ${String(ms / 1000)} s`));
  }, ms);
  return { signal: AbortSignal.any([signal, late.signal]), [Symbol.dispose]: () => clearTimeout(timer) };
}

interface Bounds {
  readonly most: number;
  readonly signal: AbortSignal;
}

/** The bytes up to a number of them. They end with the signal, also while their source, which is code of an agent, gives none. */
async function* bounded(bytes: AsyncIterable<Uint8Array>, { most, signal }: Bounds): AsyncGenerator<Uint8Array> {
  const source = bytes[Symbol.asyncIterator]();
  let isUnfinished = true;
  try {
    for (let size = 0; ;) {
      const next = await unless(signal, source.next());
      if (next.done) {
        isUnfinished = false;
        return;
      }
      size += next.value.byteLength;
      if (size > most) throw new ServiceError('TooLarge', `the file is larger than ${String(most)} bytes`);
      yield next.value;
    }
  } finally {
    // Not awaited: the source of an agent may hang, and would then end only when it goes on, if ever.
    if (isUnfinished) source.return?.().catch(() => undefined);
  }
}
