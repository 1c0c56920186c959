import { newId } from '@agent-workflow/kit/ids';
import { stale, type ServiceError } from '@agent-workflow/kit/errors';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Message } from '@agent-workflow/protos/message';
import { heldMessages, type HeldMessage } from '@agent-workflow/protos/progress';
import type {
  ClaimedRun,
  ClaimRunRequest,
  MessageEntry,
  NodeNames,
  OpenCall,
  RunError,
} from '@agent-workflow/protos/threads';
import { fromInput, toJson } from '../record/json.ts';
import type { Change, Decision, Snapshot } from '../ports/changes.ts';
import type { Head, RunRecord } from '../ports/record.ts';
import { refusalToBegin } from '../record/size.ts';
import { refusalOfChange, withCheckpoint } from '../history/undo.ts';
import type { RoutingsByAgent } from '../agents/routings.ts';
import { endRun, nextOf } from './commit.ts';
import {
  committedIterations,
  isOfRetired,
  mayServe,
  noteRevision,
  servedRun,
  settleRevision,
  type Serving,
} from './revision.ts';
import { agentOf, without } from '../record/head.ts';
import { isAnsweredByOthers } from '../record/answered-by-others.ts';
import { refusalOfRun, settledIn } from '../record/addressed.ts';
import { refusalToDrop } from '../record/kept-questions.ts';
import { waitsForCaller, matchesInterrupts, startsAnew, unanswered, type Continuing } from '../record/continuing.ts';
import { withKeptTools } from './kept-tools.ts';
import type { Resumed } from './resumed.ts';
import { atFailed, goesOn, goingOn, leftBehind, leftByEnd, pointOfRetry, refusalAtFailed } from './retry.ts';
import { placeMessages, withKnownData } from '../record/place.ts';
import { senderOf } from '../record/sender.ts';
import { settle, type HeldCalls } from './settled-input.ts';

/** What a decision about a run is made by, beside its thread. */
interface Deciding {
  readonly now: number;
  readonly routings: RoutingsByAgent;
  /** The run that it goes on from, once that is known. */
  readonly resumed: Resumed | undefined;
  /** The calls of its context, once the decision asked for them. */
  readonly held: HeldCalls | undefined;
  /** Whether the share by which it was started has ended. */
  readonly isRevoked: boolean;
}

/** After so many claims without a commit the run fails. */
const maxClaims = 3;

/**
 * Gives a run that holds its thread to a worker; the input in the reply's `appended` enters the log with this change. There are
 * two other results. With `lastClaim` in the reply nothing changes: the claim would be the run's last, and `notLast` refuses
 * that one. With `givenUp` the run has ended as failed instead of being claimed.
 */
