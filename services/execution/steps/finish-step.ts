import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { CommitStepReply } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { Delta } from '@agent-workflow/graph/state/merge';
import { publishedPart } from '@agent-workflow/graph/state/message-chunks';
import { isRunFailure } from '@agent-workflow/graph/state/failure';
import { toolsToFuse } from '@agent-workflow/graph/run/early';
import { stepEvents, type EventWriter } from '../events/event-writer.ts';
import { toInvokeResult, type Outcome } from '../events/outcome.ts';
import { allChunksPublished, nothingPublished, type PublishedStep } from '../events/published.ts';
import { toCommitted } from '../record/committed-step.ts';
import { fromState, type StateSize, type ThreadState } from '../record/thread-state.ts';
import { areSmall, sendCommit, sendFused } from './commit-step.ts';
import { beginAtOnce, beginEarly, type EarlyStep } from './early-step.ts';
import { endStep, stateBehind, type EndedStep } from './ended-step.ts';
import { append, publish, type DriveOptions, type RunState } from './driven-run.ts';
import type { RanStep } from './run-nodes.ts';

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

/**
 * Commits a step that has run, then publishes it. A next step that may begin early does so after the sending of the commit; one that ends
 * before the commit is sent may be committed in the same write.
 */
export async function finishStep(
  options: DriveOptions,
  events: EventWriter,
  runState: RunState,
  result: RanStep,
): Promise<Finished> {
  const step = endStep(options, runState, result);
  const trial = await tryFused(options, events, step);
  // The run may have been stopped in the meantime.
  if (trial) options.runContext.signal.throwIfAborted();
  return trial?.second
    ? commitBoth(options, events, step, { early: trial.early, second: trial.second })
    : commitOne(options, events, step, trial?.early);
}

/** `early` is the next step, if it has begun. */
async function commitOne(
  options: DriveOptions,
  events: EventWriter,
  step: EndedStep,
  begun: EarlyStep | undefined,
): Promise<Finished> {
  const committing = sendCommit(options, step.commit);
  const early = begun ?? beginNext(options, events, step);
  try {
    return await publishStep(options, events, step, { early, reply: await committing });
  } catch (error) {
    early?.abandon(error);
    throw error;
  }
}

/** Commits two steps in one write, then publishes one after the other. Where the record does not take them together, the first alone. */
async function commitBoth(
  options: DriveOptions,
  events: EventWriter,
  first: EndedStep,
  { early, second }: Pick<Trial, 'early'> & { readonly second: EndedStep },
): Promise<Finished> {
  const committing = sendFused(options, first.commit, second.commit);
  const later = beginNext(options, events, second);
  try {
    const reply = await committing;
    if (reply) {
      publish(options, events, eventsOf(options, events, first));
      // It publishes what the second step has published while it ran.
      void early.confirm();
      return await publishStep(options, events, second, { early: later, reply });
    }
    later?.abandon(new Error('the step before is committed by itself'));
    return await commitOne(options, events, first, early);
  } catch (error) {
    early.abandon(error);
    later?.abandon(error);
    throw error;
  }
}

/** Begins the next step early, if there is one that may. */
const beginNext = (
  options: DriveOptions,
  events: EventWriter,
  { outcome, fails, wakeAt, following }: EndedStep,
): EarlyStep | undefined =>
  outcome || fails || wakeAt !== undefined ? undefined : beginEarly(options, events, following);

/** Publishes a step that is on record. */
async function publishStep(
  options: DriveOptions,
  events: EventWriter,
  step: EndedStep,
  { early, reply }: { readonly early: EarlyStep | undefined; readonly reply: CommitStepReply },
): Promise<Finished> {
  const { result, ran, outcome, at, wakeAt, commit } = step;
  const list = eventsOf(options, events, step);
  if (reply.rejoined)
    early?.abandon(new Error('a message is in the context again, at a place that only the record knows'));
  const thread = reply.rejoined
    ? await readState(options)
    : { version: reply.version, state: result.state, size: commit.size };
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
      ...stateBehind(step),
      state: thread.state,
      size: thread.size,
      at: running ? step.following.at : options.now(),
    },
  };
}

