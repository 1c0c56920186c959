import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { answeredCalls, isCall, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import { runAttempts } from './attempt.ts';
import { openCalls } from '../state/calls.ts';
import { earliest } from './asleep.ts';
import { chunksBeforeCommit, chunksOfWhole, collectEmitted } from './emitted-messages.ts';
import { isDate, longestMs } from '../state/deadline.ts';
import {
  givenTo,
  type Continuation,
  type PendingInterrupt,
  type PendingSleep,
  type NodeResult,
} from './continuation.ts';
import type { NodeContext, RunContext, ToolContext } from '../build/context.ts';
import { failureAt, failureOfCode, isRunFailure, readable, RunFailure } from '../state/failure.ts';
import type { AnyNode, NodeFunction } from '../build/graph.ts';
import { keyOf } from './keys.ts';
import type { LateCall } from './late-call.ts';
import { createInterruptScope, hasLeft, inInterruptScope, type InterruptScope } from './interrupt.ts';
import { promisePlace, toJsonValue } from '../state/json-value.ts';
import { boundProviderData, toMessages, type MessageChunk } from '../state/message.ts';
import { nameOfClass } from '../state/name-of.ts';
import { withInterrupts, withReplays, withUsage } from './tool-call-records.ts';
import { NodeTimeout } from '../build/policy.ts';
import { foreignSchemaFault } from '../state/schema.ts';
import type { NewMessage } from '../state/state.ts';
import type { Step, RunStep } from './super-step.ts';
import { runSubgraph } from './subgraph.ts';
import type { Tool, ToolNode } from '../build/tool.ts';
import type { NodePolicy } from '../build/policy.ts';
import type { SpanOutput, SpanStatus } from '@agent-workflow/protos/run-trace';
import { totalOf, type Usage } from '@agent-workflow/protos/usage';
import { runTraced } from '../trace/current-span.ts';
import { failSpan, shownError, thrownError } from '../trace/span-error.ts';
import type { Span, SpanFacts } from '../trace/step-trace.ts';
import { answerCall, refuseCall } from './tools.ts';
import { openUsageReports } from './usage-reports.ts';

/**
 * Runs one node of a step under its policy. `runStep` runs the steps of a sub-graph.
 * @throws RunFailure naming the node.
 */
export async function runNode(step: Step, name: string, runStep: RunStep): Promise<NodeResult> {
  const node = step.graph.nodes.get(name);
  if (!node) throw unknownNode(name);
  const policy = step.graph.policies.get(name);
  const { signal } = step.run;
  // A branch has a span already.
  const span = step.branch === undefined ? step.span?.begin('node', { name }) : step.span;
  try {
    return endSpan(span, await runByPolicy({ ...step, span }, name, { node, policy, runStep }));
  } catch (error) {
    const failure = signal.aborted ? error : toFailure(step, name, error);
    failSpan(span, failure, signal);
    throw failure;
  }
}

/** A thread may stand before a node that a new release of the graph lacks. */
export const unknownNode = (name: string): RunFailure =>
  new RunFailure('GraphFailed', `the graph has no node "${name}"`, { node: name });

interface ByPolicy {
  readonly node: AnyNode;
  readonly policy: NodePolicy | undefined;
  readonly runStep: RunStep;
}

function runByPolicy(step: Step, name: string, { node, policy, runStep }: ByPolicy): Promise<NodeResult> {
  if (!policy) return runAttempt(step, name, node, runStep);
  const { signal } = step.run;
  const onRestart = (attempt: number, error: unknown): void => {
    step.onFault?.({ node: name, attempt: attempt - 1, error });
    step.onRestart?.(name, attempt);
  };
  let attempts = 0;
  return runAttempts({ policy, signal, onRestart, countsFrom: step.countsFrom }, async (own) => {
    attempts += 1;
    const span = policy.retry ? step.span?.begin('attempt', { number: attempts }) : step.span;
    const attempt = { ...step, span, run: runUnder(step, own) };
    if (!policy.retry) return runAttempt(attempt, name, node, runStep);
    let isOver = false;
    const fail = (error: unknown): void => {
      if (!isOver) failSpan(span, error, signal);
      isOver = true;
    };
    // A timeout ends the signal of the attempt alone, and its code may go on as if nothing had been.
    own.addEventListener('abort', () => fail(own.reason), { once: true });
    try {
      const result = await runAttempt(attempt, name, node, runStep);
      span?.end(statusOf(result));
      isOver = true;
      return result;
    } catch (error) {
      fail(error);
      throw error;
    }
  });
}

/** Ends the span of a node or a branch by what it has given. */
export function endSpan(span: Span | undefined, result: NodeResult): NodeResult {
  span?.end(statusOf(result), { output: outputOf(result) });
  return result;
}

const statusOf = ({ waiting, wakeAt }: NodeResult): SpanStatus | undefined =>
  waiting ? (wakeAt === undefined ? 'waiting' : 'sleeping') : undefined;

/** Ids that are noted of what a node gives. */
const mostIds = 32;

function outputOf({ outputs }: NodeResult): SpanOutput {
  const ids: string[] = [];
  const fields = new Set<string>();
  let messages = 0;
  for (const output of outputs) {
    messages += output.messages.length;
    for (const { message_id: id } of output.messages.slice(0, mostIds - ids.length)) ids.push(id);
    for (const name in output.fields) if (fields.size < mostIds) fields.add(name);
  }
  return {
    ...(messages > 0 && { ids, messages }),
    ...(fields.size > 0 && { fields: [...fields] }),
  };
}

/** The failure of a node, by what its code threw. */
export function toFailure(step: Step, name: string, error: unknown): RunFailure {
  const place = placeOf(step, name);
  if (isRunFailure(error)) return error.node === undefined ? failureAt(place, name, error) : error;
  if (!(error instanceof NodeTimeout)) return failureOfCode('NodeFailed', place, error, name);
  const message = `${place} ${error.message}`;
  return new RunFailure('NodeFailed', message, {
    ...{ node: name, cause: error },
    shown: { text: message, reason: 'timed_out' },
  });
}
/** The context of the run with this signal in place of the run's own. */
export const runUnder = ({ run, servicesUnder }: Step, signal: AbortSignal): RunContext => ({
  ...run,
  signal,
  ...servicesUnder?.(signal),
});

const placeOf = ({ branch }: Step, node: string): string =>
  branch === undefined ? `node "${node}"` : `branch ${String(branch)} of node "${node}"`;

function runAttempt(step: Step, name: string, node: AnyNode, runStep: RunStep): Promise<NodeResult> {
  if (typeof node === 'function') return runFunction(step, name, node);
  return 'nodes' in node ? runSubgraph(step, name, node, runStep) : runTools(step, name, node);
}

async function runFunction(step: Step, name: string, node: NodeFunction<Record<string, never>>): Promise<NodeResult> {
  const given = givenTo({ node: name }, step);
  if (!('earlier' in given)) return suspended(name, [given]);
  const { earlier } = given;
  const idempotencyKey = earlier.key ?? keyOf(step, name);
  const scope = createInterruptScope({ ...step, place: idempotencyKey, node: name, earlier });
  const toBlock = (block: Block): Block => markRemote(block, step);
  const { signal } = step.run;
  const life: Life = { isOver: false, hasReturned: false };
  const onChunk = (chunk: MessageChunk): void => step.onChunk(name, chunk);
  const { finish, opened, onFinish, ...messages } = collectEmitted({
    ...{ toBlock, onChunk },
    mayEmit: () => mayEmit(step, name, life),
  });
  const reports = openUsageReports({ signal, onUsage: step.onUsage, onFinish });
  const context: NodeContext = {
    ...step.run,
    ...step.servicesUnder?.(signal, idempotencyKey),
    node: name,
    step: step.number,
    ...(step.input === undefined ? {} : { input: step.input }),
    idempotencyKey,
    interrupt: scope.interrupt,
    answeredBy: scope.answeredBy,
    ...sleepCalls(scope),
    usage: reports.usage,
    ...messages,
    progress: progressIn(life, step, { node: name }),
  };
  let update: unknown;
  try {
    // A node reads a copy of the context, because `slice` of a frozen list takes fifty times as long. A change to the copy fails the node.
    const own = [...step.state.context];
    const state = Object.freeze({ ...step.state.values, context: own });
    update = await runTraced(step.span && { span: step.span, context: own }, () =>
      inInterruptScope(scope, () => node(state as never, context)),
    );
    refuseChanged(name, own, step.state.context);
  } catch (error) {
    if (!hasLeft(scope)) throw readable(error);
  } finally {
    life.isOver = true;
    reports.close();
    step.span?.note(tokensIn(reports.reported()));
  }
  const left = suspensionOf(scope, { node: name }, idempotencyKey);
  if (left) return suspended(name, [left]);
  const result = toResult(step, name, update ?? {}, { emitted: finish(), opened, toBlock });
  life.hasReturned = true;
  return result;
}

/** What a node started and did not await must not add to a message that is finished or dropped. */
export function mayEmit(step: Step, node: string, { isOver, hasReturned }: Life): boolean {
  if (step.run.signal.aborted) return false;
  if (isOver && hasReturned) step.onLate?.({ node, what: 'emit' });
  return !isOver;
}

/** Where the code of a node or of a tool call is. What it publishes once it is over is dropped, and is a mistake where it has returned. */
export interface Life {
  isOver: boolean;
  hasReturned: boolean;
}

export function progressIn(life: Life, step: Step, where: Pick<LateCall, 'node' | 'tool'>): NodeContext['progress'] {
  const { signal } = step.run;
  return (data) => {
    if (!life.isOver) {
      const custom = toJsonValue(data, 'progress()', sizes.progressEvent);
      if (!signal.aborted) step.onProgress?.(where.node, custom);
    } else if (life.hasReturned && !signal.aborted) step.onLate?.({ ...where, what: 'progress' });
  };
}

/** A change to the copy of the context would be lost silently. A node adds and removes messages by what it returns. */
function refuseChanged(node: string, own: readonly Message[], context: readonly Message[]): void {
  // Elements of a frozen list are read ten times as slowly as those of a copy of it.
  const given = [...context];
  if (own.length === given.length && own.every((message, index) => message === given[index])) return;
  throw new RunFailure(
    'NodeFailed',
    `node "${node}" changed state.context: state and context are frozen, return messages or removed_from_context`,
    { node },
  );
}

interface Made {
  readonly emitted: readonly Message[];
  readonly opened: readonly string[];
  readonly toBlock: (block: Block) => Block;
}

export function toResult(step: Step, node: string, update: object, { emitted, opened, toBlock }: Made): NodeResult {
  requireUpdate(node, update);
  const {
    messages = [],
    removed_from_context: removed,
    ...fields
  } = update as { messages?: readonly NewMessage[] } & Record<string, unknown>;
  refusePromises(node, fields);
  const whole = toMessages(messages, toBlock);
  const mayReplace = messages.some((message) => message.message_id !== undefined);
  const returned = new Set(whole.map(({ message_id: id }) => id));
  const unreturned = whole.length === 0 ? emitted : emitted.filter(({ message_id: id }) => !returned.has(id));
  const known = new Set(opened);
  const isNew = ({ message_id: id }: Message, index: number): boolean =>
    known.has(id) || String(messages[index]?.message_id) !== id;
  const chunks = chunksBeforeCommit({ emitted, whole, isNew, streamsReturned: step.streamsReturned });
  publishChunks(step, node, chunks);
  const ids = emitted.map(({ message_id: id }) => id);
  const made = [...unreturned, ...whole].map((message) =>
    boundProviderData(message, (bytes) => {
      const over = `the provider data of a message has ${bytesOver(bytes, sizes.providerData)}: it is dropped`;
      step.onFault?.({ node, error: new Error(over) });
    }),
  );
  return {
    outputs: [{ node, fields, messages: made, mayReplace, removed }],
    streamed: chunks.length === 0 ? ids : [...new Set([...ids, ...chunks.map(({ messageId }) => messageId)])],
    waiting: false,
  };
}

function publishChunks(step: Step, node: string, chunks: readonly MessageChunk[]): void {
  // The result of an attempt that was ended is dropped.
  if (step.run.signal.aborted) return;
  for (const chunk of chunks) step.onChunk(node, chunk);
}

/**
 * An object of a class without members of its own, as a Map, a Response or an async generator, would be an update of nothing. What a
 * class of the author gives is an update as long as it has members. An error is none, whatever it has.
 */
function requireUpdate(node: string, update: object): void {
  const isObject = typeof update === 'object' && !Array.isArray(update);
  const isError = update instanceof Error;
  const lost = isObject ? nameOfClass(update) : undefined;
  if (isObject && !isError && (lost === undefined || Object.keys(update).length > 0)) return;
  const what = lost === undefined ? '' : `, but ${lost}${isError ? ': throw it' : ''}`;
  throw new RunFailure('NodeFailed', `node "${node}" returned no object of fields${what}`, { node });
}

/** A forgotten `await` would store `{}`. It is searched for here, because results of branches are stored as JSON before they are merged. */
function refusePromises(node: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const place = promisePlace(value, name);
    if (place === undefined) continue;
    const where = place === name ? 'a promise' : `a promise at ${place}`;
    throw new RunFailure('NodeFailed', `field "${name}" holds ${where}: await it`, { node });
  }
}