export function decideClaim(
  request: ClaimRunRequest,
  snapshot: Snapshot,
  { now, routings, resumed, held, isRevoked }: Deciding,
): Decision<ClaimedRun> {
  const { head: found } = snapshot;
  const run = snapshot.runs.get(request.runId);
  const isHeld = found !== undefined && !found.deleting && found.activeRun === run?.runId;
  if (!isHeld || !run) throw notWaiting(request);
  const agent = agentOf(found) ?? defaultAgent;
  const isWaiting =
    isFree(found, request.takeoverEpoch) || (isAsleep(found) && (isDue(run, now) || isOfRetired(found, routings)));
  if (!isWaiting) throw notWaiting(request);
  if (agent !== (request.agent ?? defaultAgent)) {
    if (request.agent === undefined) throw stale(`run "${request.runId}" belongs to the agent "${agent}"`);
    return { reply: { ...replyOf(run, found, found), otherAgent: agent } };
  }
  const serving: Serving = { thread: request, routings };
  const { head, isMoved, isLost } = settleRevision(found, run, serving);
  const failed = (error: RunError): Decision<ClaimedRun> => failRun(head, run, { error, at: now, ...serving });
  if (isLost) return failed(retiredUnder(head));
  const { revision } = head;
  if (revision !== undefined && !mayServe(request.revision, head)) {
    if (request.revision === undefined) throw stale(`run "${request.runId}" belongs to the revision "${revision}"`);
    return { ...(isMoved && { change: { head } }), reply: { ...replyOf(run, head, head), otherRevision: revision } };
  }
  if (head.claims >= maxClaims) return failed(claimedTooOften(head, request.nodes));
  if (head.claims === maxClaims - 1 && request.notLast)
    return { reply: { ...replyOf(run, head, head), lastClaim: true } };
  const { workerId: worker } = request;
  const hasBegun = head.foundVersion !== undefined && !run.input;
  if (hasBegun) {
    const refusal = refusalToBegin(head.size);
    if (refusal !== undefined) return failed(invalidInput(refusal));
    const { wakeAt } = run;
    const taken = takeOver({ ...head, worker, activeStatus: 'running' }, run, now);
    const wakes = isAsleep(head) && wakeAt !== undefined;
    return wakes ? { ...taken, reply: { ...taken.reply, wakeAt } } : taken;
  }
  if (isRevoked) return failed(shareEnded);
  const given = { ...run, messages: run.input ? fromInput(run.input) : [] };
  const { messages: input, answers, hasNewInput } = settle(given, head, { snapshot, held });
  const settled = goingOn({ ...run, answers, hasNewInput }, head, resumed, now);
  const gone = goneNode(head, settled, request.nodes);
  if (gone !== undefined) return failed({ code: 'Conflict', message: waitsAtGone(run.threadId, gone) });
  const atPoint = refusalAtFailed(head, settled, request.nodes);
  if (atPoint) return failed(atPoint);
  const others =
    (head.addressed && refusalOfRun(request, head, settled, settledIn(run))) ??
    (waitsForCaller(head) ? refusalToDrop(request, head, { ...settled, options: run.options }) : undefined);
  if (others) return failed({ code: 'Conflict', message: others.message });
  const entering = {
    input,
    hasNewInput,
    isGoing: goesOn(run),
    run: withKeptTools(settled, head, { ...snapshot, resumed }),
  };
  const { refusal, ...claimed } = claim({ owner: request.owner, head, ...entering, worker, snapshot, now });
  return refusal === undefined ? claimed : failed(invalidInput(refusal));
}

/** A takeover names the claim that it takes the run from, so of two workers that take over at once only one succeeds. */
const isFree = ({ activeStatus, epoch }: Head, takeoverEpoch: number | undefined): boolean =>
  activeStatus === 'queued' || (activeStatus === 'running' && takeoverEpoch === epoch);

/** How far the clocks of two processes may be apart, in milliseconds: who sees that a sleep has ended need not be who decides. */
const clocksApartMs = 1000;

/** Whether a sleep has ended. */
const isDue = ({ wakeAt = Infinity }: RunRecord, now: number): boolean => wakeAt <= now + clocksApartMs;

const isAsleep = ({ activeStatus }: Head): boolean => activeStatus === 'sleeping';

const notWaiting = ({ runId }: ClaimRunRequest): ServiceError => stale(`run "${runId}" is not waiting for a worker`);

/** The run goes on where its last commit left it; what it was begun with stands in the log already. */
function takeOver(head: Head, run: RunRecord, now: number): Decision<ClaimedRun> {
  const taken: Head = { ...head, version: head.version + 1, epoch: head.epoch + 1, claims: head.claims + 1 };
  return {
    change: { head: taken, runs: [{ ...servedRun(run, head), status: 'running', updatedAt: now }] },
    reply: {
      ...replyOf(run, head, taken),
      isTakeover: true,
      ...(head.progress === undefined ? {} : { progressJson: head.progress }),
    },
  };
}

/** Names the nodes that every one of the claims began with, as far as they are known. */
function claimedTooOften({ next }: Head, nodes: NodeNames | undefined): RunError {
  const places = next.length > 0 ? next : (nodes?.first ?? []);
  // A node of a sub-graph is more precise than the sub-graph itself.
  const stood = places.filter((name) => !places.some((other) => other.startsWith(`${name}/`)));
  const [only, ...more] = stood;
  const where = stood
    .slice(0, namedNodes)
    .map((name) => `"${name}"`)
    .join(', ');
  const why = `the run was claimed ${String(maxClaims)} times and committed nothing`;
  if (only === undefined) return { code: 'Internal', message: why };
  if (more.length === 0) return { code: 'Internal', message: `${why}: it stood at node ${where}`, node: only };
  return { code: 'Internal', message: `${why}: it stood at the nodes ${where}` };
}

/** So many of the nodes of one step are named. */
const namedNodes = 10;

/** The same sentence as the refusal of such an input at the acceptance. */
const invalidInput = (refusal: string): RunError => ({
  code: 'Invalid',
  message: `messages: ${refusal}`,
});

interface Failing extends Serving {
  readonly error: RunError;
  readonly at: number;
}

