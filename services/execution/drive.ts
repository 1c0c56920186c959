import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type {
  ClaimedRun,
  CommitStepReply,
  MessageEntry,
  OpenCall,
  RunEnd,
  Threads,
} from '@agent-workflow/protos/threads';
import { openCalls } from './engine/calls.ts';
import type { RunContext } from './engine/context.ts';
import { RunFailure } from './engine/failure.ts';
import type { CompiledGraph } from './engine/graph.ts';
import { mergeOutputs, type Delta, type NodeOutput } from './engine/merge.ts';
import type { EngineState } from './engine/state.ts';
import { entryNodes, runStep, type StepResult } from './engine/step.ts';
import { createEventWriter, type EventWriter } from './events.ts';
import { claimedState, type HotThread } from './hot-threads.ts';
import { toInvokeResult, type Outcome } from './outcome.ts';
import type { RunOptions } from './options.ts';

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
  /** Appends to the run's log. Resolves when followers may see the events. */
  readonly append: (after: number, events: readonly RunEvent[]) => Promise<void>;
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

/** How long one commit may take before the record counts as away, in milliseconds. */
const commitTimeoutMs = 30_000;

/** Where a run stands between two steps. */
interface Progress {
  readonly state: EngineState;
  readonly bytes: number;
  readonly nodes: readonly string[];
  readonly step: number;
  /** Changes that came with the input and wait for the first commit. */
  readonly pending: Delta;
  readonly added: readonly Message[];
  readonly visits: ReadonlyMap<string, number>;
}

interface Commit {
  readonly progress: Progress;
  readonly delta: Delta;
  readonly state: EngineState;
  readonly next: readonly string[];
  readonly openCalls?: readonly OpenCall[];
  readonly end?: RunEnd;
  readonly at: number;
}

/**
 * Runs a claimed run to its end: steps, each committed behind the fence before anything is said of it, then the last event.
 * @throws Stale when another worker or a stop has taken the run: nothing more is to be said of it here.
 */
export async function driveRun(drive: Drive): Promise<Driven> {
  const { claimed, run } = drive;
  const { runId, threadId, requestId } = claimed;
  const events = createEventWriter({ runId, threadId, requestId }, 0);
  say(drive, events, [
    events.write('metadata', {
      request_id: requestId,
      thread_id: threadId,
      run_id: runId,
      is_new_thread: claimed.isNewThread,
    }),
    events.write('on_chain_start', {}),
  ]);
  let progress: Progress | undefined;
  try {
    progress = begin(drive);
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

function say({ append }: Drive, events: EventWriter, list: readonly RunEvent[]): void {
  if (list.length === 0) return;
  // A log that cannot be written holds up no run: its last append is awaited and reported.
  append(events.last() - list.length, list).catch(() => undefined);
}

function begin({ claimed, graph, options, remembered }: Drive): Progress {
  const hot = claimedState(graph, claimed, remembered);
  const [unmatched] = claimed.unmatchedAnswers;
  if (unmatched !== undefined)
    throw new RunFailure('BAD_REQUEST', `messages: no open tool call has the id "${unmatched}"`);
  const given = { node: 'initial_state', fields: options.initialState, messages: [], mayReplace: false };
  const { state, delta } = mergeInitial(graph, hot.state, given);
  const nodes = claimed.next.length > 0 ? claimed.next : entryNodes(graph, state);
  return { state, bytes: hot.bytes, nodes, step: claimed.step, pending: delta, added: [], visits: new Map() };
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
  say(
    drive,
    events,
    progress.nodes.map((node) =>
      events.write('on_chain_stream', { node, step: progress.step, status: 'started' }, { node, step: progress.step }),
    ),
  );
  return runStep({
    graph,
    nodes: progress.nodes,
    number: progress.step,
    state: progress.state,
    run,
    isRemote: drive.isRemote,
    onPiece: (node, piece) => {
      if (!run.signal.aborted) say(drive, events, [events.piece(node, progress.step, piece)]);
    },
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
  };
  const next = outcome && outcome.status !== 'interrupted' ? [] : result.next;
  const { reply, bytes } = await commit(drive, {
    progress,
    delta,
    state: result.state,
    next,
    at,
    ...(end ? { end } : {}),
  });

  const told = tellStep(events, drive.claimed.granularity, progress, {
    delta,
    streamed: result.streamed,
    state: result.state,
    at,
  });
  const thread: HotThread = { version: reply.version, state: result.state, bytes: progress.bytes + bytes };
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
      },
    };
  }
  const last = events.write('on_chain_end', toInvokeResult(drive.claimed, outcome, at), {}, { at });
  const written = drive.append(events.last() - told.length - 1, [...told, last]);
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
  return {
    status: asksCaller ? 'interrupted' : 'completed',
    iterations,
    recursionLimitReached,
    added,
    state: result.state,
  };
}

