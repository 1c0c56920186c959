import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { within } from '@agent-workflow/protos/call';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import type { RunnableRun, RunQueue, WorkerLeases } from '../ports/port.ts';
import type { Worker } from './worker.ts';

export interface SweepParts {
  readonly threads: Threads;
  readonly queue: RunQueue;
  readonly leases: WorkerLeases;
  /** How often a run that waits in the queue is put there once more, in case it was lost, in milliseconds. */
  readonly waitingMs: number;
}

/** The worker of this replica, if it has one. */
type OwnWorker = Pick<Worker, 'id' | 'has'> | undefined;

/** Runs read at once: small enough that reading a page holds nobody up. */
const runsAtOnce = 100;
const callTimeoutMs = 30_000;

/**
 * Puts runs that nobody drives into the queue: those whose worker is thought dead, which go on at the step after their last
 * commit, and those that wait for a worker, in case they never came there or were lost. What it is wrong about the record
 * refuses: a run is taken over from the one claim that was seen here. Each sweep gives how many it put.
 */
export function createSweep(parts: SweepParts): (worker: OwnWorker) => Promise<number> {
  let waitingBefore: ReadonlyMap<string, number> = new Map();
  let isFirst = true;

  return async (worker) => {
    const lives = rememberLives(parts, worker);
    const waiting = new Map<string, number>();
    const now = performance.now();

    /**
     * The queue mostly has who waits. Who was not seen before may just be on his way there; who was seen by one sweep is put by the
     * next, for a worker may have died between the commit that named him and the queue.
     */
    const isDue = (runId: string): boolean => {
      const putAt = waitingBefore.get(runId);
      const due = isFirst || (putAt !== undefined && now - putAt >= parts.waitingMs);
      waiting.set(runId, due ? now : (putAt ?? -Infinity));
      return due;
    };

    let put = 0;
    for await (const runs of openRuns(parts.threads)) {
      for (const run of runs) {
        const runnable = await toRunnable(run, { worker, lives, isDue });
        if (!runnable) continue;
        await parts.queue.enqueue(runnable);
        put++;
      }
      await yieldToOthers();
    }
    waitingBefore = waiting;
    isFirst = false;
    return put;
  };
}

/** Every run that has not ended, page by page. */
export async function* openRuns(threads: Pick<Threads, 'listOpenRuns'>): AsyncGenerator<readonly Run[]> {
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

interface Looks {
  readonly worker: OwnWorker;
  readonly lives: (workerId: string) => Promise<boolean>;
  readonly isDue: (runId: string) => boolean;
}

/** The run as it may be claimed; `undefined` where it waits for its thread, is not due, or its worker lives. */
async function toRunnable(
  { owner, threadId, runId, runnable, status, workerId, epoch }: Run,
  { worker, lives, isDue }: Looks,
): Promise<RunnableRun | undefined> {
  if (!runnable || worker?.has(runId) === true) return undefined;
  const run = { owner, threadId, runId };
  if (status !== 'running') return isDue(runId) ? run : undefined;
  if (epoch === undefined || (workerId !== undefined && (await lives(workerId)))) return undefined;
  return { ...run, takeoverEpoch: epoch };
}

/**
 * Says of each worker whether it lives, asking once a sweep. This replica's own worker says itself what it has: what stands
 * on record for it and it does not have, it has lost, as a claim whose reply never came.
 */
function rememberLives({ leases }: SweepParts, worker: OwnWorker): (workerId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return async (workerId) => {
    if (workerId === worker?.id) return false;
    const asked = known.get(workerId) ?? leases.isHeld(workerId);
    known.set(workerId, asked);
    return asked;
  };
}
