import type { RunEnd } from '@agent-workflow/protos/threads';
import { allOpenCalls } from '@agent-workflow/graph/state/calls';
import { wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import { innerNodes } from '@agent-workflow/graph/run/continuation';
import { withMessages } from '@agent-workflow/graph/state/state';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { Outcome } from '../events/outcome.ts';
import { keepNewest, type Added } from '../record/added.ts';
import type { RunOptions } from '../record/run-options.ts';
import type { RunState } from './run-state.ts';

/** How the run ends with this step; `undefined` when it continues, at once or after a sleep. */
export function outcomeOf(
  runState: RunState,
  result: StepResult,
  {
    visits,
    recursionLimit,
    usage,
  }: Pick<RunState, 'visits'> & Pick<Outcome, 'usage'> & Pick<RunOptions, 'recursionLimit'>,
): Outcome | undefined {
  const isNew = (node: string): boolean => wakeTimeOf(result.continuation, node) === undefined;
  const recursionLimitReached =
    !result.waiting && result.next.some((node) => isNew(node) && (visits.get(node) ?? 0) >= recursionLimit);
  if (!result.waiting && !recursionLimitReached && result.next.length > 0) return undefined;
  const waitsForCaller =
    !recursionLimitReached &&
    allOpenCalls(result.state.context, result.openCalls).some(({ type }) => type === 'remote_tool_call');
  const interrupts = recursionLimitReached ? [] : result.interrupts;
  return {
    status: waitsForCaller || interrupts.length > 0 ? 'interrupted' : 'completed',
    interrupts,
    iterations: Math.max(...visits.values()),
    recursionLimitReached,
    added: addedBy(runState, result),
    state: result.state,
    usage,
  };
}

/** The messages that the run has added so far, as the thread has them. A message that replaced an older one is none of them. */
export function addedBy({ added, state }: RunState, { delta: { messages, mayReplace } }: StepResult): Added {
  if (!mayReplace) return keepNewest([...added.messages, ...messages], added);
  const own = new Set(added.messages.map(({ message_id: id }) => id));
  const older = new Set(state.context.map(({ message_id: id }) => id).filter((id) => !own.has(id)));
  const fresh = messages.filter(({ message_id: id }) => !older.has(id));
  return keepNewest(withMessages(added.messages, fresh, true), added);
}

export const toRunEnd = ({ status, iterations, recursionLimitReached, interrupts }: Outcome): RunEnd => ({
  status,
  iterations,
  recursionLimitReached,
  ...(interrupts.length === 0 ? {} : { interruptsJson: JSON.stringify(interrupts) }),
});

/** The nodes that the record keeps for the thread's next run. A thread that waits in a sub-graph also waits at its nodes. */
export const nextAfterEnd = ({ status }: Outcome, { next, continuation }: StepResult): readonly string[] =>
  status === 'interrupted' ? [...next, ...innerNodes(continuation)] : [];
