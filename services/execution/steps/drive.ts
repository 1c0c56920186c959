import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '@agent-workflow/protos/call';
import { toEventError } from '@agent-workflow/protos/failures';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { ClaimedRun, OpenCall, Threads } from '@agent-workflow/protos/threads';
import { keepNewest, type Added } from '../record/added.ts';
import { keepCallNotes } from './call-notes.ts';
import { isMemoryAway } from './bound-memory.ts';
import type { Weight } from '../record/weight.ts';
import { commitStep, type StepCommit } from './commit-step.ts';
import { openCalls } from '@agent-workflow/graph/state/calls';
import { innerPlaces, openInterrupts, type Carry } from '@agent-workflow/graph/run/carry';
import type { BoundMemory, RunContext } from '@agent-workflow/graph/build/context';
import { RunFailure, type CodeFault } from '@agent-workflow/graph/state/failure';
import { ownNodes, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import { readAnswers } from '@agent-workflow/graph/run/interrupt';
import { mergeOutputs, type Delta, type NodeOutput } from '@agent-workflow/graph/state/merge';
import { withMessages, type EngineState } from '@agent-workflow/graph/state/state';
import { entryNodes, runStep } from '@agent-workflow/graph/run/step';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import type { EventWriter } from '../events/event-writer.ts';
import { claimedState, fromState, type HotThread } from '../record/hot-threads.ts';
import { earlierOf, openEvents, toProgressJson, type Earlier } from '../events/opening.ts';
import type { RunOptions } from '../record/run-options.ts';
import { toInvokeResult, type Outcome } from '../events/outcome.ts';
import type { RunLog } from '../ports/port.ts';
import { tellStep, toCommitted } from '../events/tell-step.ts';
import { allPiecesTold, nothingTold, type ToldStep } from '../events/told.ts';

/** Everything one claimed run is driven with. */
export interface Drive {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly options: RunOptions;
  readonly graph: CompiledGraph;
  readonly threads: Threads;
  readonly remembered: HotThread | undefined;
  readonly run: RunContext;
  /** The memory service, whose calls end with this signal. */
  readonly memoryUnder: (signal: AbortSignal) => BoundMemory;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  readonly log: RunLog;
  /** Called with what code of the agent threw where the run goes on nevertheless. */
  readonly onFault?: ((fault: CodeFault) => void) | undefined;
  /** Hears of each step as it begins. */
  readonly onStep: (nodes: readonly string[]) => void;
  /** Called when the record does not take a commit for now, which then waits. */
  readonly onAway: (error: unknown) => void;
}

export interface Driven {
  /** What the worker may keep of the thread; absent when the run failed. */
  readonly thread?: HotThread;
  readonly nextRunId?: string;
  /** Why the run failed, for the log. */
  readonly failure?: RunFailure;
  /** Settles when the last event is written, or cannot be: whatever waits for the thread need not wait for it. */
  readonly told: Promise<void>;
}

/** Where a run stands between two steps. */
interface Progress {
  readonly state: EngineState;
  readonly weight: Weight;
  readonly nodes: readonly string[];
  readonly step: number;
  /** Changes that came with the input and wait for the first commit. */
  readonly pending: Delta;
  readonly added: Added;
  readonly visits: ReadonlyMap<string, number>;
  readonly carry: Carry | undefined;
  /** Answers to what the interrupted run before this one asked: for the first step. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Runs a claimed run to its end: steps, each committed behind the fence before anything is said of it, then the last event.
 * @throws Stale when another worker or a stop has taken the run: nothing more is to be said of it here.
 */
export async function driveRun(drive: Drive): Promise<Driven> {
  let progress = beginOrFailure(drive);
  if (progress instanceof RunFailure) {
    const events = await openEvents({ ...drive, nodes: [] });
    return fail(drive, events, undefined, progress);
  }
  const events = await openEvents({ ...drive, nodes: progress.nodes });
  try {
    for (;;) {
      const result = await step(drive, events, progress);
      const ended = await commitResult(drive, events, progress, result);
      if (ended.done) return ended.driven;
      ({ progress } = ended);
    }
  } catch (error) {
    if (!(error instanceof RunFailure) || drive.run.signal.aborted) throw error;
    return fail(drive, events, progress, error);
  }
}

/** Appends what was just written. Resolves when followers may see it. */
const append = ({ log }: Drive, events: EventWriter, list: readonly RunEvent[]): Promise<void> =>
  log.append(events.scope, events.last() - list.length, list);

function say(drive: Drive, events: EventWriter, list: readonly RunEvent[]): void {
  if (list.length === 0) return;
  // A log that cannot be written holds up no run: its last append is awaited and reported.
  append(drive, events, list).catch(() => undefined);
}

function beginOrFailure(drive: Drive): Progress | RunFailure {
  try {
    return begin(drive, earlierOf(drive.claimed));
  } catch (error) {
    if (error instanceof RunFailure) return error;
    throw error;
  }
}

function begin({ claimed, graph, options, remembered }: Drive, { added, visits, carry }: Earlier): Progress {
  const hot = claimedState(graph, claimed, remembered);
  const [unmatched] = claimed.unmatchedAnswers;
  if (unmatched !== undefined)
    throw new RunFailure('BadRequest', `messages: no open tool call has the id "${unmatched}"`);
  if (claimed.resumeUnmatched)
    throw new RunFailure('BadRequest', 'resume: answers no question that the thread has open');
  // A commit has taken it in when an earlier claim got as far as one.
  const fields = claimed.step === 0 ? options.initialState : {};
  const given = { node: 'initial_state', fields, messages: [], mayReplace: false };
  const { state, delta } = mergeInitial(graph, hot.state, given);
  const nodes = claimed.next.length > 0 ? ownNodes(graph, claimed.next) : entryNodes(graph, state);
  const answers =
    claimed.step === 0 && 'resume' in options ? readAnswers(openInterrupts(carry), options.resume) : undefined;
  return { state, weight: hot.weight, nodes, step: claimed.step, pending: delta, added, visits, carry, answers };
}

/** What does not fit came with the request, so that the caller is told, not the author of a node. */
function mergeInitial(graph: CompiledGraph, state: EngineState, given: NodeOutput): ReturnType<typeof mergeOutputs> {
  try {
    return mergeOutputs(graph.fields, state, [given]);
  } catch (error) {
    if (error instanceof RunFailure)
      throw new RunFailure('BadRequest', `initial_state: ${error.message}`, { cause: error });
    throw error;
  }
}

async function step(drive: Drive, events: EventWriter, progress: Progress): Promise<StepResult> {
  const { graph, run } = drive;
  const { nodes, step: number } = progress;
  drive.onStep(nodes);
  // The first step's beginning is told with the opening.
  if (number !== drive.claimed.step) {
    const status = 'started';
    say(
      drive,
      events,
      nodes.map((node) => events.write('on_chain_stream', { node, step: number, status }, { node, step: number })),
    );
  }
  const notes = keepCallNotes({ ...drive, step: number });
  const running = runStep({
    graph,
    nodes: progress.nodes,
    number: progress.step,
    state: progress.state,
    run,
    memoryUnder: drive.memoryUnder,
    carry: progress.carry,
    answers: progress.answers,
    isRemote: drive.isRemote,
    notes,
    onFault: drive.onFault,
    onRestart: (node, attempt) => {
      const data = { node, step: number, status: 'restarted', attempt };
      if (!run.signal.aborted) say(drive, events, [events.write('on_chain_stream', data, { node, step: number })]);
    },
    onPiece: (node, piece) => {
      if (!run.signal.aborted) say(drive, events, [events.piece(node, progress.step, piece)]);
    },
  });
  return running.catch((error: unknown) => {
    const cause = error instanceof RunFailure ? error.cause : undefined;
    // What a store did is no failure of the run: it is given back, and the step runs again.
    throw notes.failure() ?? (isMemoryAway(cause) ? cause : error);
  });
}

type Advance = { readonly done: false; readonly progress: Progress } | { readonly done: true; readonly driven: Driven };

async function commitResult(
  drive: Drive,
  events: EventWriter,
  progress: Progress,
  result: StepResult,
): Promise<Advance> {
  const visits = count(progress);
  const outcome = outcomeOf(drive, progress, result, visits);
  const delta = joinDeltas(progress.pending, result.delta);
  const at = Date.now();
  const end = outcome && {
    status: outcome.status,
    iterations: outcome.iterations,
    recursionLimitReached: outcome.recursionLimitReached,
    ...(outcome.interrupts.length === 0 ? {} : { interruptsJson: JSON.stringify(outcome.interrupts) }),
  };
  const next = outcome ? placesOf(outcome, result) : result.next;
  const { owner, claimed, threads, onAway } = drive;
  const { reply, weight } = await commitStep({
    owner,
    claimed,
    threads,
    signal: drive.run.signal,
    onAway,
    place: progress,
    delta,
    next,
    openCalls: openOf(result.state),
    openInterrupts: result.interrupts.map(({ id }) => id),
    weight: progress.weight,
    context: result.state.context,
    at,
    ...(end ? { end } : {}),
    ...(next.length === 0 ? {} : { progressJson: toProgressJson(visits, result.carry) }),
  });
  const committed = toCommitted(progress, delta, result.state, at);
  const told = tellStep(events, claimed.granularity, committed, toldWhile(result));
  const thread = reply.rejoined ? await reread(drive) : { version: reply.version, state: result.state, weight };
  if (!outcome) {
    say(drive, events, told);
    return {
      done: false,
      progress: {
        ...progress,
        ...thread,
        nodes: result.next,
        step: progress.step + 1,
        pending: nothing,
        added: addedBy(progress, result),
        visits,
        carry: result.carry,
        answers: undefined,
      },
    };
  }
  const { state } = thread;
  const isLarge = thread.weight.messages > largeContext;
  if (isLarge) await nextTurn();
  const last = events.end(toInvokeResult(drive.claimed, { ...outcome, state }, at), at);
  if (isLarge) await nextTurn();
  const written = append(drive, events, [...told, last]);
  return {
    done: true,
    driven: { thread, told: written, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) },
  };
}

/** Where an ended run leaves its thread: one that waits in a sub-graph waits at that one's nodes, too. */
const placesOf = ({ status }: Outcome, { next, carry }: StepResult): readonly string[] =>
  status === 'interrupted' ? [...next, ...innerPlaces(carry)] : [];

/** The end of a run with a larger context is written in turns of its own: others are not held up by all of it at once. */
const largeContext = 1024 * 1024;

const rereadTimeoutMs = 30_000;

/** The state as the record has it, of the version that this worker has just made. */
const reread = async ({ owner, claimed, threads, graph }: Drive): Promise<HotThread> =>
  fromState(graph, await threads.getState({ owner, threadId: claimed.threadId }, within(rereadTimeoutMs)));

/** What a step told while it ran: the pieces of the messages that it streamed. */
const toldWhile = ({ streamed }: StepResult): ToldStep => ({
  message: (id) => (streamed.has(id) ? allPiecesTold : nothingTold),
  has: () => false,
});

/** What the run has added to the log so far, as the log has it: what replaced an older message is none of it. */
function addedBy({ added, state }: Progress, { delta: { messages, mayReplace } }: StepResult): Added {
  if (!mayReplace) return keepNewest([...added.messages, ...messages], added);
  const own = new Set(added.messages.map(({ message_id: id }) => id));
  const older = new Set(state.context.map(({ message_id: id }) => id).filter((id) => !own.has(id)));
  const fresh = messages.filter(({ message_id: id }) => !older.has(id));
  return keepNewest(withMessages(added.messages, fresh, true), added);
}

const nothing: Delta = { fields: {}, messages: [], mayReplace: false, removed: [] };

function joinDeltas(first: Delta, second: Delta): Delta {
  if (first === nothing) return second;
  return {
    fields: { ...first.fields, ...second.fields },
    messages: [...first.messages, ...second.messages],
    mayReplace: first.mayReplace || second.mayReplace,
    removed: [...first.removed, ...second.removed],
  };
}

const count = ({ visits, nodes }: Progress): ReadonlyMap<string, number> => {
  const counted = new Map(visits);
  for (const node of nodes) counted.set(node, (counted.get(node) ?? 0) + 1);
  return counted;
};

/** How the run ends with this step, if it does. */
function outcomeOf(
  { options }: Drive,
  progress: Progress,
  result: StepResult,
  visits: ReadonlyMap<string, number>,
): Outcome | undefined {
  const iterations = Math.max(...visits.values());
  const added = addedBy(progress, result);
  const recursionLimitReached =
    !result.waiting && result.next.some((node) => (visits.get(node) ?? 0) >= options.recursionLimit);
  if (!result.waiting && !recursionLimitReached && result.next.length > 0) return undefined;
  const asksCaller =
    !recursionLimitReached && openCalls(result.state.context).some(({ type }) => type === 'remote_tool_call');
  const interrupts = recursionLimitReached ? [] : result.interrupts;
  return {
    status: asksCaller || interrupts.length > 0 ? 'interrupted' : 'completed',
    interrupts,
    iterations,
    recursionLimitReached,
    added,
    state: result.state,
  };
}

async function fail(
  drive: Drive,
  events: EventWriter,
  progress: Progress | undefined,
  failure: RunFailure,
): Promise<Driven> {
  const { code, message, node } = failure;
  const error = { code, message, ...(node === undefined ? {} : { node }) };
  const at = Date.now();
  const visits = progress ? count(progress) : new Map<string, number>();
  const iterations = Math.max(0, ...visits.values());
  const end = { status: 'failed', iterations, recursionLimitReached: false, error } as const;
  const { reply } = await commitFailure(drive, progress, { end, at });
  const last = events.write('error', toEventError(error), node === undefined ? {} : { node }, { at });
  const told = append(drive, events, [last]);
  return { failure, told, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) };
}

