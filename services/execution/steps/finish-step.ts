import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { EventWriter } from '../events/event-writer.ts';
import { toInvokeResult, type Outcome } from '../events/outcome.ts';
import { allChunksPublished, nothingPublished, type PublishedStep } from '../events/published.ts';
import { stepEvents } from '../events/step-events.ts';
import { toCommitted, type StepNodes } from '../record/committed-step.ts';
import { toProgressJson } from '../record/progress.ts';
import type { StateSize } from '../record/state-size.ts';
import { fromState, type ThreadState } from '../record/thread-state.ts';
import { commitStep, openCallsOf } from './commit-step.ts';
import { beginEarly } from './early-step.ts';
import { addedBy, nextAfterEnd, outcomeOf, toRunEnd } from './outcome-of-step.ts';
import type { DriveOptions } from './drive-options.ts';
import { awakeNodes, countVisits, emptyDelta, type RunState, type StepState } from './run-state.ts';
import type { RanStep } from './run-nodes.ts';
import { append, publish } from './publish.ts';

/** A run that has ended or sleeps, with its last commit on record. */
export interface EndedRun {
  /** The thread's state after the run. */
  readonly thread: ThreadState;
  readonly nextRunId?: string;
  /** Settles when the last event is written, or cannot be. The thread's next run need not wait for it. */
  readonly published: Promise<void>;
}

/** Either the run's next step, or its end; a run that sleeps has ended for this worker. */
type Finished =
  | {
      readonly runState: RunState;
      /** The next step, when it has begun already. */
      readonly running: Promise<RanStep> | undefined;
    }
  | { readonly ended: EndedRun };

/** Commits a step that has run, then publishes it. A next step that may begin early does so behind the sending of the commit. */
export async function finishStep(
  options: DriveOptions,
  events: EventWriter,
  runState: RunState,
  result: RanStep,
): Promise<Finished> {
  const ran = { step: runState.step, nodes: awakeNodes(runState) };
  const visits = countVisits(runState);
  const { owner, claimed, threads, replicas, usage, onUsage, onAway } = options;
  const { recursionLimit } = options.runOptions;
  const outcome = outcomeOf(runState, result, { visits, recursionLimit, usage: usage.total() });
  const delta = joinDeltas(runState.pending, result.delta);
  const at = Date.now();
  const wakeAt = outcome ? undefined : result.wakeAt;
  const next = outcome ? nextAfterEnd(outcome, result) : result.next;
  const committing = commitStep({
    owner,
    claimed,
    threads,
    replicas,
    usage,
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
  const early = outcome || wakeAt !== undefined ? undefined : beginEarly(options, events, following);
  const sent: SentStep = { ...{ runState, result, ran, visits, outcome, delta, at, wakeAt }, following, early };
  try {
    return await publishStep(options, events, sent, await committing);
  } catch (error) {
    early?.abandon(error);
    throw error;
  }
}

/** A step whose commit is sent, and what comes behind it. */
interface SentStep {
  readonly runState: RunState;
  readonly result: RanStep;
  readonly ran: StepNodes;
  readonly visits: RunState['visits'];
  /** How the run ends with this step, if it does. */
  readonly outcome: Outcome | undefined;
  readonly delta: Delta;
  readonly at: number;
  /** Until when the run sleeps behind this step, if it does. */
  readonly wakeAt: number | undefined;
  readonly following: StepState;
  /** The following step, if it may have begun. */
  readonly early: ReturnType<typeof beginEarly>;
}

/** Publishes a step that is on record. */
async function publishStep(
  options: DriveOptions,
  events: EventWriter,
  { runState, result, ran, visits, outcome, delta, at, wakeAt, following, early }: SentStep,
  { reply, size }: Awaited<ReturnType<typeof commitStep>>,
): Promise<Finished> {
  const committed = toCommitted(ran, delta, result.state, at);
  const list = stepEvents(events, options.claimed.granularity, committed, publishedWhileRunning(result));
  if (reply.rejoined)
    early?.abandon(new Error('a message is in the context again, at a place that only the record knows'));
  const thread = reply.rejoined ? await readState(options) : { version: reply.version, state: result.state, size };
  if (outcome) {
    const last = await lastEvent(options, events, { ...outcome, state: thread.state }, { at, size: thread.size });
    const published = append(options, events, [...list, last]);
    return { ended: { thread, published, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) } };
  }
  if (wakeAt !== undefined) {
    const sleeping = result.next.map((node) => sleepingEvent(events, { node, step: ran.step }, { wakeAt, at }));
    return { ended: { thread, published: append(options, events, [...list, ...sleeping]) } };
  }
  publish(options, events, list);
  const running = early?.confirm();
  return {
    running,
    runState: {
      ...following,
      state: thread.state,
      size: thread.size,
      pending: emptyDelta,
      added: addedBy(runState, result),
      visits,
      at: running ? following.at : options.now(),
      answers: undefined,
    },
  };
}

/** Says when a node that sleeps continues. It is for followers during the sleep: a log that is rebuilt later has none. */
const sleepingEvent = (
  events: EventWriter,
  source: { readonly node: string; readonly step: number },
  { wakeAt, at }: { readonly wakeAt: number; readonly at: number },
): RunEvent => {
  const data = { ...source, status: 'sleeping', wake_at: new Date(wakeAt).toISOString() };
  return events.write('on_chain_stream', data, source, { at });
};

/** The end of a run with a larger context is serialised in turns of its own, so that it delays other runs less. */
const largeContext = 1024 * 1024;

async function lastEvent(
  { claimed }: DriveOptions,
  events: EventWriter,
  outcome: Outcome,
  { at, size }: { readonly at: number; readonly size: StateSize },
): Promise<RunEvent> {
  const isLarge = size.messages > largeContext;
  if (isLarge) await nextTurn();
  const last = events.end(toInvokeResult(claimed, outcome, at), at);
  if (isLarge) await nextTurn();
  return last;
}

const readTimeoutMs = 30_000;

/** The state as the record has it, of the version that this worker has just made. */
const readState = async ({ owner, claimed, threads, graph }: DriveOptions): Promise<ThreadState> =>
  fromState(graph, await threads.getState({ owner, threadId: claimed.threadId }, within(readTimeoutMs)));

/** What a step published while it ran: the chunks of the messages that it streamed. */
const publishedWhileRunning = ({ streamed }: StepResult): PublishedStep => ({
  message: (id) => (streamed.has(id) ? allChunksPublished : nothingPublished),
  has: () => false,
});

function joinDeltas(first: Delta, second: Delta): Delta {
  if (first === emptyDelta) return second;
  return {
    fields: { ...first.fields, ...second.fields },
    messages: [...first.messages, ...second.messages],
    mayReplace: first.mayReplace || second.mayReplace,
    removed: [...first.removed, ...second.removed],
  };
}
