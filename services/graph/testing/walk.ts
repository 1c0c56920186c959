import { fakeMemory } from './fake-memory.ts';
import { withStrictRoutes } from './strict-routes.ts';
import { type CallBlock, type Message, answeredCalls, callsOf } from '@agent-workflow/protos/message';
import type { RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { isAsleep } from '../run/asleep.ts';
import type { Continuation } from '../run/continuation.ts';
import { heldOutputs, mergeHeld } from '../run/held.ts';
import type { Interrupt } from '../run/interrupt.ts';
import { lateWords, type LateCall } from '../run/late-call.ts';
import { enterGraph, runStep } from '../run/step.ts';
import { beginTogether } from '../run/begin-together.ts';
import { refuseLargeRest } from '../run/step-bounds.ts';
import type { Step, StepResult } from '../run/super-step.ts';
import { noUsage, type Usage } from '@agent-workflow/protos/usage';
import { sumBounded } from '../state/usage.ts';
import { allOpenCalls } from '../state/calls.ts';
import { defaultValues } from '../state/merge.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';
import { deepFreeze, type EngineState } from '../state/state.ts';
import { requireGraph, requireMessages, requireValidFrom } from './given-walk.ts';
import { recordEvents, type WalkEvent } from './walk-events.ts';
import { newId } from '@agent-workflow/kit/ids';
import { toStrictJson } from '../state/json-value.ts';

/** The result of a walk, from which another walk can continue. It is JSON, except members that are `undefined`. */
export interface Walked {
  readonly state: EngineState;
  /** The nodes of each step. */
  readonly steps: readonly (readonly string[])[];
  readonly next: readonly string[];
  readonly continuation: Continuation | undefined;
  readonly waiting: boolean;
  /** The open questions; none when it waits for remote tools alone. */
  readonly interrupts: readonly Interrupt[];
  /** The tool calls without a result: those of remote tools that it waits for are among them. */
  readonly openCalls: readonly CallBlock[];
  /** Why the walk ended: the graph has no node left to run, waits for its caller, sleeps, or has run `maxSteps` steps. */
  readonly ended: 'done' | 'waiting' | 'sleeping' | 'max_steps';
  /** Set when all of `next` sleep: the time at which the first of them continues, in milliseconds since 1970. */
  readonly wakeAt?: number;
  /** What the clock of the walk showed at its end, in milliseconds since 1970. */
  readonly time: number;
  /** The tokens that the nodes and tools of this walk reported, by model. */
  readonly usage: Usage;
  /** What was published while the nodes ran, in its order. */
  readonly events: readonly WalkEvent[];
  /**
   * The number of the run in its thread, from 1. Each walk is a run of its own, so idempotency keys of two of them differ; one that goes on
   * after a sleep is the same run.
   */
  readonly turn: number;
  /** How many steps of the same run the walks before made. */
  readonly stepsBefore: number;
}

type Hooks = Partial<
  Pick<
    Step,
    | 'answeredBy'
    | 'branchRecords'
    | 'isRemote'
    | 'onChunk'
    | 'onFault'
    | 'onProgress'
    | 'onRestart'
    | 'onUsage'
    | 'toolCallRecords'
  >
>;

export interface WalkOptions extends Hooks, GivenAnswers {
  /**
   * The result of an earlier walk of the same thread. Where that one waits and this one brings an answer, or it stopped at `maxSteps`,
   * this one continues there; else this one is the next turn and begins at START. Absent: a new thread.
   */
  readonly from?: Walked;
  /** Messages that are in the context before the first step. */
  readonly context?: readonly Message[];
  readonly run?: Partial<RunContext>;
  /**
   * What the clock by which nodes sleep shows at the beginning, in milliseconds since 1970: the end of the walk before or, in a new
   * thread, now. It does not move while nodes run, and jumps to the end of a sleep.
   */
  readonly time?: number;
  /** Whether the walk ends where all nodes sleep; it goes on at once unless set. */
  readonly stopsAsleep?: boolean;
  /** The walk ends after this number of steps: 100 unless given. */
  readonly maxSteps?: number;
}

/**
 * Runs a graph step by step until it ends or waits for its caller, for tests of graphs: no thread, worker or store is needed. The
 * continuation is turned into JSON and back between two steps, as the service does it. A sleep takes no time.
 * @throws RunFailure when the run fails; Error when an answer or a tool message answers nothing that is open, or what is given is no
 * compiled graph, no list of messages, no walk, or an option that there is not.
 */
export async function walk(graph: CompiledGraph, options: WalkOptions = {}): Promise<Walked> {
  const begun = beginWalk(graph, options);
  // A graph whose nodes run by themselves begins its first one in this turn.
  let walked = begun instanceof Promise ? await begun : begun;
  while (!isOver(walked, options)) walked = await walkStep(graph, walked, options);
  return endedAs(walked, options);
}

const optionNames: Readonly<Record<keyof WalkOptions, true>> = {
  from: true,
  context: true,
  answer: true,
  answers: true,
  run: true,
  time: true,
  stopsAsleep: true,
  maxSteps: true,
  isRemote: true,
  answeredBy: true,
  branchRecords: true,
  toolCallRecords: true,
  onChunk: true,
  onFault: true,
  onProgress: true,
  onRestart: true,
  onUsage: true,
};

/** A walk that reached its number of steps, and not only a sleep, says so. */
const endedAs = (walked: Walked, { stopsAsleep = false }: WalkOptions): Walked =>
  walked.ended === 'sleeping' && !stopsAsleep ? { ...walked, ended: 'max_steps' } : walked;

/** The walk before its first step. */
export function beginWalk(graph: CompiledGraph, options: WalkOptions): Walked | Promise<Walked> {
  requireObject('what walk is given after the graph', options);
  const { from, context: input = [], time, ...given } = options;
  refuseUnknown('what walk is given', '', options, optionNames);
  requireGraph(graph);
  requireMessages(input);
  requireValidFrom(from);
  if (time !== undefined && !Number.isFinite(time)) throw new RangeError('time is a number of milliseconds since 1970');
  if (from?.wakeAt !== undefined && input.length > 0)
    throw new Error('the thread sleeps: in the service a new message waits until the run that sleeps has ended');
  // As in the service, a field that the graph of the walk before did not have has its default.
  const values = { ...defaultValues(graph.fields), ...from?.state.values };
  const before = { values, context: from?.state.context ?? [] };
  const answers = readGivenAnswers(given, from?.interrupts ?? []);
  const isAnswer = Object.keys(answers).length > 0;
  const { cancelled, beginsAnew } = readTurn(from, input, isAnswer);
  const continues = from !== undefined && from.next.length > 0 && !(from.waiting && beginsAnew);
  const found = { ...before, context: [...before.context, ...cancelled] };
  const left = continues ? found : mergeLeft(graph, found, from?.continuation, given);
  const whole = deepFreeze({ ...left, context: [...left.context, ...input] });
  refuseUnknownResults(whole.context);
  // A run that sleeps goes on as the same one.
  const isSame = continues && from.wakeAt !== undefined;
  const run = isSame
    ? { turn: from.turn, stepsBefore: from.stepsBefore + from.steps.length }
    : { turn: (from?.turn ?? 0) + 1, stepsBefore: 0 };
  const nothing = { steps: [], waiting: false, interrupts: [], openCalls: [], events: [], usage: noUsage };
  const clock = { time: time ?? from?.time ?? Date.now() };
  const enter = (state: EngineState): Walked => {
    const { nodes: next, continuation } = continues
      ? { nodes: from.next, continuation: from.continuation }
      : enterGraph(withStrictRoutes(graph), state);
    return { ...nothing, ...run, ...clock, state, next, continuation, ended: endOf({ next, waiting: false }) };
  };
  if (continues || !graph.steps) return enter(whole);
  const context = { ...nobody, tools: graph.tools, ...given.run };
  return beginTogether(graph, whole, context).then((begun) => enter(begun?.state ?? whole));
}

/** As in the service, a new turn merges what the step before it held. */
function mergeLeft(
  { fields }: CompiledGraph,
  before: EngineState,
  continuation: Continuation | undefined,
  { onFault }: Hooks,
): EngineState {
  const outputs = heldOutputs(continuation);
  if (outputs.length === 0) return before;
  return mergeHeld(fields, before, outputs, (error) => onFault?.({ node: error.node ?? '', attempt: 1, error })).state;
}

/** Whether no further step follows. */
export const isOver = (
  { next, waiting, steps, wakeAt = 0, time }: Walked,
  { maxSteps = 100, stopsAsleep = false }: Pick<WalkOptions, 'maxSteps' | 'stopsAsleep'>,
): boolean => next.length === 0 || waiting || steps.length >= maxSteps || (stopsAsleep && wakeAt > time);

/** The walk after one more step. */
export async function walkStep(graph: CompiledGraph, walked: Walked, options: WalkOptions): Promise<Walked> {
  const { next: nodes, steps, state, events, turn, stepsBefore } = walked;
  const { from, context: _, answers, answer, maxSteps: __, time: ___, stopsAsleep: ____, run, ...hooks } = options;
  const number = stepsBefore + steps.length + 1;
  const at = Math.max(walked.time, walked.wakeAt ?? 0);
  const continuation = throughJson(walked.continuation);
  const published: WalkEvent[] = [];
  let { usage } = walked;
  const given = { ...(answers && { answers }), ...('answer' in options && { answer }) };
  const result = await runStep({
    ...{ isRemote: isRemoteIn(graph), ...hooks },
    ...{ graph: withStrictRoutes(graph), nodes, number, state, continuation, at, now: () => at },
    ...recordEvents(published, number, hooks),
    onLate: refuseLate,
    onUsage: (one) => {
      usage = sumBounded(usage, [one]);
      hooks.onUsage?.(one);
    },
    // As in the service, the first step alone gets them.
    answers: number === 1 ? readGivenAnswers(given, from?.interrupts ?? []) : {},
    run: { ...nobody, runId: turn === 1 ? 'run' : `run-${String(turn)}`, tools: graph.tools, ...run },
  });
  refuseLarge(nodes, result);
  const ran = nodes.filter((node) => !isAsleep(continuation, node, at));
  const added = { steps: [...steps, ran], events: [...events, ...published] };
  return { ...partsOf(result), ...added, time: at, turn, stepsBefore, usage };
}

/** It is thrown where the node or the tool publishes: the walk may have ended by then. The service drops what is published, and logs it. */
function refuseLate({ node, tool, what }: LateCall): never {
  throw new Error(`${tool === undefined ? `node "${node}"` : `tool "${tool}" of node "${node}"`} ${lateWords[what]}`);
}

const partsOf = ({
  state,
  next,
  continuation,
  waiting,
  interrupts,
  openCalls,
  wakeAt,
}: StepResult): Omit<Walked, 'steps' | 'events' | 'turn' | 'stepsBefore' | 'time' | 'usage'> => ({
  ...{ state, next, continuation, waiting, interrupts },
  ...(wakeAt !== undefined && { wakeAt }),
  openCalls: allOpenCalls(state.context, openCalls),
  ended: endOf({ next, waiting, wakeAt }),
});

/** A walk with nodes left to run, and which nobody continues, has reached its number of steps. */
function endOf({
  next,
  waiting,
  wakeAt,
}: Pick<Walked, 'next' | 'waiting'> & { readonly wakeAt?: number | undefined }): Walked['ended'] {
  if (waiting) return 'waiting';
  if (wakeAt !== undefined) return 'sleeping';
  return next.length === 0 ? 'done' : 'max_steps';
}

/** Refuses what a commit of the step would refuse. */
function refuseLarge(nodes: readonly string[], { continuation, interrupts, next, openCalls, state }: StepResult): void {
  refuseLargeRest(nodes, {
    continuationBytes: continuation ? bytesOf(continuation) : 0,
    questionBytes: interrupts.length === 0 ? 0 : bytesOf(interrupts),
    questionIds: interrupts.map(({ id }) => id),
    calls: allOpenCalls(state.context, openCalls),
    next,
  });
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const throughJson = (continuation: Continuation | undefined): Continuation | undefined =>
  continuation && (JSON.parse(JSON.stringify(continuation)) as Continuation);

/** Of the tools, those are remote that the graph declares as remote. */
const isRemoteIn =
  ({ tools }: CompiledGraph): Step['isRemote'] =>
  (name) =>
    tools.some((tool) => tool.name === name && tool.run === undefined);

const noFiles = (): Promise<never> =>
  Promise.reject(new Error('a walk has no files: give it run: { files: fakeFiles() }'));

const noMemory = (): Promise<never> =>
  Promise.reject(new Error('a walk has no memory: give it run: { memory: fakeMemory() }'));

/** The context of a run without user, config, context, memories and files. */
export const nobody: RunContext = {
  runId: 'run',
  threadId: 'thread',
  signal: new AbortController().signal,
  config: {},
  context: {},
  user: {},
  memory: {
    ...fakeMemory(),
    store: noMemory,
    storeAll: noMemory,
  },
  files: {
    read: noFiles,
    write: noFiles,
  },
  tools: [],
};

/**
 * The calls that a turn cancels, and whether it begins at START though the turn before waits. As in the service, a message of a user
 * that answers nothing cancels the open calls and drops the open questions; what the step before holds comes between `cancelled` and what it adds.
 */
function readTurn(before: Pick<Walked, 'openCalls'> | undefined, input: readonly Message[], isAnswer: boolean) {
  const isNew = input.some(({ role }) => role !== 'tool');
  const results = input.filter(({ role }) => role === 'tool');
  if (!before || !isNew || isAnswer) return { cancelled: [], beginsAnew: false };
  const answered = new Set(results.flatMap(answeredCalls));
  const open = before.openCalls.filter(({ id }) => !answered.has(id));
  return {
    cancelled: open.map(cancellation),
    beginsAnew: results.length === 0 || open.length > 0,
  };
}

const cancellation = ({ id, name }: CallBlock): Message => ({
  message_id: newId(),
  role: 'tool',
  content: [
    {
      ...{ type: 'tool_result', call_id: id, output: `The call of ${name} was cancelled.` },
      ...{ status: 'cancelled', is_error: true },
    },
  ],
  timestamp: new Date().toISOString(),
});

/** The answers of a caller to what a walk before left open. */
interface GivenAnswers {
  /** Answers to open questions, by their ids. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** The answer to the one question that is open. */
  readonly answer?: unknown;
}

/**
 * The answers by the ids of their questions.
 * @throws Error when one answers no open question, or it is not clear which.
 */
function readGivenAnswers(given: GivenAnswers, open: readonly Interrupt[]): Readonly<Record<string, unknown>> {
  const answers = toStrictJson(given.answers ?? {}, 'answers') as Readonly<Record<string, unknown>>;
  const ids = open.map(({ id }) => id);
  const unknown = Object.keys(answers).find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new Error(`answers: no open question has the id "${unknown}"; ${listed(ids)}`);
  if (!('answer' in given)) return answers;
  const [only] = ids;
  if (given.answers !== undefined) throw new Error('answer and answers were both given: give one of them');
  if (only === undefined || ids.length > 1)
    throw new Error(`answer is for a walk with one open question; ${listed(ids)}: give answers by their ids`);
  return { [only]: toStrictJson(given.answer, 'answer') };
}

const listed = (ids: readonly string[]): string =>
  ids.length === 0 ? 'none is open' : `open are ${ids.map((id) => `"${id}"`).join(', ')}`;

/** @throws Error when a tool message answers a call that no message of the context makes. */
function refuseUnknownResults(context: readonly Message[]): void {
  const calls = new Set(context.flatMap(callsOf));
  const unknown = context.flatMap(answeredCalls).find((id) => !calls.has(id));
  if (unknown !== undefined) throw new Error(`context: a tool message answers "${unknown}", and no call has this id`);
}
