import { defaultAgent } from '@agent-workflow/kit/agents';
import { fromUnknown } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Replicas } from '@agent-workflow/protos/call';
import { nodeNames } from '@agent-workflow/graph/build/graph';
import type { ClaimedRun, ClaimIntent, RunCalls } from '@agent-workflow/protos/threads';
import { isAway, whileAway } from '../record/away.ts';
import type { ThreadState } from '../record/thread-state.ts';
import { named, type Agent, type Agents } from '../record/agents.ts';
import type { RunnableRun, RunQueue, TakenRun } from '../ports/queue.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { DriveClaimed } from './drive-claimed.ts';
import type { Requeue } from './requeue.ts';
import type { RunEnds } from './run-ends.ts';
import type { ThreadCache } from './thread-cache.ts';

interface ClaimOptions {
  readonly workerId: string;
  readonly agents: Agents;
  readonly claimRun: RunCalls['claimRun'];
  readonly queue: Pick<RunQueue, 'enqueue'>;
  readonly log: Log;
  readonly active: ActiveRuns;
  readonly cache: ThreadCache;
  readonly ends: RunEnds;
  readonly requeue: Requeue;
  readonly drive: DriveClaimed;
  /** Whether a sweep of this process finds a run that was claimed here by a call without an answer. */
  readonly isSwept: boolean;
  /** Fires when the worker drains. */
  readonly signal: AbortSignal;
}

/** With `notLast` the record refuses to make the last claim that the run has. Resolves with whether it was refused for that. */
type ClaimAndDrive = (taken: TakenRun, notLast: boolean) => Promise<boolean>;

interface ClaimParts {
  readonly notLast: boolean;
  readonly cached: ThreadState | undefined;
  readonly replicas: Replicas;
}

const callTimeoutMs = 30_000;

/** Names the worker, the revision that it holds, and the version of the thread that it has cached. */
export const intentOf = (
  workerId: string,
  { revision }: Pick<Agents, 'revision'>,
  cached: ThreadState | undefined,
): ClaimIntent => ({
  workerId,
  ...(revision === undefined ? {} : { revision }),
  ...(cached === undefined ? {} : { knownVersion: cached.version }),
});

/**
 * Claims, and repeats the call while the record is unavailable: of a claim without an answer nobody else knows that this worker, which is
 * alive, does not have the run. The record makes the claim of one attempt id once.
 */
const untilAnswered =
  ({ claimRun, signal, log }: Pick<ClaimOptions, 'claimRun' | 'signal' | 'log'>): RunCalls['claimRun'] =>
  (request, { replicas }) => {
    const repeatable = { ...request, attemptId: newId() };
    const onAway = (error: unknown): void => {
      log.warn({ err: error, runId: request.runId }, 'the record is unavailable for a claim; it is tried again');
    };
    const claim = async (): Promise<ClaimedRun> =>
      claimRun(repeatable, { ...within(callTimeoutMs), ...(replicas && { replicas }) });
    return whileAway(claim, { signal, onAway });
  };

/** Claims runs from the queue, and drives those that the record gives to this worker. */
export function createClaimAndDrive(options: ClaimOptions): ClaimAndDrive {
  const { workerId, agents, queue, log, active, cache, ends, requeue, drive } = options;
  const claimRun = options.isSwept ? options.claimRun : untilAnswered(options);

  /** Claims the run for an agent. A run of another agent is claimed for that one; the reply names it where it is not held here. */
  const claim = async (
    run: RunnableRun,
    { notLast, cached, replicas }: ClaimParts,
    agent: Agent | undefined = agents.find(run.agent ?? defaultAgent),
  ): Promise<ClaimedRun> => {
    const { owner, threadId, runId, takeoverEpoch } = run;
    const claimed = await claimRun(
      {
        ...{ owner, threadId, runId, notLast },
        ...(agents.areNamed && agent ? { agent: agent.name } : {}),
        ...(agent ? { nodes: nodeNames(agent.graph) } : {}),
        ...(takeoverEpoch === undefined ? {} : { takeoverEpoch }),
        ...intentOf(workerId, agents, cached),
      },
      { ...within(callTimeoutMs), replicas },
    );
    if (claimed.otherRevision !== undefined || claimed.otherAgent === undefined) return claimed;
    const other = agents.find(claimed.otherAgent);
    if (!other || other === agent) return claimed;
    return claim(run, { notLast, cached, replicas }, other);
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

  /** Enqueues the run for the workers that hold its agent at its revision. Nothing was claimed. */
  const giveBack = async ({ run, settle }: TakenRun, { otherAgent, otherRevision }: ClaimedRun): Promise<void> => {
    const { takeoverEpoch, trace, owner, threadId, runId, priority } = run;
    const agent = otherAgent ?? run.agent;
    const given = { owner, threadId, runId, ...named(agent, otherRevision), ...(trace && { trace }) };
    const wanted = priority === undefined ? given : { ...given, priority };
    // The queue has it under these names: it would come back here again and again. The sweep enqueues it later.
    if (run.agent !== agent || run.revision !== otherRevision)
      await queue.enqueue(takeoverEpoch === undefined ? wanted : { ...wanted, takeoverEpoch });
    settle();
  };

  /** The claim has ended the run as failed: publishes that, and enqueues the thread's next run. */
  const publishFailed = async (owner: string, claimed: ClaimedRun): Promise<void> => {
    const { runId, threadId, nextRunId, nextRevision, givenUp } = claimed;
    log.error({ runId, threadId, code: givenUp?.code, why: givenUp?.message }, 'a run was ended by its claim');
    await Promise.all([
      ends.publish(owner, runId),
      ends.enqueueNext({ owner, threadId, ...named(claimed.agent, nextRevision) }, nextRunId),
    ]);
  };

  return async (taken, notLast) => {
    const { owner, threadId, runId } = taken.run;
    const claimSettled = active.expectClaim(runId);
    const cached = cache.get(owner, threadId);
    const replicas: Replicas = new Map();
    let claimed: ClaimedRun;
    try {
      claimed = await claim(taken.run, { notLast, cached, replicas });
    } catch (error) {
      claimSettled();
      handleError(error, taken);
      return false;
    }
    if (claimed.otherAgent !== undefined || claimed.otherRevision !== undefined) {
      await giveBack(taken, claimed).finally(claimSettled);
      return false;
    }
    taken.settle();
    // The record refused the claim, because it would be the run's last one; nothing was claimed.
    if (claimed.lastClaim) {
      claimSettled();
      return true;
    }
    // With `givenUp` the record ended the run instead of giving it to this worker.
    const driven = claimed.givenUp ? publishFailed(owner, claimed) : drive({ owner, claimed, cached, replicas });
    // Only now: `drive` has counted the run as driven, so that it is active without a gap.
    claimSettled();
    await driven;
    return false;
  };
}