interface Told {
  readonly delta: Delta;
  readonly streamed: ReadonlySet<string>;
  readonly state: EngineState;
  readonly at: number;
}

/** What a committed step is told with: whole messages, changes of state and context, and that it is over. */
function tellStep(
  events: EventWriter,
  granularity: string,
  progress: Progress,
  { delta, streamed, state, at }: Told,
): RunEvent[] {
  const place = { step: progress.step, ...(progress.nodes.length === 1 ? { node: progress.nodes[0] ?? '' } : {}) };
  const told = delta.messages.flatMap((message) =>
    events.message(message, place, at, streamed.has(message.message_id)),
  );
  if (granularity !== 'low') {
    const changed = Object.fromEntries(Object.keys(delta.fields).map((name) => [name, state.values[name]]));
    if (Object.keys(changed).length > 0) told.push(events.write('state_chunk', changed, place, { at, state: changed }));
    if (delta.messages.length > 0)
      told.push(events.write('context_chunk', { messages: delta.messages, removed: [] }, place, { at }));
  }
  if (granularity === 'full' && delta.fields['context_summary'] !== undefined) {
    told.push(events.write('summary_chunk', state.values['context_summary'], place, { at }));
  }
  for (const node of progress.nodes) {
    told.push(
      events.write(
        'on_chain_stream',
        { node, step: progress.step, status: 'completed' },
        { node, step: progress.step },
        { at },
      ),
    );
  }
  return told;
}

async function commit(
  drive: Drive,
  { progress, delta, state, next, openCalls: open = openOf(state), end, at }: Commit,
): Promise<{ readonly reply: CommitStepReply; readonly bytes: number }> {
  const { owner, claimed, threads } = drive;
  const messages: MessageEntry[] = delta.messages.map((message) => ({
    messageId: message.message_id,
    json: Buffer.from(JSON.stringify(message)),
  }));
  const fields = Object.fromEntries(Object.entries(delta.fields).map(([name, json]) => [name, Buffer.from(json)]));
  const bytes = weigh(messages, fields, progress.nodes);
  const reply = await threads.commitStep(
    {
      owner,
      threadId: claimed.threadId,
      runId: claimed.runId,
      epoch: claimed.epoch,
      step: progress.step,
      at,
      fields,
      messages,
      replacesMessages: delta.mayReplace,
      removedFromContext: [],
      nodes: progress.nodes,
      next,
      openCalls: open,
      ...(end ? { end } : {}),
    },
    within(commitTimeoutMs),
  );
  return { reply, bytes };
}

const openOf = ({ context }: EngineState): OpenCall[] =>
  openCalls(context).map(({ id, name }) => ({ callId: id, name }));

/** What a step adds, in bytes. @throws RunFailure when a message or the whole step is over its bound. */
function weigh(
  messages: readonly MessageEntry[],
  fields: Readonly<Record<string, Uint8Array>>,
  nodes: readonly string[],
): number {
  const node = nodes.length === 1 && nodes[0] !== undefined ? { node: nodes[0] } : {};
  const heavy = messages.find(({ json }) => json.byteLength > sizes.message);
  if (heavy)
    throw new RunFailure(
      'NODE_ERROR',
      `a message of ${String(heavy.json.byteLength)} bytes is over the bound of ${String(sizes.message)}`,
      node,
    );
  const state = Object.values(fields).reduce((sum, json) => sum + json.byteLength, 0);
  if (state > sizes.state)
    throw new RunFailure(
      'NODE_ERROR',
      `state fields of ${String(state)} bytes are over the bound of ${String(sizes.state)}`,
      node,
    );
  const total = messages.reduce((sum, { json }) => sum + json.byteLength, state);
  if (total > sizes.step)
    throw new RunFailure(
      'NODE_ERROR',
      `a step of ${String(total)} bytes is over the bound of ${String(sizes.step)}`,
      node,
    );
  return total;
}

const noState: EngineState = { values: {}, context: [] };

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
  const { claimed } = drive;
  // A run that could not begin leaves the thread as its claim found it.
  const start = { state: noState, bytes: 0, nodes: [], step: claimed.step, pending: nothing, added: [], visits };
  const { reply } = progress
    ? await commit(drive, { progress, delta: progress.pending, state: progress.state, next: [], end, at })
    : await commit(drive, {
        progress: start,
        delta: nothing,
        state: noState,
        next: claimed.next,
        openCalls: claimed.openCalls,
        end,
        at,
      });
  const last = events.write('error', error, node === undefined ? {} : { node }, { at });
  const told = drive.append(events.last() - 1, [last]);
  return { failure, told, ...(reply.nextRunId === undefined ? {} : { nextRunId: reply.nextRunId }) };
}