const shareEnded: RunError = {
  code: 'Conflict',
  message: 'the share by which the run was started had ended before it began',
};

const retiredUnder = ({ revision = '' }: Head): RunError => ({
  code: 'Conflict',
  message: `revision "${revision}" of the agent was retired, and the run had committed steps of it: send a new user message`,
});

/** Ends the run as failed. What the thread waits for, and its log, stay as they are. */
function failRun(head: Head, run: RunRecord, { error, ...ending }: Failing): Decision<ClaimedRun> {
  const iterations = committedIterations(head, run);
  const end = { status: 'failed', iterations, recursionLimitReached: false, error } as const;
  const ended = endRun({ ...head, epoch: head.epoch + 1 }, run, {
    end,
    left: leftByEnd(head, run, ending.at),
    ...ending,
  });
  return {
    change: { head: ended.head, runs: [ended.run] },
    reply: { ...replyOf(run, head, ended.head), givenUp: error, ...nextOf(ended.head) },
  };
}

/** The part of the reply that every claim has, before anything is appended. */
const replyOf = (run: RunRecord, before: Head, head: Head): ClaimedRun => ({
  runId: run.runId,
  threadId: run.threadId,
  requestId: run.requestId,
  granularity: run.granularity,
  isNewThread: run.isNewThread,
  epoch: head.epoch,
  step: head.step,
  optionsJson: run.options,
  previousVersion: before.version,
  version: head.version,
  appended: [],
  replaced: false,
  next: head.next,
  openCalls: head.openCalls,
  unmatchedAnswers: [],
  resumeUnmatched: false,
  attempt: head.claims,
  isTakeover: false,
  ...(run.resumes === undefined ? {} : { resumes: run.resumes }),
  ...(run.usage === undefined ? {} : { usageJson: run.usage }),
  ...(head.agent === undefined ? {} : { agent: head.agent }),
  ...(head.revision === undefined ? {} : { revision: head.revision }),
});

/** The message ids that a claim of this run reads from the log. */
export const inputIds = (run: RunRecord | undefined): string[] =>
  run?.input ? fromInput(run.input).map(({ messageId }) => messageId) : [];

interface Claim {
  readonly owner: string;
  readonly head: Head;
  readonly run: RunRecord;
  readonly input: readonly MessageEntry[];
  readonly hasNewInput: boolean;
  /** Whether its request was to go on where the thread stands. */
  readonly isGoing: boolean;
  readonly worker: string;
  /** Of the log that the input enters. */
  readonly snapshot: Snapshot;
  readonly now: number;
}

/** The claim itself: raises the epoch and lets the input into the log. `refusal`: why the run cannot begin, if it cannot. */
export function claim({ owner, head, run, input, hasNewInput, isGoing, worker, snapshot, now }: Claim): {
  change: Change;
  reply: ClaimedRun;
  refusal: string | undefined;
} {
  const openCalls = new Set(head.openCalls.map(({ callId }) => callId));
  const unmatched = run.answers.filter((id) => !openCalls.has(id));
  // A run that answers no open call is about to fail, so what the thread waits for stays open.
  const resumeUnmatched = run.resume !== undefined && !matchesInterrupts(run.resume, head);
  const refused = unmatched.length > 0 || resumeUnmatched;
  const retried = pointOfRetry(head, run);
  const entry = retried
    ? { head: atFailed(head, retried), appended: input, next: retried.next }
    : refused
      ? untouched(head)
      : enter(head, run, { input, isNew: hasNewInput, now });
  const appended = withKnownData(entry.appended, snapshot.entries, () => senderOf(run) !== undefined);
  const { messages, nextPosition } = placeMessages(appended, head.nextPosition, snapshot.entries);
  const replaces = nextPosition < head.nextPosition + appended.length;
  const resumes = head.interruptedRun;

  const begins = !refused && !retried && !isGoing && entry.next.length === 0;
  const isByOthers = !begins && (entry.head.answeredByOthers ?? (!refused && isAnsweredByOthers(owner, run)));
  const claimed: Head = {
    ...without(noteRevision(entry.head), 'answeredByOthers'),
    ...(isByOthers && { answeredByOthers: true }),
    version: head.version + 1,
    epoch: head.epoch + 1,
    step: 0,
    activeRun: run.runId,
    activeStatus: 'running',
    worker,
    foundVersion: head.foundVersion ?? head.version,
    nextPosition,
    next: entry.next,
    claims: head.claims + 1,
  };
  const record: RunRecord = {
    // Input that is refused stays with the run: a later claim refuses it again.
    ...servedRun(refused ? run : without(run, 'input'), head),
    status: 'running',
    updatedAt: now,
    outputFrom: nextPosition,
    startedAt: run.startedAt ?? now,
    ...(resumes === undefined ? {} : { resumes }),
  };
  const written = {
    ...{ head: claimed, runs: [record], messages },
    ...leftBehind(head, run),
    ...(!refused && answeredBy(head, { ...run, hasNewInput }, snapshot)),
  };
  // A run that goes on, and to which no node comes next, is a step of its thread without one: it brings no input to begin with.
  const change = withCheckpoint(written, head, snapshot, {
    source: isGoing && entry.next.length === 0 ? 'step' : 'input',
    runId: run.runId,
    nodes: [],
    at: now,
    ...(replaces && { metadata: toJson({ replaces }) }),
  });
  return {
    change,
    refusal: refusalToBegin(change.head.size) ?? refusalOfChange(change, { owner, threadId: run.threadId }),
    reply: {
      ...replyOf(record, head, claimed),
      appended,
      replaced: replaces,
      unmatchedAnswers: unmatched,
      resumeUnmatched,
      ...(claimed.progress === undefined ? {} : { progressJson: claimed.progress }),
    },
  };
}