async function runTools(step: Step, name: string, { tools }: ToolNode): Promise<NodeResult> {
  const open = callsToAnswer(step, name);
  // A call that was marked as remote stays remote, even when a later request does not declare the tool.
  const unmarked = open.filter(({ type }) => type !== 'remote_tool_call');
  const here = unmarked.filter(({ name: tool }) => !step.isRemote(tool));
  const refused = unmarked.flatMap((call) => {
    const fault = step.isRemote(call.name) ? faultOfRemote(step, call) : undefined;
    return fault === undefined ? [] : [{ message: refuseCall(call, fault) }];
  });
  if (step.streamsReturned) for (const { message } of refused) publishChunks(step, name, chunksOfWhole(message));
  const ran = await Promise.all(here.map(async (call) => runCall(step, name, tools, call)));
  const results: readonly Answered[] = [...refused, ...ran];
  const messages = results.flatMap(({ message }) => message ?? []);
  const streamed = step.streamsReturned ? messages.map(({ message_id: id }) => id) : [];
  const suspensions = results.flatMap(({ left: own }) => own ?? []);
  const answered = new Set(messages.flatMap(answeredCalls));
  const left = open.filter(({ id }) => !answered.has(id));
  const { wakeAt, ...result } = suspended(name, suspensions, messages);
  // Calls of remote tools are left without a suspension: they wait for the caller.
  const waitsForTime = wakeAt !== undefined && suspensions.length === left.length;
  return { ...result, streamed, waiting: left.length > 0, openCalls: left, ...(waitsForTime && { wakeAt }) };
}