/** The last commit of a run that failed: what came with its input is kept, unless that is what is too large. */
async function commitFailure(
  { owner, claimed, threads, run: { signal }, onAway }: Drive,
  progress: Progress | undefined,
  ended: Pick<StepCommit, 'end' | 'at'>,
): ReturnType<typeof commitStep> {
  const who = { owner, claimed, threads, signal, onAway, ...ended };
  if (!progress) {
    // A run that could not begin leaves the thread as its claim found it.
    const { next, openCalls: open, step: first } = claimed;
    const place = { step: first, nodes: [] };
    return commitStep({ ...who, ...unread, place, delta: nothing, next, openCalls: open, openInterrupts: [] });
  }
  const { pending, state, weight } = progress;
  const { context } = state;
  // No node of the step has come to its end: nothing of this commit is told but the failure.
  const place = { step: progress.step, nodes: [] };
  const rest = { ...who, place, next: [], openCalls: openOf(state), openInterrupts: [], weight, context };
  try {
    return await commitStep({ ...rest, delta: pending });
  } catch (error) {
    if (error instanceof RunFailure) return commitStep({ ...rest, delta: nothing });
    throw error;
  }
}

const unread: Pick<StepCommit, 'weight' | 'context'> = { weight: { messages: 0, fields: {} }, context: [] };

const openOf = ({ context }: EngineState): OpenCall[] =>
  openCalls(context).map(({ id, name }) => ({ callId: id, name }));
