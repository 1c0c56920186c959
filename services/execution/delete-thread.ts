import { within, type Call } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import type { ThreadKey } from '@agent-workflow/protos/threads';
import { publishEnd, type EndParts } from './publish-end.ts';
import type { Worker } from './worker.ts';

export interface DeleteParts extends EndParts {
  readonly memory: Memory;
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
  parts.worker?.stop(runId);
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