/**
 * The open calls at the end of the context. A node that has waited for calls goes on with these, wherever they stand: branches and nodes
 * beside it may have added messages after them.
 */
function callsToAnswer({ state: { context }, continuation }: Step, node: string): readonly CallBlock[] {
  const waited = new Set(callsWaitedFor(continuation, node));
  if (waited.size === 0) return openCalls(context);
  const answered = new Set(context.flatMap(answeredCalls));
  return context
    .map(({ content }) => content.filter(isCall))
    .filter((calls) => calls.some(({ id }) => waited.has(id)))
    .flatMap((calls) => calls.filter(({ id }) => !answered.has(id)));
}

/** The calls that were open when the node last ran. */
const callsWaitedFor = ({ calls = {}, asking = [] }: Continuation = {}, node: string): readonly string[] =>
  (Object.hasOwn(calls, node) ? calls[node] : undefined) ??
  asking.flatMap(({ node: own, call }) => (own === node ? (call ?? []) : []));

/** The answer to a call, or what suspends it. */
interface Answered {
  readonly message?: Message;
  readonly left?: Suspension;
}

async function runCall(step: Step, node: string, tools: readonly Tool[], call: CallBlock): Promise<Answered> {
  const given = givenTo({ node, call: call.id }, step);
  if (!('earlier' in given)) return { left: given };
  const { earlier } = given;
  const idempotencyKey = earlier.key ?? keyOf(step, call.id);
  const scope = createInterruptScope({ ...step, place: idempotencyKey, node, earlier });
  const life: Life = { isOver: false, hasReturned: false };
  const progress = progressIn(life, step, { node, tool: call.name });
  const reports = openUsageReports({ signal: step.run.signal, onUsage: step.onUsage });
  const { usage } = reports;
  const { interrupt, answeredBy } = scope;
  const calls = { interrupt, answeredBy, progress, usage, ...sleepCalls(scope) };
  const services = step.servicesUnder?.(step.run.signal, idempotencyKey);
  const context: ToolContext = { ...step.run, ...services, callId: call.id, idempotencyKey, ...calls };
  const span = step.span?.begin('tool', { name: call.name, call: call.id });
  const onReplayed = (): void => span?.note({ replayed: true });
  const records =
    step.toolCallRecords && withInterrupts(withUsage(withReplays(step.toolCallRecords, onReplayed), reports), scope);
  let failed = false;
  const onError = (error: unknown): void => {
    failed = true;
    if (span?.keepsContent) span.add('error', thrownError(error));
    span?.note({ error: shownError(error) });
    step.onFault?.({ node, tool: call.name, callId: call.id, error });
  };
  const { onToolTurn } = step;
  const onTurn = onToolTurn && ((ms: number): void => onToolTurn(call.name, ms));
  const message = await runTraced(span && { span, context: step.state.context }, () =>
    inInterruptScope(scope, () => answerCall(tools, call, { context, records, onError, onTurn })),
  ).finally(() => {
    life.isOver = true;
    reports.close();
    if (step.run.signal.aborted) span?.end('stopped');
  });
  const left = suspensionOf(scope, { node, call: call.id }, idempotencyKey);
  life.hasReturned = !left && !failed;
  span?.end(left ? ('waits' in left ? 'waiting' : 'sleeping') : statusOfAnswer(message), tokensIn(reports.reported()));
  if (left) return { left };
  if (step.streamsReturned) publishChunks(step, node, chunksOfWhole(message));
  return { message };
}