const eventsOf = (
  { claimed }: DriveOptions,
  events: EventWriter,
  { ran, delta, result, at }: EndedStep,
): readonly RunEvent[] =>
  stepEvents(
    events,
    claimed.granularity,
    toCommitted(ran, delta, result.state, at),
    publishedWhileRunning(result, delta, ran.step === claimed.step ? events.published : undefined),
  );

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

/**
 * What a step published while it ran: the messages that it streamed, as they were then. `before` is what an earlier claim published of it:
 * branches whose results are on record have the messages of then.
 */
function publishedWhileRunning(
  { streamed }: StepResult,
  { messages, mayReplace }: Delta,
  before: EventWriter['published'] | undefined,
): PublishedStep {
  const list = mayReplace ? messages.filter(({ message_id: id }) => streamed.has(id)) : [];
  const [first, last] = list.length === 0 ? [] : [byId(list.toReversed()), byId(list)];
  return {
    message: (id) => {
      if (!streamed.has(id)) return before?.message(id) ?? nothingPublished;
      if (!first || !last) return allChunksPublished;
      const [begun, whole] = [first.get(id), last.get(id)];
      return begun && whole && begun !== whole ? { ...publishedPart(whole, begun), whole: false } : allChunksPublished;
    },
    has: () => false,
  };
}

/** Of messages with one id the last. */
const byId = (messages: readonly Message[]): ReadonlyMap<string, Message> =>
  new Map(messages.map((message) => [message.message_id, message]));

/** A step of pure tools that has begun before the commit of the step before it is sent. */
interface Trial {
  readonly early: EarlyStep;
  /** The step, when it has ended, and may be committed in one write with the step before it. */
  readonly second?: EndedStep | undefined;
}

/** How long one call may keep the event loop, and with it the commit of the step before, in milliseconds. A tool that takes longer is late. */
const promptMs = 1;

/**
 * Begins the next step when it is one of pure tools, and waits for it until the end of this turn of the event loop. What was to be sent in
 * this turn is then sent later only by the time that the tools compute.
 * @returns `undefined` when the commit of the step must be sent first.
 */
async function tryFused(options: DriveOptions, events: EventWriter, step: EndedStep): Promise<Trial | undefined> {
  const { promptTools } = options;
  const tools = mayBeFirst(options, step)
    ? toolsToFuse(options.graph, step.runState, nextOf(options, step))
    : undefined;
  if (!tools || !promptTools.mayBe(tools)) return undefined;
  let isSlow = false;
  const early = beginAtOnce(options, events, step.following, (_tool, ms) => {
    isSlow ||= ms > promptMs;
  });
  const result = await early.endedInTurn();
  promptTools.note(tools, result !== undefined && !isSlow);
  return { early, second: result && secondOf(options, step, result) };
}

const nextOf = ({ isRemote }: DriveOptions, { following }: EndedStep): Parameters<typeof toolsToFuse>[2] => ({
  ...following,
  isRemote,
});

/**
 * The first step of a takeover is committed by itself: a tool that ends its process costs one answer of the model, and not one for each
 * claim. What replaces or removes messages may need the state that only the record knows.
 */
function mayBeFirst(
  { claimed }: DriveOptions,
  { runState, result, outcome, fails, wakeAt, delta }: EndedStep,
): boolean {
  if (claimed.isTakeover && runState.step === claimed.step) return false;
  return (
    !outcome && !fails && wakeAt === undefined && isPlain(result) && !delta.mayReplace && delta.removed.length === 0
  );
}

/** Whether nothing of the step waits, asks or sleeps. */
const isPlain = ({ waiting, interrupts, openCalls, wakeAt }: RanStep): boolean =>
  !waiting && wakeAt === undefined && interrupts.length === 0 && openCalls.length === 0;

function secondOf(options: DriveOptions, first: EndedStep, result: RanStep): EndedStep | undefined {
  if (!isPlain(result) || result.continuation) return undefined;
  try {
    const second = endStep(options, stateBehind(first), result, first.commit.used);
    // The record takes no questions with a second step.
    const isAsking = (second.outcome?.interrupts.length ?? 0) > 0;
    return !isAsking && areSmall(first.commit, second.commit) ? second : undefined;
  } catch (error) {
    // Its failure is found again when the first step is on record.
    if (isRunFailure(error)) return undefined;
    throw error;
  }
}
