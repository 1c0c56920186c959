import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { ClaimedRun, OpenCall, Threads } from '@agent-workflow/protos/threads';
import { commitStep, type StepCommit, type Weight } from './commit-step.ts';
import { openCalls } from './engine/calls.ts';
import { openInterrupts, type Carry } from './engine/carry.ts';
import type { RunContext } from './engine/context.ts';
import { RunFailure } from './engine/failure.ts';
import type { CompiledGraph } from './engine/graph.ts';
import { readAnswers } from './engine/interrupt.ts';
import { mergeOutputs, type Delta, type NodeOutput } from './engine/merge.ts';
import type { EngineState } from './engine/state.ts';
import { entryNodes, runStep, type StepResult } from './engine/step.ts';
import type { EventWriter } from './events.ts';
import { claimedState, type HotThread } from './hot-threads.ts';
import { earlierOf, openEvents, toProgressJson, type Earlier } from './opening.ts';
import type { RunOptions } from './options.ts';
import { toInvokeResult, type Outcome } from './outcome.ts';
import type { RunLog } from './port.ts';
import { tellStep } from './tell-step.ts';

/** Everything one claimed run is driven with. */
export interface Drive {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly options: RunOptions;
  readonly graph: CompiledGraph;
  readonly threads: Threads;
  readonly remembered: HotThread | undefined;
  readonly run: RunContext;
  /** Whether the caller runs the tool of this name. */
  readonly isRemote: (tool: string) => boolean;
  readonly log: RunLog;
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
  readonly added: readonly Message[];
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
  const { claimed, run } = drive;
  const earlier = earlierOf(claimed);
  const { events, opening } = await openEvents(drive.log, claimed, earlier);
  say(drive, events, opening);
  let progress: Progress | undefined;
  try {
    progress = begin(drive, earlier);
    for (;;) {
      const result = await step(drive, events, progress);
      const ended = await commitResult(drive, events, progress, result);
      if (ended.done) return ended.driven;
      ({ progress } = ended);
    }
  } catch (error) {
    if (!(error instanceof RunFailure) || run.signal.aborted) throw error;
    return fail(drive, events, progress, error);
  }
}

/** Appends what was just written. Resolves when followers may see it. */
const append = ({ log, claimed }: Drive, events: EventWriter, list: readonly RunEvent[]): Promise<void> =>
  log.append(claimed.runId, events.last() - list.length, list);

function say(drive: Drive, events: EventWriter, list: readonly RunEvent[]): void {
  if (list.length === 0) return;
  // A log that cannot be written holds up no run: its last append is awaited and reported.
  append(drive, events, list).catch(() => undefined);
}

function begin({ claimed, graph, options, remembered }: Drive, { added, visits, carry }: Earlier): Progress {
  const hot = claimedState(graph, claimed, remembered);
  const [unmatched] = claimed.unmatchedAnswers;
  if (unmatched !== undefined)
    throw new RunFailure('BAD_REQUEST', `messages: no open tool call has the id "${unmatched}"`);
  if (claimed.resumeUnmatched)
    throw new RunFailure('BAD_REQUEST', 'resume: answers no question that the thread has open');
  // A commit has taken it in when an earlier claim got as far as one.
  const fields = claimed.step === 0 ? options.initialState : {};
  const given = { node: 'initial_state', fields, messages: [], mayReplace: false };
  const { state, delta } = mergeInitial(graph, hot.state, given);
  const nodes = claimed.next.length > 0 ? claimed.next : entryNodes(graph, state);
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
      throw new RunFailure('BAD_REQUEST', `initial_state: ${error.message}`, { cause: error });
    throw error;
  }
}

