import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { within } from '@agent-workflow/protos/call';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import type { RunnableRun, RunQueue, WorkerLeases } from './port.ts';
import type { Worker } from './worker.ts';

export interface SweepParts {
  readonly threads: Threads;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  /** The worker of this replica, if it has one. */
  readonly worker: Pick<Worker, 'id' | 'has'> | undefined;
  /** Whether runs that wait for a worker are put into the queue, too: it mostly has them. */
  readonly withWaiting: boolean;
}

/** Runs read at once: small enough that reading a page holds nobody up. */
const runsAtOnce = 100;
const callTimeoutMs = 30_000;

/**
 * Puts runs that nobody drives into the queue: those whose worker is thought dead, which go on at the step after their last
 * commit, and those that wait for a worker, in case the queue has lost them. What it is wrong about the record refuses: a run
 * is taken over from the one claim that was seen here. Gives how many.
 */
export async function sweepRuns(parts: SweepParts): Promise<number> {
  const lives = rememberLives(parts);
  let put = 0;
  for await (const runs of openRuns(parts.threads)) {
    for (const run of runs) {
      const runnable = await toRunnable(parts, lives, run);
      if (!runnable) continue;
      await parts.queue.enqueue(runnable);
      put++;
    }
    await yieldToOthers();
  }
  return put;
}

async function* openRuns(threads: Threads): AsyncGenerator<readonly Run[]> {
  for (let cursor: string | undefined; ;) {
    const page = await threads.listOpenRuns(
      { limit: runsAtOnce, ...(cursor === undefined ? {} : { cursor }) },
      within(callTimeoutMs),
    );
    yield page.runs;
    ({ cursor } = page);
    if (cursor === undefined) return;
  }
}

/** The run as it may be claimed; `undefined` where it waits for its thread, or its worker lives. */
async function toRunnable(
  { worker, withWaiting }: SweepParts,
  lives: (workerId: string) => Promise<boolean>,
  { owner, threadId, runId, runnable, status, workerId, epoch }: Run,
): Promise<RunnableRun | undefined> {
  if (!runnable || worker?.has(runId) === true) return undefined;
  const run = { owner, threadId, runId };
  if (status !== 'running') return withWaiting ? run : undefined;
  if (epoch === undefined || (workerId !== undefined && (await lives(workerId)))) return undefined;
  return { ...run, takeoverEpoch: epoch };
}

/**
 * Says of each worker whether it lives, asking once a sweep. This replica's own worker says itself what it has: what stands
 * on record for it and it does not have, it has lost, as a claim whose reply never came.
 */
function rememberLives({ leases, worker }: SweepParts): (workerId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return async (workerId) => {
    if (workerId === worker?.id) return false;
    const asked = known.get(workerId) ?? leases.isHeld(workerId);
    known.set(workerId, asked);
    return asked;
  };
}
