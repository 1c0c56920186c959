import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError } from '@agent-workflow/kit/errors';
import { threadText } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import type { SweepCalls, ThreadKey } from '@agent-workflow/protos/threads';
import { deleteThread, type DeleteParts } from './api/delete-thread.ts';

export interface DeletionSweepParts extends DeleteParts {
  readonly threads: DeleteParts['threads'] & SweepCalls;
}

/** How long the deletion of one thread may take in the background, in milliseconds. */
const sweepTimeoutMs = 60_000;
const threadsPerSweep = 100;
const deletionsAtOnce = 4;
/** Deletions that may fail in one sweep. After so many the sweep ends, and the next one continues. */
const maxFailures = 200;

/** Called with each thread that could not be deleted. */
export type OnDeletionFailure = (error: unknown, key: ThreadKey) => void;

/** Finishes deletions that were begun and did not succeed. One that fails again is skipped until the next sweep. */
export async function finishDeletions(parts: DeletionSweepParts, onFailure: OnDeletionFailure): Promise<void> {
  await deleteEach({
    list: async (limit) => parts.threads.listDeleting({ limit }, within(sweepTimeoutMs)),
    remove: async (key) => {
      await deleteThread(parts, key, within(sweepTimeoutMs));
      return true;
    },
    onFailure,
  });
}

/**
 * Deletes the threads that have not changed since `time` (milliseconds since 1970) and have no active run, until none is left or
 * the signal fires. A thread that cannot be deleted is skipped.
 */
export async function deleteIdle(
  parts: DeletionSweepParts,
  {
    time,
    signal,
    onFailure,
  }: { readonly time: number; readonly signal: AbortSignal; readonly onFailure: OnDeletionFailure },
): Promise<void> {
  await deleteEach({
    list: async (limit) => parts.threads.listIdle({ before: time, limit }, within(sweepTimeoutMs)),
    remove: async (key) => deleteIfIdle(parts, key, time),
    onFailure,
    signal,
  });
}

interface Deletions {
  /** Threads to delete, at most `limit`. A thread that was not deleted is listed again. */
  readonly list: (limit: number) => Promise<{ readonly threads: readonly ThreadKey[] }>;
  /** Resolves with whether the thread is gone. */
  readonly remove: (key: ThreadKey) => Promise<boolean>;
  readonly onFailure: OnDeletionFailure;
  readonly signal?: AbortSignal;
}

/** Reads lists until one has no new thread. Threads that remain are skipped, and the next list is longer by their number. */
async function deleteEach({ list, remove, onFailure, signal }: Deletions): Promise<void> {
  const skipped = new Set<string>();
  let failures = 0;
  while (signal?.aborted !== true && failures < maxFailures) {
    const limit = threadsPerSweep + skipped.size;
    const { threads } = await list(limit);
    const fresh = threads.filter((key) => !skipped.has(threadText(key)));
    await eachOf(fresh, deletionsAtOnce, async (key) => {
      if (signal?.aborted === true) return;
      try {
        if (!(await remove(key))) skipped.add(threadText(key));
      } catch (error) {
        skipped.add(threadText(key));
        failures += 1;
        onFailure(error, key);
      }
    });
    if (fresh.length === 0 || threads.length < limit) return;
  }
}

/** Reads the thread again first, because it may have changed since it was listed. */
async function deleteIfIdle(parts: DeleteParts, key: ThreadKey, time: number): Promise<boolean> {
  try {
    const { updatedAt, activeRunId } = await parts.threads.getThread(key, within(sweepTimeoutMs));
    if (updatedAt >= time || activeRunId !== undefined) return false;
    await deleteThread(parts, key, within(sweepTimeoutMs));
  } catch (error) {
    if (!isServiceError(error, 'NotFound')) throw error;
  }
  return true;
}