async function step(drive: Drive, events: EventWriter, progress: Progress): Promise<StepResult> {
  const { graph, run } = drive;
  const { nodes, step: number } = progress;
  const begun = statusOf(drive.claimed, number);
  say(
    drive,
    events,
    nodes.map((node) => events.write('on_chain_stream', { node, step: number, ...begun }, { node, step: number })),
  );
  return runStep({
    graph,
    nodes: progress.nodes,
    number: progress.step,
    state: progress.state,
    run,
    carry: progress.carry,
    answers: progress.answers,
    isRemote: drive.isRemote,
    onRestart: (node, attempt) => {
      const data = { node, step: number, status: 'restarted', attempt };
      if (!run.signal.aborted) say(drive, events, [events.write('on_chain_stream', data, { node, step: number })]);
    },
    onPiece: (node, piece) => {
      if (!run.signal.aborted) say(drive, events, [events.piece(node, progress.step, piece)]);
    },
  });
}

/** A step that an earlier claim had begun and not committed runs again: what it streamed then was dropped. */
const statusOf = ({ isTakeover, attempt, step: first }: ClaimedRun, number: number): Record<string, unknown> =>
  isTakeover && number === first ? { status: 'restarted', attempt } : { status: 'started' };

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
  const next = outcome && outcome.status !== 'interrupted' ? [] : result.next;
  const { owner, claimed, threads } = drive;
  const { reply, weight } = await commitStep({
    owner,
    claimed,
    threads,
    place: progress,
    delta,
    next,
    openCalls: openOf(result.state),
    openInterrupts: result.interrupts.map(({ id }) => id),
    weight: progress.weight,
    at,
    ...(end ? { end } : {}),
    ...(next.length === 0 ? {} : { progressJson: toProgressJson(visits, result.carry) }),
  });
  const told = tellStep(events, drive.claimed.granularity, progress, {
    delta,
    streamed: result.streamed,
    state: result.state,
    at,
  });
  const thread: HotThread = { version: reply.version, state: result.state, weight };
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
        added: [...progress.added, ...result.delta.messages],
        visits,
        carry: result.carry,
        answers: undefined,
      },
    };
  }
  const last = events.write('on_chain_end', toInvokeResult(drive.claimed, outcome, at), {}, { at });
  const written = append(drive, events, [...told, last]);
  return {
    done: true,
    driven: { thread, told: written, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) },
  };
}

const nothing: Delta = { fields: {}, messages: [], mayReplace: false };

function joinDeltas(first: Delta, second: Delta): Delta {
  if (first === nothing) return second;
  return {
    fields: { ...first.fields, ...second.fields },
    messages: [...first.messages, ...second.messages],
    mayReplace: first.mayReplace || second.mayReplace,
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
  const added = [...progress.added, ...result.delta.messages];
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
  const end = { status: 'failed', iterations: Math.max(0, ...visits.values()), recursionLimitReached: false, error };
  const { reply } = await commitFailure(drive, progress, { end, at });
  const last = events.write('error', error, node === undefined ? {} : { node }, { at });
  const told = append(drive, events, [last]);
  return { failure, told, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) };
}

/** The last commit of a run that failed: what came with its input is kept, unless that is what is too large. */
async function commitFailure(
  { owner, claimed, threads }: Drive,
  progress: Progress | undefined,
  ended: Pick<StepCommit, 'end' | 'at'>,
): ReturnType<typeof commitStep> {
  const who = { owner, claimed, threads, ...ended };
  if (!progress) {
    // A run that could not begin leaves the thread as its claim found it.
    const { next, openCalls: open, step: first } = claimed;
    const place = { step: first, nodes: [] };
    return commitStep({ ...who, place, delta: nothing, next, openCalls: open, openInterrupts: [], weight: weightless });
  }
  const { pending, state, weight } = progress;
  const rest = { ...who, place: progress, next: [], openCalls: openOf(state), openInterrupts: [], weight };
  try {
    return await commitStep({ ...rest, delta: pending });
  } catch (error) {
    if (error instanceof RunFailure) return commitStep({ ...rest, delta: nothing });
    throw error;
  }
}

const weightless: Weight = { messages: 0, fields: {} };

const openOf = ({ context }: EngineState): OpenCall[] =>
  openCalls(context).map(({ id, name }) => ({ callId: id, name }));
