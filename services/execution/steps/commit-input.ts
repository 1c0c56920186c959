import { allOpenCalls } from '@agent-workflow/graph/state/calls';
import { inputProgressJson } from '../record/progress.ts';
import { prepareCommit, sendCommit, toOpenCalls } from './commit-step.ts';
import { emptyDelta, type DriveOptions, type RunState } from './driven-run.ts';

/** Whether a run begins its graph with changes of its thread that can be on record before its first nodes run. */
export const hasInput = ({ claimed, runOptions }: DriveOptions, { pending: { messages }, nodes }: RunState): boolean =>
  claimed.next.length === 0 &&
  claimed.step === 0 &&
  nodes.length > 0 &&
  messages.length === 0 &&
  (Object.keys(runOptions.initialState).length > 0 || runOptions.removes !== undefined);

/**
 * Commits the fields that a run has brought, merged with those of its thread, which messages it removes, and which nodes come first: readers of the thread and a
 * takeover find them there. @throws RunFailure when they exceed a size limit.
 */
export async function commitInput(options: DriveOptions, first: RunState): Promise<RunState> {
  const { pending, state, size: sizeBefore, nodes, step, continuation } = first;
  const { request, size, used } = prepareCommit(options, {
    ...{ ran: { step, nodes: [] }, delta: pending, next: nodes, sizeBefore, context: state.context },
    ...{ openCalls: toOpenCalls(allOpenCalls(state.context, [])), openInterrupts: [], at: options.now() },
    progressJson: inputProgressJson(continuation),
  });
  await sendCommit(options, { request: { ...request, ofInput: true }, used });
  return { ...first, pending: emptyDelta, size, at: options.now() };
}
