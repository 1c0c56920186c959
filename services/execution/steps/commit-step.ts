import { isServiceError, type ServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import { contextTooLarge } from '@agent-workflow/protos/refusals';
import type {
  ClaimedRun,
  CommitStepReply,
  CommitStepRequest,
  FusedStep,
  MessageEntry,
  OpenCall,
  RunEnd,
} from '@agent-workflow/protos/threads';
import type { Usage } from '@agent-workflow/protos/usage';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import { bytesOver, jsonQuotes, sizes } from '@agent-workflow/kit/sizes';
import type { CallBlock, Message } from '@agent-workflow/protos/message';
import { refuseLargeRest } from '@agent-workflow/graph/run/step-bounds';
import type { Delta } from '@agent-workflow/graph/state/merge';
import type { WrittenTrace } from '@agent-workflow/graph/trace/step-trace';
import { whileAway } from '../record/away.ts';
import { onlyNode, type StepNodes } from '../record/committed-step.ts';
import { bytesOfFields, type StateSize } from '../record/thread-state.ts';
import type { DriveOptions } from './driven-run.ts';
import type { RunUsage } from './run-usage.ts';

/** One step to be committed. */
export interface StepCommit {
  /** The sum of tokens of the step before, when that is not on record yet. */
  readonly usedBefore?: Usage | undefined;
  /** The step, and the nodes that ran in it. */
  readonly ran: StepNodes;
  readonly delta: Delta;
  readonly next: readonly string[];
  readonly openCalls: readonly OpenCall[];
  /** Ids of the questions without an answer. */
  readonly openInterrupts: readonly string[];
  /** The size of the thread's state before the step. */
  readonly sizeBefore: StateSize;
  /** The context after the step. */
  readonly context: readonly Message[];
  readonly end?: RunEnd;
  /** Until when the run sleeps from here on, in milliseconds since 1970. */
  readonly wakeAt?: number | undefined;
  /** For the worker that claims the run next. */
  readonly progressJson?: Uint8Array;
  /** When the nodes of the step began, in milliseconds since 1970; absent when none did. */
  readonly startedAt?: number;
  /** What went on within it; absent where that is not known. */
  readonly trace?: WrittenTrace | undefined;
  /** How often nodes of the step began again after an error; absent when the run failed in it. */
  readonly retries?: number;
  readonly at: number;
}

/** A step whose commit is ready to be sent. */
export interface PreparedCommit {
  readonly request: CommitStepRequest;
  /** The size of the state after the step, and the bytes that the step adds. */
  readonly size: StateSize;
  readonly addedBytes: number;
  /** The tokens of the run up to this step, when they are not on record. */
  readonly used: Usage | undefined;
}

/**
 * The commit of a step.
 * @throws RunFailure when the step exceeds a size limit: stores report such an excess late and unclearly (Cassandra as a timeout).
 */
export function prepareCommit({ owner, claimed, usage }: DriveOptions, commit: StepCommit): PreparedCommit {
  const { ran, delta, next, openInterrupts, end, wakeAt, progressJson, at } = commit;
  const messages: MessageEntry[] = delta.messages.map((message) => ({
    messageId: message.message_id,
    json: Buffer.from(JSON.stringify(message)),
  }));
  const fields: Record<string, Uint8Array> = {};
  for (const [name, json] of Object.entries(delta.fields)) fields[name] = Buffer.from(json);
  const { grown, addedBytes } = checkedSize(commit.sizeBefore, messages, fields, ran);
  // Removed messages are not at hand to subtract their sizes. The context that remains is short, so it is measured again.
  const size = delta.removed.length === 0 ? grown : { ...grown, messages: bytesOf(commit.context) };
  refuseLargeRestOf(commit);
  const used = usage.uncommitted(commit.usedBefore);
  const request = {
    owner,
    threadId: claimed.threadId,
    runId: claimed.runId,
    epoch: claimed.epoch,
    step: ran.step,
    at,
    fields,
    messages,
    replacesMessages: delta.mayReplace,
    removedFromContext: delta.removed,
    nodes: ran.nodes,
    next,
    openCalls: commit.openCalls,
    openInterrupts,
    ...(end ? { end } : {}),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    ...(progressJson ? { progressJson } : {}),
    ...(used ? { usageJson: JSON.stringify(used) } : {}),
    ...workOf(claimed, usage, commit),
    ...(commit.trace ? { trace: commit.trace } : {}),
  };
  return { request, size, addedBytes, used };
}

/** Whether two steps are small enough to be committed in one write: together they are bounded as one step is. */
export const areSmall = (first: PreparedCommit, second: PreparedCommit): boolean =>
  first.addedBytes + second.addedBytes <= sizes.step &&
  first.request.messages.length + second.request.messages.length <= sizes.stepMessages;

/** How the step ran. Where a run has slept, its start and its end may be dated by the clocks of two processes. */
function workOf(
  claimed: ClaimedRun,
  usage: RunUsage,
  { ran, startedAt, retries, at, usedBefore }: StepCommit,
): Pick<CommitStepRequest, 'work'> {
  if (startedAt === undefined) return {};
  return {
    work: {
      startedAt: Math.min(startedAt, at),
      attempt: attemptAt(ran.step, claimed),
      ...(retries === undefined ? {} : { retries }),
      ...usage.sinceCommit(usedBefore),
    },
  };
}

/**
 * Which attempt at the step this is. `attempt` of a claim counts the claims since the last commit. After a committed step one more is added: the
 * claim that committed it has begun the next step, too, and is not in the count. A claim that ends a sleep makes the first attempt.
 */
function attemptAt(step: number, { step: first, isTakeover, attempt, wakeAt }: ClaimedRun): number {
  if (step !== first || !isTakeover || wakeAt !== undefined) return 1;
  return first === 0 ? attempt : attempt + 1;
}

/** @throws RunFailure when what is stored for the next step exceeds its size limit. */
function refuseLargeRestOf(commit: StepCommit): void {
  const { ran, progressJson, openCalls: calls, openInterrupts, next, end } = commit;
  if (!progressJson && next.length + calls.length + openInterrupts.length === 0) return;
  refuseLargeRest(ran.nodes, {
    continuationBytes: progressJson?.byteLength ?? 0,
    questionBytes: Buffer.byteLength(end?.interruptsJson ?? ''),
    questionIds: openInterrupts,
    calls: calls.map(({ callId: id, name }) => ({ id, name })),
    next,
  });
}

const bytesOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);

