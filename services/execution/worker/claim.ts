import { fromUnknown } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { nodeNames, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { ClaimIntent, ClaimedRun, RunCalls } from '@agent-workflow/protos/threads';
import { isAway } from '../record/away.ts';
import type { ThreadState } from '../record/thread-state.ts';
import type { RunnableRun, TakenRun } from '../ports/queue.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { DriveClaimed } from './drive-claimed.ts';
import type { Requeue } from './requeue.ts';
import type { RunEnds } from './run-ends.ts';
import type { ThreadCache } from './thread-cache.ts';

interface ClaimOptions {
  readonly workerId: string;
  readonly graph: CompiledGraph;
  readonly threads: RunCalls;
  readonly log: Log;
  readonly active: ActiveRuns;
  readonly cache: ThreadCache;
  readonly ends: RunEnds;
  readonly requeue: Requeue;
  readonly drive: DriveClaimed;
  /** Called with a run whose next claim is its last one, when the claim was made with `notLast`. */
  readonly onLastClaim: (run: RunnableRun) => void;
}

/** With `notLast` the record refuses to make the last claim that the run has. */
type ClaimAndDrive = (taken: TakenRun, notLast: boolean) => Promise<void>;

const callTimeoutMs = 30_000;

/** Names the worker, and the version of the thread that it has cached. */
export const intentOf = (workerId: string, cached: ThreadState | undefined): ClaimIntent => ({
  workerId,
  ...(cached === undefined ? {} : { knownVersion: cached.version }),
});

/** Claims runs from the queue, and drives those that the record gives to this worker. */
export function createClaimAndDrive(options: ClaimOptions): ClaimAndDrive {
  const { workerId, graph, threads, log, active, cache, ends, requeue, drive, onLastClaim } = options;

  const claim = async (
    { owner, threadId, runId, takeoverEpoch }: RunnableRun,
    { notLast, cached }: { readonly notLast: boolean; readonly cached: ThreadState | undefined },
  ): Promise<ClaimedRun> => {
    const takeover = takeoverEpoch === undefined ? {} : { takeoverEpoch };
    const request = { owner, threadId, runId, notLast, nodes: nodeNames(graph), ...takeover };
    return threads.claimRun({ ...request, ...intentOf(workerId, cached) }, within(callTimeoutMs));
  };

  /** A refused claim settles the delivery; of any other failure it is not known whether the claim took effect. */
  const handleError = (error: unknown, { run, settle }: TakenRun): void => {
    const { code } = fromUnknown(error);
    // The delivery was a repeated or an outdated one: the run has another worker, or has ended.
    if (code === 'Stale' || code === 'NotFound') {
      settle();
      return;
    }
    log.error({ err: error, runId: run.runId }, 'a run could not be claimed; it is requeued');
    if (isAway(error)) requeue({ owner: run.owner, threadId: run.threadId, runId: run.runId });
  };

  /** The claim has ended the run as failed: publishes that, and enqueues the thread's next run. */
  const publishFailed = async (owner: string, claimed: ClaimedRun): Promise<void> => {
    const { runId, threadId, nextRunId, givenUp } = claimed;
    log.error({ runId, threadId, code: givenUp?.code, why: givenUp?.message }, 'a run was ended by its claim');
    await Promise.all([ends.publish(owner, runId), ends.enqueueNext({ owner, threadId }, nextRunId)]);
  };

  return async (taken, notLast) => {
    const { owner, threadId, runId } = taken.run;
    const claimSettled = active.expectClaim(runId);
    const cached = cache.get(owner, threadId);
    let claimed: ClaimedRun;
    try {
      claimed = await claim(taken.run, { notLast, cached });
    } catch (error) {
      claimSettled();
      handleError(error, taken);
      return;
    }
    taken.settle();
    // The record refused the claim, because it would be the run's last one; nothing was claimed.
    if (claimed.lastClaim) {
      claimSettled();
      onLastClaim(taken.run);
      return;
    }
    // With `givenUp` the record ended the run instead of giving it to this worker.
    const driven = claimed.givenUp ? publishFailed(owner, claimed) : drive(owner, claimed, cached);
    // Only now: `drive` has counted the run as driven, so that it is active without a gap.
    claimSettled();
    await driven;
  };
}
