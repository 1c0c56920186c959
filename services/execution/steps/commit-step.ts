import { isServiceError, type ServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import type { Message } from '@agent-workflow/protos/message';
import { contextTooLarge } from '@agent-workflow/protos/refusals';
import type {
  ClaimedRun,
  CommitStepReply,
  MessageEntry,
  OpenCall,
  RunEnd,
  Threads,
} from '@agent-workflow/protos/threads';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import type { Delta } from '@agent-workflow/graph/state/merge';
import { whileAway } from '../record/away.ts';
import { total, type Weight } from '../record/weight.ts';
import type { StepPlace } from '../events/tell-step.ts';

/** One step as it is to be committed. */
export interface StepCommit {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly threads: Threads;
  readonly place: StepPlace;
  readonly delta: Delta;
  readonly next: readonly string[];
  readonly openCalls: readonly OpenCall[];
  /** Ids of the questions that wait for an answer. */
  readonly openInterrupts: readonly string[];
  /** What the thread weighed before. */
  readonly weight: Weight;
  /** The context as the step leaves it. */
  readonly context: readonly Message[];
  readonly end?: RunEnd;
  /** What whoever claims the run after this worker is to get. */
  readonly progressJson?: Uint8Array;
  readonly at: number;
  /** The run's: a commit that waits for the record waits no longer than the run is wanted. */
  readonly signal: AbortSignal;
  /** Called when the record does not take the commit for now. */
  readonly onAway: (error: unknown) => void;
}

/** How long one commit may take before the record counts as away, in milliseconds. */
const commitTimeoutMs = 30_000;
/**
 * How long a step that has run waits for the record, in milliseconds. Its worker has a place taken by it meanwhile; beyond this the
 * run is given back, and the step runs again.
 */
const waitMs = 15 * 60_000;

/**
 * Commits a step behind the fence, as soon as the record takes it; gives what the thread weighs now.
 * @throws RunFailure when it is over a bound: nothing is sent then, because a store tells such a thing late and unclearly.
 * @throws Stale when the run is no longer this worker's.
 * @throws Unavailable when the record has been away for 15 minutes; the signal's reason when it fires first.
 */
export async function commitStep(
  commit: StepCommit,
): Promise<{ readonly reply: CommitStepReply; readonly weight: Weight }> {
  const { owner, claimed, threads, place, delta, next, openCalls, openInterrupts, end, progressJson, at } = commit;
  const messages: MessageEntry[] = delta.messages.map((message) => ({
    messageId: message.message_id,
    json: Buffer.from(JSON.stringify(message)),
  }));
  const fields = Object.fromEntries(Object.entries(delta.fields).map(([name, json]) => [name, Buffer.from(json)]));
  const grown = weigh(commit.weight, messages, fields, place);
  // What left is not at hand to be subtracted, and what stays is short: it is weighed anew.
  const weight = delta.removed.length === 0 ? grown : { ...grown, messages: bytesOf(commit.context) };
  refuseWaiting(commit);
  const request = {
    owner,
    threadId: claimed.threadId,
    runId: claimed.runId,
    epoch: claimed.epoch,
    step: place.step,
    at,
    fields,
    messages,
    replacesMessages: delta.mayReplace,
    removedFromContext: delta.removed,
    nodes: place.nodes,
    next,
    openCalls,
    openInterrupts,
    ...(end ? { end } : {}),
    ...(progressJson ? { progressJson } : {}),
    attemptId: newId(),
  };
  const { signal, onAway } = commit;
  const reply = await whileAway(async () => threads.commitStep(request, within(commitTimeoutMs)), {
    signal,
    onAway,
    forMs: waitMs,
  }).catch((error: unknown) => {
    throw isServiceError(error, 'Invalid') ? toFailure(error, place) : error;
  });
  return { reply, weight };
}

/** What the record does not take of a step is the fault of its nodes. */
function toFailure(error: ServiceError, { nodes }: StepPlace): RunFailure {
  const [detail] = error.details;
  const advice = detail?.type === contextTooLarge ? '; a node made by summarizeNode keeps it shorter' : '';
  return new RunFailure('NodeFailed', `${detail?.msg ?? error.message}${advice}`, { ...onlyNode(nodes), cause: error });
}

const onlyNode = (nodes: StepPlace['nodes']): { readonly node?: string } =>
  nodes.length === 1 && nodes[0] !== undefined ? { node: nodes[0] } : {};

/** @throws RunFailure when what waits for the next step is more than the record keeps. */
function refuseWaiting({ place, progressJson, openCalls, openInterrupts, next, end }: StepCommit): void {
  const bounds = [
    ['what is kept between two steps', progressJson?.byteLength ?? 0, sizes.progress],
    ['the open questions together', Buffer.byteLength(end?.interruptsJson ?? ''), sizes.progress],
    ['the open tool calls', bytesOfTexts(openCalls.flatMap(({ callId, name }) => [callId, name])), sizes.waiting],
    ['the ids of open questions', bytesOfTexts(openInterrupts), sizes.waiting],
    ['the names of the next nodes', bytesOfTexts(next), sizes.waiting],
  ] as const;
  for (const [what, bytes, bound] of bounds) refuseOver(what, bytes, bound, place);
}

const bytesOfTexts = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

function refuseOver(what: string, bytes: number, bound: number, { nodes }: StepPlace): void {
  if (bytes <= bound) return;
  const message = `${what} weighs ${String(bytes)} bytes, more than ${String(bound)}`;
  throw new RunFailure('NodeFailed', message, onlyNode(nodes));
}

/** JSON of a text has two quotes around it. */
const quotes = 2;

function weigh(
  before: Weight,
  messages: readonly MessageEntry[],
  changed: Readonly<Record<string, Uint8Array>>,
  place: StepPlace,
): Weight {
  const refuse = (what: string, bytes: number, bound: number): void => {
    refuseOver(what, bytes, bound, place);
  };
  let added = 0;
  for (const { messageId, json } of messages) {
    refuse('a message', json.byteLength, sizes.message);
    added += Buffer.byteLength(messageId) + json.byteLength;
  }
  refuse('context_summary', changed['context_summary']?.byteLength ?? 0, sizes.summary + quotes);
  const entries = Object.entries(changed).map(([name, json]) => [name, json.byteLength] as const);
  const fields = entries.length === 0 ? before.fields : { ...before.fields, ...Object.fromEntries(entries) };
  refuse('the state', total(fields), sizes.state);
  refuse('a step', added + entries.reduce((sum, [, bytes]) => sum + bytes, 0), sizes.step);
  return { messages: before.messages + added, fields };
}

const bytesOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
