import { ownNodes, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import { earliest, wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import { openInterrupts, type Continuation } from '@agent-workflow/graph/run/continuation';
import { heldOutputs, mergeHeld } from '@agent-workflow/graph/run/held';
import { readAnswers } from '@agent-workflow/graph/run/interrupt';
import { enterGraph } from '@agent-workflow/graph/run/step';
import { isRunFailure, RunFailure, shownOf } from '@agent-workflow/graph/state/failure';
import { mergeOutputs, type NodeOutput } from '@agent-workflow/graph/state/merge';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { fromProgress } from '../record/progress.ts';
import { claimedState } from '../record/thread-state.ts';
import type { DriveOptions } from './drive-options.ts';
import { emptyDelta, joinDeltas, type RunState } from './run-state.ts';

/**
 * Where a claimed run begins or continues.
 * @throws RunFailure when its input does not fit the thread.
 */
export function begin({ claimed, graph, runOptions, cached, now, onFault }: DriveOptions): RunState {
  const { added, visits, continuation } = fromProgress(claimed);
  const thread = claimedState(graph, claimed, cached);
  const [unmatched] = claimed.unmatchedAnswers;
  if (unmatched !== undefined)
    throw new RunFailure('BadRequest', `messages: no open tool call has the id "${unmatched}"`);
  if (claimed.resumeUnmatched)
    throw new RunFailure('BadRequest', 'resume: answers no question that the thread has open');
  // The first commit of an earlier claim has stored the initial state already.
  const fields = claimed.step === 0 ? runOptions.initialState : {};
  const given = { node: 'initial_state', fields, messages: [], mayReplace: false };
  const left = claimed.next.length === 0 ? mergeLeft(graph, thread.state, continuation, onFault) : undefined;
  const { state, delta } = mergeInitial(graph, left?.state ?? thread.state, given);
  const entry =
    claimed.next.length > 0 ? { nodes: ownNodes(graph, claimed.next), continuation } : enterGraph(graph, state);
  const answers =
    claimed.step === 0 && 'resume' in runOptions
      ? readAnswers(openInterrupts(continuation), runOptions.resume)
      : undefined;
  const at = Math.max(now(), wokenAt(claimed, continuation));
  return {
    ...entry,
    at,
    state,
    size: thread.size,
    step: claimed.step,
    pending: joinDeltas(left?.delta ?? emptyDelta, delta),
    added,
    visits,
    answers,
  };
}

/**
 * When the sleep of the run ended, if this claim or an earlier one woke it; 0 for a run that did not sleep. The clock of the process that woke the run
 * may be ahead of this one. The time of a node may be later than that of the record, which moves back the times of a commit whose clock was ahead.
 */
function wokenAt({ isTakeover, wakeAt = 0, next }: ClaimedRun, continuation: Continuation | undefined): number {
  if (!isTakeover) return 0;
  return Math.max(wakeAt, earliest(next.map((node) => wakeTimeOf(continuation, node))) ?? 0);
}

/**
 * What a step held that the input has ended: its fields and removals. Its messages are in the log already, before the input, but for those
 * that may replace others.
 */
function mergeLeft(
  graph: CompiledGraph,
  state: EngineState,
  continuation: Continuation | undefined,
  onFault: DriveOptions['onFault'],
): ReturnType<typeof mergeOutputs> | undefined {
  const outputs = heldOutputs(continuation);
  if (outputs.length === 0) return undefined;
  const rest = outputs.map((output) => (output.mayReplace ? output : { ...output, messages: [] }));
  return mergeHeld(graph.fields, state, rest, (error) => onFault?.({ node: error.node ?? '', attempt: 1, error }));
}

/** A misfit of the initial state is the caller's fault, not that of a node. */
function mergeInitial(graph: CompiledGraph, state: EngineState, given: NodeOutput): ReturnType<typeof mergeOutputs> {
  try {
    return mergeOutputs(graph.fields, state, [given]);
  } catch (error) {
    if (!isRunFailure(error)) throw error;
    const { text } = shownOf(error);
    const shown = { text: `initial_state: ${text}` };
    throw new RunFailure('BadRequest', `initial_state: ${error.message}`, { cause: error, shown });
  }
}
