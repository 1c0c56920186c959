import { allOpenCalls } from '@agent-workflow/graph/state/calls';
import { isRunFailure, RunFailure, shownOf } from '@agent-workflow/graph/state/failure';
import { ownNodes, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import { earliest, wakeTimeOf } from '@agent-workflow/graph/run/asleep';
import { openInterrupts, type Continuation } from '@agent-workflow/graph/run/continuation';
import { heldOutputs, mergeHeld } from '@agent-workflow/graph/run/held';
import { readAnswers, type Interrupt } from '@agent-workflow/graph/run/interrupt';
import { disputed } from '@agent-workflow/graph/state/answers-differ';
import { unanswered } from '@agent-workflow/graph/state/deadline';
import { enterGraph } from '@agent-workflow/graph/run/step';
import { beginTogether } from '@agent-workflow/graph/run/begin-together';
import { mergeOutputs, type Delta, type NodeOutput } from '@agent-workflow/graph/state/merge';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { StepTrace } from '@agent-workflow/graph/trace/step-trace';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { toEventError } from '@agent-workflow/protos/failures';
import type { EventWriter } from '../events/event-writer.ts';
import { openLog } from '../events/open-log.ts';
import type { RunOptions } from '../record/run-options.ts';
import { fromProgress, toFailedJson } from '../record/progress.ts';
import { claimedState, type ThreadState } from '../record/thread-state.ts';
import { stepOfNone, stopsAtOnce } from './breakpoints.ts';
import { finishStep, type EndedRun } from './finish-step.ts';
import {
  append,
  awakeNodes,
  countVisits,
  emptyDelta,
  joinDeltas,
  type DriveOptions,
  type RunState,
} from './driven-run.ts';
import { isAtLimit } from './ended-step.ts';
import { leftOf, runNodes, type RanStep } from './run-nodes.ts';
import { commitInput, hasInput } from './commit-input.ts';
import { commitStep, toOpenCalls, type StepCommit } from './commit-step.ts';

/** A run that was driven to its end or to a sleep. A failed one leaves no `thread` that could be cached. */
export type Driven = (EndedRun & { readonly failure?: undefined }) | (FailedRun & { readonly thread?: undefined });

/**
 * Drives a claimed run to its end or to a sleep: step after step, each committed behind the fence before it is published, then the last event.
 * @throws Stale when a stop or another worker has taken the run: this worker publishes nothing more of it.
 */
export async function driveRun(options: DriveOptions): Promise<Driven> {
  const first = await beginOrFailure(options);
  if (isRunFailure(first)) {
    return failRun(options, await openLog(options, []), undefined, first);
  }
  if (stopsAtOnce(options, first) || (first.nodes.length === 0 && options.runOptions.goesOn)) {
    const { none, result } = stepOfNone(first);
    return driveSteps(options, await openLog(options, []), none, Promise.resolve(result));
  }
  return driveSteps(options, await openLog(options, awakeNodes(first)), first);
}

async function driveSteps(
  options: DriveOptions,
  events: EventWriter,
  first: RunState,
  begun?: Promise<RanStep>,
): Promise<Driven> {
  let runState = first;
  let running = begun;
  let trace: StepTrace | undefined;
  try {
    for (;;) {
      trace = undefined;
      refuseAtLimit(options, runState);
      const result = await (running ?? runNodes(options, events, runState));
      ({ trace } = result);
      const finished = await finishStep(options, events, runState, result);
      if ('ended' in finished) return finished.ended;
      ({ runState, running } = finished);
    }
  } catch (error) {
    if (!isRunFailure(error) || options.runContext.signal.aborted) throw error;
    return failRun(options, events, runState, error, leftOf(error)?.trace ?? trace);
  }
}

/** @throws RunFailure where the next step is one too many for a run that fails at its limit. */
function refuseAtLimit({ runOptions }: DriveOptions, { nodes, visits, continuation }: RunState): void {
  const { recursionLimit, failsAtLimit = false } = runOptions;
  if (!failsAtLimit || !isAtLimit({ next: nodes, continuation }, visits, recursionLimit)) return;
  const text = `the run reached its recursion_limit of ${String(recursionLimit)} before its graph came to an end`;
  throw new RunFailure('GraphFailed', text, { shown: { text, thrown: 'GraphRecursionError' } });
}

async function beginOrFailure(options: DriveOptions): Promise<RunState | RunFailure> {
  try {
    return await withInput(options, await begin(options));
  } catch (error) {
    if (isRunFailure(error)) return error;
    throw error;
  }
}

/** The run with its input on record, where that is to be before its first nodes run. */
async function withInput(options: DriveOptions, first: RunState): Promise<RunState> {
  if (options.runOptions.recordsInput !== true) return first;
  return hasInput(options, first) && !stopsAtOnce(options, first) ? commitInput(options, first) : first;
}

/**
 * Where a claimed run begins or continues.
 * @throws RunFailure when its input does not fit the thread.
 */
async function begin({
  claimed,
  graph,
  runOptions,
  runContext,
  cached,
  trace,
  now,
  onFault,
}: DriveOptions): Promise<RunState> {
  const { added, visits, continuation, returned, merged, traced } = fromProgress(claimed);
  trace.goOnFrom(traced);
  const thread = claimedState(graph, claimed, cached);
  const [unmatched] = claimed.unmatchedAnswers;
  if (unmatched !== undefined)
    throw new RunFailure('BadRequest', `messages: no open tool call has the id "${unmatched}"`);
  if (claimed.resumeUnmatched)
    throw new RunFailure('BadRequest', 'resume: answers no question that the thread has open');
  // An earlier claim has stored the initial state already.
  const fields = merged ? {} : runOptions.initialState;
  const left = claimed.next.length === 0 ? mergeLeft(graph, thread.state, continuation, onFault) : undefined;
  const before = left?.state ?? thread.state;
  const removed = merged ? undefined : removedBy(runOptions, before, claimed);
  const given = { node: 'initial_state', fields, messages: [], mayReplace: false, removed };
  const initial = mergeInitial(graph, before, given);
  const goesOn = claimed.next.length > 0 || runOptions.goesOn === true;
  if (goesOn && isEmpty(claimed, thread)) throw new RunFailure('BadRequest', 'Received no input for __start__');
  const begun = goesOn ? undefined : await beginTogether(graph, initial.state, runContext);
  const { state } = begun ?? initial;
  const entry = goesOn ? { nodes: ownNodes(graph, claimed.next), continuation } : enterGraph(graph, state);
  const answers =
    claimed.step === 0 && 'resume' in runOptions ? answersOf(runOptions, openInterrupts(continuation)) : undefined;
  const at = Math.max(now(), wokenAt(claimed, continuation));
  return {
    ...entry,
    at,
    state,
    size: thread.size,
    step: claimed.step,
    pending: [left?.delta, initial.delta, begun?.delta].reduce<Delta>(
      (sum, delta) => (delta ? joinDeltas(sum, delta) : sum),
      emptyDelta,
    ),
    added,
    visits,
    answers,
    answeredBy: runOptions.answeredBy,
    returned,
  };
}

/** The messages that the run removes from what was there before its own. @throws RunFailure for one that is not there. */
function removedBy(
  { removes = [] }: RunOptions,
  { context }: EngineState,
  { appended }: ClaimedRun,
): readonly string[] | undefined {
  if (removes.length === 0) return undefined;
  const own = new Set(appended.map(({ messageId }) => messageId));
  const earlier = new Set(context.flatMap(({ message_id: id }) => (own.has(id) ? [] : [id])));
  if (removes.includes(everyMessage)) return [...earlier];
  const absent = removes.find((id) => !earlier.has(id));
  if (absent !== undefined) throw new RunFailure('BadRequest', `messages: has no message "${absent}" to remove`);
  return removes;
}

/** In place of the id of a message: every one that is there. */
const everyMessage = '__remove_all__';

/** Whether the thread held nothing before the messages of the run. */
const isEmpty = ({ appended, next, isTakeover }: ClaimedRun, { state, size }: ThreadState): boolean =>
  next.length === 0 && !isTakeover && state.context.length <= appended.length && Object.keys(size.fields).length === 0;

/** What the run brings for open questions: answers, or that nobody has answered before the deadline. */
function answersOf({ resume, passed, differ }: RunOptions, open: readonly Interrupt[]): Answers {
  if (differ) return Object.fromEntries(differ.map((id) => [id, disputed]));
  if (!passed) return readAnswers(open, resume);
  return { ...Object.fromEntries(passed.map(({ id }) => [id, unanswered])), ...(resume as Answers) };
}

type Answers = ReturnType<typeof readAnswers>;

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

/** A run that has failed, with its failure on record. */
interface FailedRun {
  readonly failure: RunFailure;
  readonly nextRunId?: string;
  /** Settles when the last event is written, or cannot be. The thread's next run need not wait for it. */
  readonly published: Promise<void>;
}

/** Commits a failure as the end of the run, then publishes it. `runState` is absent when the run could not begin. */
async function failRun(
  options: DriveOptions,
  events: EventWriter,
  runState: RunState | undefined,
  failure: RunFailure,
  trace?: StepTrace,
): Promise<FailedRun> {
  const { code, node } = failure;
  const { text: message, reason, parameter, thrown } = shownOf(failure);
  const error = {
    ...{ code, message },
    ...(node !== undefined && { node }),
    ...(reason !== undefined && { reason }),
    ...(parameter !== undefined && { parameter }),
    ...(thrown !== undefined && { thrown }),
  };
  const at = options.now();
  // Without a trace no node of the step has begun.
  const visits = (trace && runState ? countVisits(runState) : runState?.visits) ?? new Map<string, number>();
  const iterations = Math.max(0, ...visits.values());
  const end = { status: 'failed', iterations, recursionLimitReached: false, error } as const;
  const reply = await commitFailure(options, runState, { end, at, trace: trace?.toStored('failed') }, failure);
  const last = events.write('error', toEventError(error), node === undefined ? {} : { node }, { at });
  const published = append(options, events, [last]);
  return { failure, published, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) };
}

