import type { CallBlock } from '@agent-workflow/protos/message';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { Usage } from '@agent-workflow/protos/usage';
import type { SpanStatus } from '@agent-workflow/protos/run-trace';
import type { RunEnd } from '@agent-workflow/protos/threads';
import { allOpenCalls } from '@agent-workflow/graph/state/calls';
import { wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import { innerNodes } from '@agent-workflow/graph/run/continuation';
import { firstDeadline } from '@agent-workflow/graph/state/deadline';
import { withMessages } from '@agent-workflow/graph/state/state';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { Outcome } from '../events/outcome.ts';
import type { StepNodes } from '../record/committed-step.ts';
import { keepNewest, toProgressJson, type Added } from '../record/progress.ts';
import { breakpointAt, breakpointsOf } from './breakpoints.ts';
import { prepareCommit, toOpenCalls, type PreparedCommit } from './commit-step.ts';
import {
  awakeNodes,
  countVisits,
  emptyDelta,
  joinDeltas,
  type DriveOptions,
  type RunState,
  type StepState,
} from './driven-run.ts';
import type { RanStep } from './run-nodes.ts';

/** A step whose nodes have ended, with its commit, which is not sent yet. */
export interface EndedStep {
  readonly runState: RunState;
  readonly result: RanStep;
  readonly ran: StepNodes;
  readonly visits: RunState['visits'];
  /** How the run ends with this step, if it does. */
  readonly outcome: Outcome | undefined;
  /** Whether the run fails before its next step. */
  readonly fails: boolean;
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
  const calls = allOpenCalls(result.state.context, result.openCalls);
  const isOver = !result.waiting && isAtLimit(result, visits, options.runOptions.recursionLimit);
  const fails = isOver && options.runOptions.failsAtLimit === true;
  const stop = breakpointAt(options.claimed, breakpointsOf(options), runState, result);
  const outcome = outcomeOf(runState, result, {
    visits,
    recursionLimitReached: isOver && !fails,
    stop,
    calls,
    usage: options.usage.total,
  });
  const delta = joinDeltas(runState.pending, result.delta);
  const at = options.now();
  const wakeAt = outcome ? undefined : result.wakeAt;
  const deadline = outcome && firstDeadline(outcome.interrupts);
  const next = outcome ? nextAfterEnd(outcome, result) : result.next;
  const commit = prepareCommit(options, {
    ran,
    usedBefore,
    delta,
    next,
    openCalls: toOpenCalls(calls),
    openInterrupts: (outcome ?? result).interrupts.map(({ id }) => id),
    sizeBefore: runState.size,
    context: result.state.context,
    startedAt: runState.at,
    retries: result.retries,
    trace: result.trace?.toStored(statusOf(result)),
    at,
    wakeAt: wakeAt ?? deadline,
    ...(outcome ? { end: toRunEnd(outcome) } : {}),
    ...(next.length === 0
      ? {}
      : { progressJson: toProgressJson(visits, result.continuation, options.trace.contentBytes) }),
  });
  const following = {
    state: result.state,
    nodes: result.next,
    step: runState.step + 1,
    continuation: result.continuation,
    at: options.now(),
    answers: undefined,
  };
  return { runState, result, ran, visits, outcome, fails, delta, at, wakeAt, commit, following };
}

/** How a step has ended that is not over. */
const statusOf = ({ waiting, wakeAt }: StepResult): SpanStatus | undefined =>
  waiting ? 'waiting' : wakeAt === undefined ? undefined : 'sleeping';

/** The state of the run after a step that it goes on from. */
export const stateBehind = ({ runState, result, visits, commit, following }: EndedStep): RunState => ({
  ...following,
  size: commit.size,
  pending: emptyDelta,
  added: addedBy(runState, result),
  visits,
});

/** Whether a node comes next that has run as often as any may. One that sleeps has begun already. */
export const isAtLimit = (
  { next, continuation }: Pick<StepResult, 'next' | 'continuation'>,
  visits: RunState['visits'],
  recursionLimit: number,
): boolean =>
  next.some((node) => wakeTimeOf(continuation, node) === undefined && (visits.get(node) ?? 0) >= recursionLimit);

/** How the run ends with this step; `undefined` when it continues, at once or after a sleep. */
function outcomeOf(
  runState: RunState,
  result: StepResult,
  {
    visits,
    recursionLimitReached,
    stop,
    calls,
    usage,
  }: Pick<RunState, 'visits'> &
    Pick<Outcome, 'usage' | 'recursionLimitReached'> & {
      readonly stop: Interrupt | undefined;
      readonly calls: readonly CallBlock[];
    },
): Outcome | undefined {
  if (!result.waiting && !recursionLimitReached && !stop && result.next.length > 0) return undefined;
  const waitsForCaller = !recursionLimitReached && calls.some(({ type }) => type === 'remote_tool_call');
  const interrupts = recursionLimitReached ? [] : stop ? [stop] : result.interrupts;
  return {
    status: waitsForCaller || interrupts.length > 0 ? 'interrupted' : 'completed',
    interrupts,
    iterations: Math.max(0, ...visits.values()),
    recursionLimitReached,
    added: addedBy(runState, result),
    state: result.state,
    usage,
  };
}

/** The messages that the run has added so far, as the thread has them. A message that replaced an older one is none of them. */
function addedBy({ added, state }: RunState, { delta: { messages, mayReplace } }: StepResult): Added {
  if (!mayReplace) return keepNewest([...added.messages, ...messages], added);
  const own = new Set(added.messages.map(({ message_id: id }) => id));
  const older = new Set(state.context.map(({ message_id: id }) => id).filter((id) => !own.has(id)));
  const fresh = messages.filter(({ message_id: id }) => !older.has(id));
  return keepNewest(withMessages(added.messages, fresh, true), added);
}

const toRunEnd = ({ status, iterations, recursionLimitReached, interrupts }: Outcome): RunEnd => ({
  status,
  iterations,
  recursionLimitReached,
  ...(interrupts.length === 0 ? {} : { interruptsJson: JSON.stringify(interrupts) }),
});

/** The nodes that the record keeps for the thread's next run. A thread that waits in a sub-graph also waits at its nodes. */
const nextAfterEnd = ({ status }: Outcome, { next, continuation }: StepResult): readonly string[] =>
  status === 'interrupted' ? [...next, ...innerNodes(continuation)] : [];
