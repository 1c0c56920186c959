import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { logFailures } from '@agent-workflow/runtime/retries';
import { within } from '@agent-workflow/protos/call';
import type { FileCalls, FileKey } from '@agent-workflow/protos/threads';
import type { FileStore } from './open.ts';
import { removeFile } from './remove-file.ts';

interface SweepOptions {
  readonly threads: Pick<FileCalls, 'listFilesToRemove' | 'forgetFile'>;
  readonly files: FileStore;
  readonly log: Log;
  /** Between two sweeps, in milliseconds, up to a fifth more or less. */
  readonly everyMs?: number;
}

/** How many files one page has, and how many pages one sweep reads. The next sweep continues after them. */
const pageSize = 100;
const maxPages = 20;

/** How long the list of one page may take, in milliseconds. */
const listMs = 30_000;

/** An upload is given up this long after its time was over, in milliseconds: clocks differ, and its writer removes it sooner. */
const graceMs = 10 * 60_000;

/**
 * Removes the bytes and records of files that were deleted, whose upload did not end, or which nobody needs at the end of their time.
 * Every replica sweeps: to remove what another has removed changes nothing. A file that cannot be removed is logged and tried again
 * by a later sweep; the files after it are removed all the same. Disposal cuts a sweep off.
 */
export function openFileSweep({ threads, files, log, everyMs = 60_000 }: SweepOptions): AsyncDisposable {
  // Bytes that are elsewhere are for those to remove who reach them.
  if (files.kind === 'none') return { [Symbol.asyncDispose]: () => Promise.resolve() };
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;
  let cursor: string | undefined;

  const remove = async (file: FileKey): Promise<void> => {
    if (isStopping()) return;
    try {
      await removeFile(file, { threads, files }, stopping.signal);
    } catch (error) {
      if (!isStopping())
        log.warn({ err: error, file_id: file.fileId }, 'a file was not removed; a later sweep tries again');
    }
  };

  const sweep = async (): Promise<void> => {
    for (let page = 0; page < maxPages && !isStopping(); page++) {
      const uploadingBefore = Date.now() - files.limits.uploadMs - graceMs;
      const asked = { limit: pageSize, uploadingBefore, ...(cursor !== undefined && { cursor }) };
      // A cursor that is refused must not be sent again.
      cursor = undefined;
      const listed = await threads.listFilesToRemove(asked, within(listMs, stopping.signal));
      for (const file of listed.files) await remove(file);
      cursor = listed.cursor;
      if (cursor === undefined) return;
    }
  };

  // Replicas that start together do not sweep together.
  const jittered = everyMs * (0.8 + 0.4 * Math.random());
  const onUnlisted = logFailures({ log, text: 'files that are to be removed could not be listed' });
  const sweeping = every(jittered, sweep, (error) => {
    if (!isStopping()) onUnlisted(error);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await sweeping[Symbol.asyncDispose]();
    },
  };
}