/** Calls as the record names them. */
export const toOpenCalls = (calls: readonly CallBlock[]): OpenCall[] =>
  calls.map(({ id, name }) => ({ callId: id, name }));

/** The size of the state after a step, and what the step adds. @throws RunFailure when the step or the state exceeds a size limit. */
function checkedSize(
  before: StateSize,
  messages: readonly MessageEntry[],
  changed: Readonly<Record<string, Uint8Array>>,
  { nodes }: StepNodes,
): { readonly grown: StateSize; readonly addedBytes: number } {
  const names = Object.keys(changed);
  refuseMany('messages', messages.length, sizes.stepMessages, nodes);
  refuseMany('changed fields', names.length, sizes.stepFields, nodes);
  let added = 0;
  for (const { messageId, json } of messages) {
    refuseOver('a message', json.byteLength, sizes.message, nodes);
    added += Buffer.byteLength(messageId) + json.byteLength;
  }
  refuseOver('context_summary', changed['context_summary']?.byteLength ?? 0, sizes.summary + jsonQuotes, nodes);
  const fields = names.length === 0 ? before.fields : { ...before.fields, ...bytesOfEach(changed) };
  refuseOver('the state', bytesOfFields(fields), sizes.state, nodes);
  const addedBytes = names.reduce((sum, name) => sum + (fields[name] ?? 0), added);
  refuseOver('a step', addedBytes, sizes.step, nodes);
  return { grown: { messages: before.messages + added, fields }, addedBytes };
}

const bytesOfEach = (fields: Readonly<Record<string, Uint8Array>>): StateSize['fields'] =>
  Object.fromEntries(Object.entries(fields).map(([name, { byteLength }]) => [name, byteLength]));

