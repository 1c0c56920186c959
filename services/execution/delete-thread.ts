import { isServiceError } from '@agent-workflow/kit/errors';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { ThreadKey } from '@agent-workflow/protos/threads';
import type { RunControl } from './port.ts';
import { publishEnd, type EndParts } from './publish-end.ts';
import type { Worker } from './worker.ts';

export interface DeleteParts extends EndParts {
  readonly memory: Memory;
  readonly control: RunControl;
  readonly worker: Worker | undefined;
}

/**
 * Deletes a thread: marks it (from here it is absent to every reader) and ends its runs, forgets its memories, removes its
 * rows. Whatever step fails, a repeated call goes through all of them again.
 */
export async function deleteThread(parts: DeleteParts, { owner, threadId }: ThreadKey, call: Call): Promise<void> {
  const { threads, memory, worker } = parts;
  const { stoppedRunIds } = await threads.beginDelete({ owner, threadId }, call);
  worker?.forget(owner, threadId);
  for (const runId of stoppedRunIds) await endFollowers(parts, owner, runId, threadId);
  await memory.forget({ owner, selection: { threadId }, all: false }, call);
  await threads.finishDelete({ owner, threadId }, call);
}

/** Whoever waits for a run of the thread hears that it was stopped. */
async function endFollowers(parts: DeleteParts, owner: string, runId: string, threadId: string): Promise<void> {
  parts.control.stop(runId);
  const now = Date.now();
  const ended = { status: 'stopped', iterations: 0, recursionLimitReached: false };
  await publishEnd(parts, {
    runId,
    threadId,
    owner,
    requestId: '',
    status: 'stopped',
    granularity: 'low',
    createdAt: now,
    updatedAt: now,
    end: ended,
    isNewThread: false,
    runnable: false,
  });
}

/** How long one thread's deletion may take in the background, in milliseconds. */
const sweepTimeoutMs = 60_000;
const threadsPerSweep = 100;

/** Finishes deletions that were begun and that nobody repeated. */
export async function finishDeletions(parts: DeleteParts): Promise<void> {
  const { threads } = await parts.threads.listDeleting({ limit: threadsPerSweep }, within(sweepTimeoutMs));
  for (const key of threads) await deleteThread(parts, key, within(sweepTimeoutMs));
}

/**
 * Deletes the threads that nothing has changed since `time` (milliseconds since 1970) and that no run holds. It goes on until
 * there is none left, one cannot be deleted, or the signal fires.
 */
export async function deleteIdle(parts: DeleteParts, time: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { threads } = await parts.threads.listIdle({ before: time, limit: threadsPerSweep }, within(sweepTimeoutMs));
    let deleted = 0;
    for (const key of threads) {
      if (signal.aborted) return;
      if (await deleteIfIdle(parts, key, time)) deleted++;
    }
    if (deleted === 0 || threads.length < threadsPerSweep) return;
  }
}

/** Somebody may have come back to it since it was listed. */
async function deleteIfIdle(parts: DeleteParts, key: ThreadKey, time: number): Promise<boolean> {
  try {
    const { updatedAt, activeRunId } = await parts.threads.getThread(key, within(sweepTimeoutMs));
    if (updatedAt >= time || activeRunId !== undefined) return false;
    await deleteThread(parts, key, within(sweepTimeoutMs));
    return true;
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return false;
    throw error;
  }
}