/**
 * The node at which the run would go on, when it is not among those of the graph: the agent was changed while the thread
 * waited. A new user message goes on nowhere: it begins anew.
 */
export function goneNode(head: Head, run: Continuing, nodes: NodeNames | undefined): string | undefined {
  if (nodes === undefined || head.next.length === 0 || startsAnew(head, run)) return undefined;
  const known = new Set(nodes.names);
  return head.next.find((node) => !known.has(node));
}

export const waitsAtGone = (threadId: string, node: string): string =>
  `thread "${threadId}" waits at node "${node}", which the agent no longer has: send a new user message, ` +
  'or fork a checkpoint from before the question';

/** The interrupted run that is answered, with the name of the run that answers it; nothing where that is on record, and where the run begins anew. */
export function answeredBy(
  head: Head,
  run: Continuing & Pick<RunRecord, 'runId'>,
  { runs }: Snapshot,
): Pick<Change, 'answered'> {
  const asked = runs.get(head.interruptedRun ?? '');
  if (asked?.status !== 'interrupted' || asked.resumedBy === run.runId || startsAnew(head, run)) return {};
  return { answered: { ...asked, resumedBy: run.runId } };
}

interface Entry {
  readonly head: Head;
  readonly appended: readonly MessageEntry[];
  readonly next: readonly string[];
}

const untouched = (head: Head): Entry => ({ head, appended: [], next: head.next });

interface Entrance {
  readonly input: readonly MessageEntry[];
  readonly isNew: boolean;
  readonly now: number;
}

/** What the input does to the thread: answers calls or questions, goes on where an interrupted run stood, or begins anew. */
function enter(head: Head, run: RunRecord, { input, isNew, now }: Entrance): Entry {
  const open = unanswered(head, run.answers);
  const cancelled = isNew && run.resume === undefined ? open : [];
  const begins = startsAnew(head, { answers: run.answers, hasNewInput: isNew, resume: run.resume });
  const next = begins ? [] : head.next;
  // What a step held that nobody ends any more: its messages enter the log here, the rest is merged by the worker.
  const held = next.length === 0 ? heldMessages(head.progress) : undefined;
  return {
    head: {
      ...(begins && !held ? without(head, 'interruptedRun', 'progress') : without(head, 'interruptedRun')),
      openCalls: cancelled.length > 0 ? [] : open,
      openInterrupts: [],
      next: [],
    },
    appended: [...cancelled.map((call) => cancellation(call, now)), ...(held ?? []).map(toEntry), ...input],
    next,
  };
}

const toEntry = (message: HeldMessage): MessageEntry => ({ messageId: message.message_id, json: toJson(message) });

/** The answer that a new user message gives to an open call. */
function cancellation({ callId, name }: OpenCall, now: number): MessageEntry {
  const message: Message = {
    message_id: newId(),
    role: 'tool',
    content: [
      {
        type: 'tool_result',
        call_id: callId,
        output: `The call of ${name} was cancelled.`,
        status: 'cancelled',
        is_error: true,
      },
    ],
    timestamp: new Date(now).toISOString(),
  };
  return toEntry(message);
}
