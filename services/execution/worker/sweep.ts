import { setTimeout as delay } from 'node:timers/promises';
import type { Run, SweepCalls } from '@agent-workflow/protos/threads';
import { named } from '../record/agents.ts';
import type { Registry } from '../record/registry.ts';
import type { WorkerLeases } from '../ports/leases.ts';
import type { RunnableRun, RunQueue } from '../ports/queue.ts';
import { openRunsFromBothEnds, openRunsInOrder } from './open-runs.ts';
import type { OpenRunCounts } from './open-run-counts.ts';
import type { OverdueRuns } from './overdue-runs.ts';
import type { SweepPace } from './sweep-pace.ts';
import type { Worker } from './worker.ts';

interface SweepParts {
  readonly threads: SweepCalls;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  /** How often a waiting run is enqueued again, in case the queue lost it, in milliseconds. */
  readonly waitingMs: number;
  /** Fails runs that have waited too long for a worker; absent: they wait without a bound. */
  readonly overdue?: OverdueRuns | undefined;
  readonly counts: Pick<OpenRunCounts, 'begin'>;
  /** Read once, when a sweep begins. */
  readonly registry: Pick<Registry, 'read'>;
  readonly pace: Pick<SweepPace, 'begin'>;
  /** Whether only runs are enqueued that the own worker has lost; all others are left to other processes. */
  readonly onlyOwn: boolean;
  /** Ends a sweep that is under way at its next pause. */
  readonly signal: AbortSignal;
}

/** The worker of this replica, if it has one. */
type OwnWorker = Pick<Worker, 'id' | 'has'> | undefined;

const neverEnqueued = -Infinity;

/**
 * Enqueues runs without a live worker: runs whose worker's lease has expired, which continue at the step after their last commit,
 * and runs that wait for a worker, in case they never reached the queue or were lost from it. The record refuses a wrong
 * takeover, because a run is taken over from the one epoch that was read here. Resolves with the number of enqueued runs; one that is enqueued
 * again, because it still waits or its worker is still dead, does not count.
 */
export function createSweep(parts: SweepParts): (worker: OwnWorker) => Promise<number> {
  let waitingBefore: ReadonlyMap<string, number> = new Map();
  /** The epochs of the runs of dead workers that the sweep before has enqueued. */
  let lostBefore: ReadonlyMap<string, number> = new Map();
  let isFirst = true;

  return async (worker) => {
    const isAlive = rememberAlive(parts, worker);
    const waiting = new Map<string, number>();
    const lost = new Map<string, number>();
    const now = performance.now();
    const counting = parts.counts.begin({ at: Date.now(), registered: await parts.registry.read() });
    const { isAfterDeath, isOutdated, partRuns, pauseMs, end } = parts.pace.begin();

    /**
     * The queue mostly has the waiting runs. A run that no sweep has seen before may be on its way to the queue. The next sweep
     * enqueues it, or this one where a process has died: it may have been between the write that named the run and the queue.
     * Runs that are found newest first, and that were enqueued before, mostly leave it to the next sweep: they would be before older ones
     * in a queue that has lost all of them.
     */
    const isDue = (runId: string, newestFirst: boolean): boolean => {
      const enqueuedAt = waitingBefore.get(runId);
      const restMs = newestFirst ? 2 * parts.waitingMs : parts.waitingMs;
      const due = enqueuedAt === undefined ? isFirst || isAfterDeath : now - enqueuedAt >= restMs;
      waiting.set(runId, due ? now : (enqueuedAt ?? neverEnqueued));
      return due;
    };
    const isNew = ({ runId, takeoverEpoch }: RunnableRun): boolean =>
      takeoverEpoch === undefined
        ? (waitingBefore.get(runId) ?? neverEnqueued) === neverEnqueued
        : lostBefore.get(runId) !== takeoverEpoch;

    let enqueued = 0;
    let found = 0;
    const read = isAfterDeath ? openRunsFromBothEnds : openRunsInOrder;
    for await (const { runs, newestFirst } of read(parts.threads, partRuns)) {
      for (const run of runs) {
        found++;
        parts.overdue?.add(run);
        counting.add(run);
        if (parts.onlyOwn && (worker === undefined || run.workerId !== worker.id)) continue;
        const runnable = await toRunnable(run, { worker, isAlive, isDue: (runId) => isDue(runId, newestFirst) });
        if (!runnable) continue;
        await parts.queue.enqueue(runnable);
        if (isNew(runnable)) enqueued++;
        if (runnable.takeoverEpoch !== undefined) lost.set(runnable.runId, runnable.takeoverEpoch);
      }
      await delay(runs.length < partRuns ? 0 : pauseMs, undefined, { signal: parts.signal });
      if (isOutdated()) return enqueued;
    }
    waitingBefore = waiting;
    lostBefore = lost;
    isFirst = false;
    counting.end();
    end(found);
    await parts.overdue?.fail();
    return enqueued;
  };
}

interface SweepState {
  readonly worker: OwnWorker;
  readonly isAlive: (workerId: string) => Promise<boolean>;
  readonly isDue: (runId: string) => boolean;
}

/** The run as it may be claimed; `undefined` where it waits for its thread, is not due, or its worker is alive. */
async function toRunnable(
  { owner, threadId, runId, agent, revision, priority, runnable, status, workerId, epoch }: Run,
  { worker, isAlive, isDue }: SweepState,
): Promise<RunnableRun | undefined> {
  if (!runnable || worker?.has(runId) === true) return undefined;
  const run = { owner, threadId, runId, ...named(agent, revision), ...(priority === undefined ? {} : { priority }) };
  if (status !== 'running') return isDue(runId) ? run : undefined;
  if (epoch === undefined || (workerId !== undefined && (await isAlive(workerId)))) return undefined;
  return { ...run, takeoverEpoch: epoch };
}

/**
 * Whether a worker is alive, asked once for each worker and sweep. The own worker of this replica counts as dead for a run that it
 * does not have: it has lost such a run, for example by a claim whose reply never arrived.
 */
function rememberAlive({ leases }: SweepParts, worker: OwnWorker): (workerId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return async (workerId) => {
    if (workerId === worker?.id) return false;
    const asked = known.get(workerId) ?? leases.isAlive(workerId);
    known.set(workerId, asked);
    return asked;
  };
}
