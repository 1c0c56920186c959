import { toEventError } from '@agent-workflow/protos/failures';
import { isRunFailure, shownOf, type RunFailure } from '@agent-workflow/graph/state/failure';
import type { EventWriter } from '../events/event-writer.ts';
import { commitStep } from './commit-step.ts';
import { openCallsOf, type StepCommit } from './prepare-commit.ts';
import type { DriveOptions } from './drive-options.ts';
import { countVisits, emptyDelta, type RunState } from './run-state.ts';
import { append } from './publish.ts';

/** A run that has failed, with its failure on record. */
export interface FailedRun {
  readonly failure: RunFailure;
  readonly nextRunId?: string;
  /** Settles when the last event is written, or cannot be. The thread's next run need not wait for it. */
  readonly published: Promise<void>;
}

/** Commits a failure as the end of the run, then publishes it. `runState` is absent when the run could not begin. */
export async function failRun(
  options: DriveOptions,
  events: EventWriter,
  runState: RunState | undefined,
  failure: RunFailure,
): Promise<FailedRun> {
  const { code, node } = failure;
  const { text: message, reason, parameter } = shownOf(failure);
  const error = {
    ...{ code, message },
    ...(node !== undefined && { node }),
    ...(reason !== undefined && { reason }),
    ...(parameter !== undefined && { parameter }),
  };
  const at = options.now();
  const visits = runState ? countVisits(runState) : new Map<string, number>();
  const iterations = Math.max(0, ...visits.values());
  const end = { status: 'failed', iterations, recursionLimitReached: false, error } as const;
  const { reply } = await commitFailure(options, runState, { end, at });
  const last = events.write('error', toEventError(error), node === undefined ? {} : { node }, { at });
  const published = append(options, events, [last]);
  return { failure, published, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) };
}

/** The last commit of a failed run. It keeps the changes that came with the input, unless these are too large. */
async function commitFailure(
  { owner, claimed, threads, replicas, usage, onUsage, runContext: { signal }, onAway }: DriveOptions,
  runState: RunState | undefined,
  ended: Pick<StepCommit, 'end' | 'at'>,
): ReturnType<typeof commitStep> {
  const common = { owner, claimed, threads, replicas, usage, onUsage, signal, onAway, openInterrupts: [], ...ended };
  if (!runState) {
    // A run that could not begin leaves the thread as its claim found it.
    const { next, openCalls, step } = claimed;
    return commitStep({ ...common, ...notRead, ran: { step, nodes: [] }, delta: emptyDelta, next, openCalls });
  }
  const { pending, state, size, step } = runState;
  // No node of the step has ended: the `error` event stands for this commit alone.
  const rest = {
    ...common,
    ran: { step, nodes: [] },
    next: [],
    openCalls: openCallsOf(state),
    sizeBefore: size,
    context: state.context,
    startedAt: runState.at,
  };
  try {
    return await commitStep({ ...rest, delta: pending });
  } catch (error) {
    if (isRunFailure(error)) return commitStep({ ...rest, delta: emptyDelta });
    throw error;
  }
}

const notRead: Pick<StepCommit, 'sizeBefore' | 'context'> = { sizeBefore: { messages: 0, fields: {} }, context: [] };
