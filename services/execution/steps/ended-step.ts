import type { Delta } from '@agent-workflow/graph/state/merge';
import type { Usage } from '@agent-workflow/protos/usage';
import type { Outcome } from '../events/outcome.ts';
import type { StepNodes } from '../record/committed-step.ts';
import { toProgressJson } from '../record/progress.ts';
import { openCallsOf, prepareCommit, type PreparedCommit } from './prepare-commit.ts';
import type { DriveOptions } from './drive-options.ts';
import { addedBy, nextAfterEnd, outcomeOf, toRunEnd } from './outcome-of-step.ts';
import type { RanStep } from './run-nodes.ts';
import { awakeNodes, countVisits, emptyDelta, joinDeltas, type RunState, type StepState } from './run-state.ts';

/** A step whose nodes have ended, with its commit, which is not sent yet. */
export interface EndedStep {
  readonly runState: RunState;
  readonly result: RanStep;
  readonly ran: StepNodes;
  readonly visits: RunState['visits'];
  /** How the run ends with this step, if it does. */
  readonly outcome: Outcome | undefined;
  readonly delta: Delta;
  readonly at: number;
  /** Until when the run sleeps after this step, if it does. */
  readonly wakeAt: number | undefined;
  readonly commit: PreparedCommit;
  readonly following: StepState;
}

/**
 * What follows from the end of a step's nodes. `usedBefore` is the sum of tokens of the step before, when that is not on record yet.
 * @throws RunFailure when the step exceeds a size limit.
 */
export function endStep(options: DriveOptions, runState: RunState, result: RanStep, usedBefore?: Usage): EndedStep {
  const ran = { step: runState.step, nodes: awakeNodes(runState) };
  const visits = countVisits(runState);
  const { recursionLimit } = options.runOptions;
  const outcome = outcomeOf(runState, result, { visits, recursionLimit, usage: options.usage.total() });
  const delta = joinDeltas(runState.pending, result.delta);
  const at = options.now();
  const wakeAt = outcome ? undefined : result.wakeAt;
  const next = outcome ? nextAfterEnd(outcome, result) : result.next;
  const { owner, claimed, threads, replicas, usage, onUsage, onAway } = options;
  const commit = prepareCommit({
    owner,
    claimed,
    threads,
    replicas,
    usage,
    usedBefore,
    onUsage,
    signal: options.runContext.signal,
    onAway,
    ran,
    delta,
    next,
    openCalls: openCallsOf(result.state, result.openCalls),
    openInterrupts: result.interrupts.map(({ id }) => id),
    sizeBefore: runState.size,
    context: result.state.context,
    startedAt: runState.at,
    retries: result.retries,
    at,
    wakeAt,
    ...(outcome ? { end: toRunEnd(outcome) } : {}),
    ...(next.length === 0 ? {} : { progressJson: toProgressJson(visits, result.continuation) }),
  });
  const following = {
    ...{ state: result.state, nodes: result.next, step: runState.step + 1, continuation: result.continuation },
    ...{ at: options.now(), answers: undefined },
  };
  return { runState, result, ran, visits, outcome, delta, at, wakeAt, commit, following };
}

/** The state of the run after a step that it goes on from. */
export const stateBehind = ({ runState, result, visits, commit, following }: EndedStep): RunState => ({
  ...following,
  size: commit.size,
  pending: emptyDelta,
  added: addedBy(runState, result),
  visits,
});