const statusOfAnswer = ({ content: [block] }: Message): SpanStatus =>
  block?.type === 'tool_result' && block['is_error'] === true ? 'failed' : 'completed';

function tokensIn(usage: Usage): SpanFacts {
  if (usage.length === 0) return {};
  const { inputTokens, outputTokens } = totalOf(usage);
  return { tokens: [inputTokens, outputTokens] };
}

/** What suspends a node or a call: a question without an answer, or a sleep that has not ended. */
type Suspension = { readonly waits: PendingInterrupt } | { readonly sleeps: PendingSleep };

function suspensionOf(
  scope: InterruptScope,
  caller: Pick<PendingInterrupt, 'node' | 'call'>,
  key: string,
): Suspension | undefined {
  const fault = scope.fault();
  if (fault) throw fault;
  const question = scope.open();
  if (question) return { waits: { ...caller, ...scope.given(), key, ...question } };
  const until = scope.asleep();
  return until === undefined ? undefined : { sleeps: { ...caller, ...scope.given(), until, key } };
}

/** The result of a node that is suspended: no fields, and of messages only its answers to calls. */
export function suspended(node: string, list: readonly Suspension[], messages: readonly Message[] = []): NodeResult {
  const pending = list.flatMap((own) => ('waits' in own ? [own.waits] : []));
  const sleeping = list.flatMap((own) => ('sleeps' in own ? [own.sleeps] : []));
  const wakeAt = pending.length === 0 ? earliest(sleeping.map(({ until }) => until)) : undefined;
  return {
    outputs: [{ node, fields: {}, messages, mayReplace: false }],
    streamed: [],
    waiting: true,
    ...(wakeAt === undefined ? {} : { wakeAt }),
    ...(pending.length === 0 ? {} : { pending }),
    ...(sleeping.length === 0 ? {} : { sleeping }),
  };
}