/** The last commit of a failed run. It keeps the changes that came with the input, unless these are too large. */
async function commitFailure(
  options: DriveOptions,
  runState: RunState | undefined,
  ended: Pick<StepCommit, 'end' | 'at' | 'trace'>,
  failure: RunFailure,
): ReturnType<typeof commitStep> {
  if (!runState) {
    // A run that could not begin leaves the thread as its claim found it.
    const { next, openCalls, step } = options.claimed;
    const ran = { step, nodes: [] };
    return commitStep(options, { ...ended, ...notRead, ran, delta: emptyDelta, next, openCalls, openInterrupts: [] });
  }
  const { pending, state, size, step, nodes, continuation } = runState;
  const left = (merged: boolean): Pick<StepCommit, 'progressJson'> => {
    const { returned, hasRecords = false } = leftOf(failure) ?? {};
    const progressJson = toFailedJson({ next: nodes, continuation, returned, hasRecords, merged });
    return progressJson ? { progressJson } : {};
  };
  // No node of the step has ended: the `error` event stands for this commit alone.
  const rest = {
    ...ended,
    ran: { step, nodes: [] },
    next: [],
    openCalls: toOpenCalls(allOpenCalls(state.context, [])),
    openInterrupts: [],
    sizeBefore: size,
    context: state.context,
    startedAt: runState.at,
  };
  try {
    return await commitStep(options, { ...rest, ...left(true), delta: pending });
  } catch (error) {
    if (isRunFailure(error)) return commitStep(options, { ...rest, ...left(false), delta: emptyDelta });
    throw error;
  }
}

const notRead: Pick<StepCommit, 'sizeBefore' | 'context'> = { sizeBefore: { messages: 0, fields: {} }, context: [] };
