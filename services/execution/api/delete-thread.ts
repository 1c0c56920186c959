import { defaultAgent } from '@agent-workflow/kit/agents';
import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError } from '@agent-workflow/kit/errors';
import { within, type Call } from '@agent-workflow/protos/call';
import type { DeleteThreadRequest } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { DeletionCalls, StoppedRun, SweepCalls, ThreadKey, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { RunControl } from '../ports/control.ts';
import { named } from '../record/agents.ts';
import { publishEnd, type EndParts } from '../events/publish-end.ts';
import type { Worker } from '../worker/worker.ts';

export interface DeleteParts extends EndParts {
  readonly threads: EndParts['threads'] & ThreadReadCalls & DeletionCalls & SweepCalls;
  readonly memory: Memory;
  readonly control: RunControl;
  readonly worker: Worker | undefined;
}

/**
 * Deletes a thread: marks it, which hides it from every reader and ends its runs, then forgets its memories, then removes its
 * rows. After a failure of any step a repeated call does all steps again.
 */
export async function deleteThread(parts: DeleteParts, request: DeleteThreadRequest, call: Call): Promise<void> {
  const { threads, memory, worker } = parts;
  const { owner, threadId } = request;
  const { stoppedRunIds, stoppedRuns, agent } = await threads.beginDelete(request, call);
  const mayBeRepeated = request.attemptId !== undefined || request.onceKey !== undefined;
  if (mayBeRepeated && (await isThere(threads, { owner, threadId }, call))) return;
  worker?.forget(owner, threadId);
  const known = new Map(stoppedRuns.map((run) => [run.runId, run]));
  for (const runId of stoppedRunIds)
    await publishStop(parts, { owner, threadId, ...named(agent) }, known.get(runId) ?? unknownRun(runId));
  await memory.forget({ owner, selection: { threadId }, all: false }, call);
  await threads.finishDelete({ owner, threadId }, call);
}

/** Whether a thread exists under this id again: then an earlier call of the same request has deleted the one that was meant. */
async function isThere(threads: ThreadReadCalls, key: ThreadKey, call: Call): Promise<boolean> {
  try {
    await threads.getThread(key, call);
    return true;
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return false;
    throw error;
  }
}

const unknownRun = (runId: string): StoppedRun => ({ runId, requestId: '', isNewThread: false });

/** Stops a run of the deleted thread, also at the workers that receive only the stops of their agents, and publishes that to its followers. */
async function publishStop(
  parts: DeleteParts,
  key: ThreadKey & { readonly agent?: string },
  run: StoppedRun,
): Promise<void> {
  parts.control.stop(run.runId);
  parts.control.stop(run.runId, key.agent ?? defaultAgent);
  const now = Date.now();
  const ended = { status: 'stopped', iterations: run.iterations ?? 0, recursionLimitReached: false } as const;
  await publishEnd(parts, {
    ...key,
    ...run,
    status: 'stopped',
    granularity: 'low',
    createdAt: now,
    updatedAt: now,
    end: ended,
    runnable: false,
  });
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
export async function finishDeletions(parts: DeleteParts, onFailure: OnDeletionFailure): Promise<void> {
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
  parts: DeleteParts,
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
    const fresh = threads.filter((key) => !skipped.has(nameOf(key)));
    await eachOf(fresh, deletionsAtOnce, async (key) => {
      if (signal?.aborted === true) return;
      try {
        if (!(await remove(key))) skipped.add(nameOf(key));
      } catch (error) {
        skipped.add(nameOf(key));
        failures += 1;
        onFailure(error, key);
      }
    });
    if (fresh.length === 0 || threads.length < limit) return;
  }
}

const nameOf = ({ owner, threadId }: ThreadKey): string => JSON.stringify([owner, threadId]);

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