function refuseOver(what: string, bytes: number, bound: number, nodes: StepNodes['nodes']): void {
  if (bytes <= bound) return;
  throw new RunFailure('NodeFailed', `${what} has ${bytesOver(bytes, bound)}`, onlyNode(nodes));
}

function refuseMany(what: string, count: number, bound: number, nodes: StepNodes['nodes']): void {
  if (count <= bound) return;
  throw new RunFailure(
    'NodeFailed',
    `a step has ${String(count)} ${what}, more than ${String(bound)}`,
    onlyNode(nodes),
  );
}

/** How long one commit may take before the record counts as unavailable, in milliseconds. */
const commitTimeoutMs = 30_000;
/**
 * How long a step that has run waits for the record, in milliseconds. It occupies a slot of its worker meanwhile. After that the
 * run is released, and the step runs again.
 */
const waitMs = 15 * 60_000;

/** Commits a step, as {@link sendCommit}. */
export const commitStep = (options: DriveOptions, commit: StepCommit): Promise<CommitStepReply> =>
  sendCommit(options, prepareCommit(options, commit));

/**
 * Commits a step behind the fence, and waits while the record is unavailable.
 * @throws RunFailure when the record refuses the step; it is the fault of its nodes.
 * @throws Stale when the run is no longer this worker's.
 * @throws Unavailable when the record was unavailable for 15 minutes; the signal's reason when it fires first.
 */
export async function sendCommit(
  options: DriveOptions,
  { request, used }: Pick<PreparedCommit, 'request' | 'used'>,
): Promise<CommitStepReply> {
  try {
    const reply = await send(options, request);
    noteUsage(options, used);
    return reply;
  } catch (error) {
    throw isServiceError(error, 'Invalid') ? toFailure(error, request) : error;
  }
}

/**
 * Commits two steps in one write.
 * @returns `undefined` when the record refuses them together: nothing is written then, and they are to be committed apart.
 * @throws as {@link sendCommit}.
 */
export async function sendFused(
  options: DriveOptions,
  first: PreparedCommit,
  second: PreparedCommit,
): Promise<CommitStepReply | undefined> {
  try {
    const reply = await send(options, { ...first.request, fused: toFused(second.request) });
    noteUsage(options, second.used ?? first.used);
    return reply;
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return undefined;
    throw error;
  }
}

function toFused(request: CommitStepRequest): FusedStep {
  const { at, messages, nodes, next, openCalls, end, progressJson, usageJson, work, trace } = request;
  return {
    ...{ at, messages, nodes, next, openCalls },
    ...(end ? { end } : {}),
    ...(progressJson ? { progressJson } : {}),
    ...(usageJson === undefined ? {} : { usageJson }),
    ...(work ? { work } : {}),
    ...(trace ? { trace } : {}),
  };
}

/** While the record is unavailable the request is repeated with the same attempt id, so that it takes effect once. */
function send(
  { threads, replicas, runContext, onAway }: DriveOptions,
  request: CommitStepRequest,
): Promise<CommitStepReply> {
  const named = { ...request, attemptId: newId() };
  const work = (): Promise<CommitStepReply> => {
    const { deadline, signal } = within(commitTimeoutMs);
    return threads.commitStep(named, { deadline, signal, replicas });
  };
  return whileAway(work, { signal: runContext.signal, onAway, forMs: waitMs });
}

function noteUsage({ usage, onUsage }: DriveOptions, used: Usage | undefined): void {
  const added = used && usage.committed(used);
  if (added) onUsage?.(added);
}

/** A step that the record refuses is the fault of its nodes. */
function toFailure(error: ServiceError, { nodes }: Pick<StepNodes, 'nodes'>): RunFailure {
  const [detail] = error.details;
  const advice = detail?.type === contextTooLarge ? '; a node made by summarizeNode keeps it shorter' : '';
  const [place, name] = detail?.field ?? [];
  const which = place === 'fields' && name !== undefined ? `field "${String(name)}" ` : '';
  const why = detail ? `${which}${detail.msg}` : error.message;
  return new RunFailure('NodeFailed', `${why}${advice}`, { ...onlyNode(nodes), cause: error });
}