/** The caller gets a call that its tool's schema takes. Another stays with the graph, whose tool node answers it with what is wrong. */
const markRemote = (block: Block, step: Step): Block =>
  block.type === 'tool_call' &&
  typeof block['name'] === 'string' &&
  block['cut'] !== true &&
  step.isRemote(block['name']) &&
  faultOfRemote(step, { name: block['name'], args: block['args'] }) === undefined
    ? { ...block, type: 'remote_tool_call' }
    : block;

/** Why the caller does not get a call of its tool. */
function faultOfRemote({ run }: Step, { name, args }: Pick<CallBlock, 'name' | 'args'>): string | undefined {
  const tool = run.tools.find((own) => own.name === name);
  return tool && foreignSchemaFault(tool.parameters, args, 'arguments');
}

/** The calls of a context by which a node or tool sleeps. */
const sleepCalls = ({ sleep }: InterruptScope): Pick<NodeContext, 'sleep' | 'waitUntil'> => ({
  sleep: (ms) => sleep((start) => start + checkedMs(ms, 'sleep()', 'milliseconds')),
  waitUntil: (date) =>
    sleep((start) => {
      const time = isDate(date) ? date.getTime() : NaN;
      // A time that has passed is reached at once, however long ago it was.
      return start + checkedMs(time < start ? 0 : time - start, 'waitUntil()', 'a Date');
    }),
});

function checkedMs(ms: unknown, who: string, what: string): number {
  if (typeof ms === 'number' && ms >= 0 && ms <= longestMs) return Math.ceil(ms);
  throw new RangeError(`${who} takes ${what}, at most ten years ahead`);
}
