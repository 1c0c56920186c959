import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { RunCalls, RunReadCalls, ThreadKey } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { named } from '../record/agents.ts';
import { whileAway } from '../record/away.ts';
import type { RunQueue } from '../ports/queue.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { RunEnds } from './run-ends.ts';

interface RequeueOptions {
  readonly workerId: string;
  readonly threads: RunCalls & RunReadCalls;
  readonly queue: RunQueue;
  readonly log: Log;
  readonly active: Pick<ActiveRuns, 'expectClaim' | 'drives'>;
  readonly ends: Pick<RunEnds, 'publish'>;
  /** Whether a sweep of this process finds a run that could not be requeued. Without one it is tried again. */
  readonly isSwept: boolean;
  /** Fires when the worker drains. The next worker finds the run on record then. */
  readonly signal: AbortSignal;
}

interface RunToRequeue extends ThreadKey {
  readonly runId: string;
  /** Whether this worker's claim counts towards failing the run; no when absent. */
  readonly claimCounts?: boolean;
}

/** Returns at once; the run is requeued later. */
export type Requeue = (run: RunToRequeue) => void;

/** Milliseconds until a run is requeued, the first time and at most: the pause doubles each time that the same run is. */
const firstPauseMs = 500;
const longestPauseMs = 60_000;
/** Runs whose pauses are remembered. */
const remembered = 10_000;
const callTimeoutMs = 30_000;

/**
 * Requeues runs that could not be claimed or driven because the record was unavailable. A claim of this worker that took effect
 * is released, so that it does not count towards failing the run. One that counts is left on record and taken over, which the record
 * bounds. A requeued run waits for the record without a slot, and the growing pause keeps a run cheap that fails each time.
 */
export function createRequeue(options: RequeueOptions): Requeue {
  const { workerId, threads, queue, log, active, ends, isSwept, signal } = options;
  const counts = new LRUCache<string, number>({ max: remembered });

  const pauseOf = (runId: string): number => {
    const before = counts.get(runId) ?? 0;
    counts.set(runId, before + 1);
    return Math.min(firstPauseMs * 2 ** before, longestPauseMs) * (0.5 + Math.random() / 2);
  };

  const releaseAndEnqueue = async ({ owner, threadId, runId, claimCounts = false }: RunToRequeue): Promise<void> => {
    const run = { owner, threadId, runId };
    const record = await threads.getRun({ owner, runId }, within(callTimeoutMs));
    const isOwn = record.status === 'running' && record.workerId === workerId && !active.drives(runId);
    const epoch = isOwn ? record.epoch : undefined;
    if (epoch !== undefined && !claimCounts)
      await threads.releaseRun({ ...run, epoch, attemptId: newId() }, within(callTimeoutMs));
    if (record.end) await ends.publish(owner, runId);
    else if (record.runnable)
      await queue.enqueue({
        ...{ ...run, ...named(record.agent, record.revision) },
        ...(record.priority === undefined ? {} : { priority: record.priority }),
        ...(epoch !== undefined && claimCounts ? { takeoverEpoch: epoch } : {}),
      });
  };

  const requeue: Requeue = (run) => {
    // Without this the sweep would take it for a run without a worker.
    const done = active.expectClaim(run.runId);
    void delay(pauseOf(run.runId), undefined, { signal, ref: false })
      .then(() => whileAway(() => releaseAndEnqueue(run), { signal, onAway: () => undefined }))
      .catch((error: unknown) => {
        const isDecided = isServiceError(error, 'Stale') || isServiceError(error, 'NotFound');
        if (isDecided || signal.aborted) return;
        const next = isSwept ? 'the sweep finds it' : 'it is tried again';
        log.error({ err: error, runId: run.runId }, `a run could not be requeued; ${next}`);
        if (!isSwept) requeue(run);
      })
      .finally(done);
  };
  return requeue;
}
