import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import type { HeldRuns } from './held-runs.ts';
import type { RunnableRun, RunQueue } from '../ports/port.ts';
import { whileAway } from '../record/away.ts';

export interface GiveBackParts {
  readonly workerId: string;
  readonly threads: Threads;
  readonly queue: RunQueue;
  readonly logger: Log;
  readonly held: Pick<HeldRuns, 'expect' | 'drives'>;
  /** Publishes from the record how a run ended, if it has. */
  readonly tellEnd: (owner: string, runId: string) => Promise<void>;
  /** Fires when the worker drains: whoever starts after it finds the run on record. */
  readonly signal: AbortSignal;
}

/** Milliseconds until a run is given back, the first time and at most: it grows each time that the same run comes to this. */
const firstPauseMs = 500;
const longestPauseMs = 60_000;
/** Runs whose times are remembered. */
const remembered = 10_000;
const callTimeoutMs = 30_000;

/**
 * Gives runs back that could not be claimed or driven because the record was away: a claim of this worker that took effect is
 * released, so that it does not count towards giving the run up, and the run is put into the queue again. It waits for the record,
 * holds no place, and comes to the same run ever more seldom, so that a run that fails each time costs little.
 */
export function createGiveBack(parts: GiveBackParts): (run: Pick<RunnableRun, 'owner' | 'threadId' | 'runId'>) => void {
  const { workerId, threads, queue, logger, held, tellEnd, signal } = parts;
  const times = new LRUCache<string, number>({ max: remembered });

  const pauseOf = (runId: string): number => {
    const before = times.get(runId) ?? 0;
    times.set(runId, before + 1);
    return Math.min(firstPauseMs * 2 ** before, longestPauseMs) * (0.5 + Math.random() / 2);
  };

  const release = async (run: Pick<RunnableRun, 'owner' | 'threadId' | 'runId'>): Promise<void> => {
    const { owner, runId } = run;
    const record = await threads.getRun({ owner, runId }, within(callTimeoutMs));
    const isMine = record.status === 'running' && record.workerId === workerId && !held.drives(runId);
    if (isMine && record.epoch !== undefined)
      await threads.releaseRun({ ...run, epoch: record.epoch, attemptId: newId() }, within(callTimeoutMs));
    if (record.end) await tellEnd(owner, runId);
    else if (record.runnable) await queue.enqueue(run);
  };

  return (run) => {
    // The sweep would take it for a run that nobody has.
    const settled = held.expect(run.runId);
    void delay(pauseOf(run.runId), undefined, { signal, ref: false })
      .then(() => whileAway(() => release(run), { signal, onAway: () => undefined }))
      .catch((error: unknown) => {
        const isDecided = isServiceError(error, 'Stale') || isServiceError(error, 'NotFound');
        if (!isDecided && !signal.aborted)
          logger.error({ err: error, runId: run.runId }, 'a run could not be given back; the sweep finds it');
      })
      .finally(settled);
  };
}
