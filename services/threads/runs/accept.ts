import { conflict, invalid, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { MultitaskStrategy } from '@agent-workflow/protos/lists';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { namesQuestion } from '@agent-workflow/protos/question-id';
import { contextTooLarge, newerRun, threadExists } from '@agent-workflow/protos/refusals';
import type { AcceptRunReply, AcceptRunRequest, MessageEntry } from '@agent-workflow/protos/threads';
import { refuseAcceptance } from '../record/bounds.ts';
import { fromJson, toInput, toJson } from '../record/json.ts';
import type { Change, Decision, Snapshot } from '../ports/changes.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import type { Undone } from '../history/overlay.ts';
import { agentOf, newHead } from '../record/head.ts';
import { withTitle } from '../record/title.ts';
import { refuseDropping, refusalOfRun, refuseQuorum, settling } from '../record/addressed.ts';
import { refusalToDrop } from '../record/kept-questions.ts';
import { waitsForCaller, matchesInterrupts } from '../record/continuing.ts';
import { answeredBy, claim, goneNode, waitsAtGone } from './claim.ts';
import { endRun, withoutRun } from './commit.ts';
import { versionConflict } from '../state/write.ts';
import type { RoutingsByAgent } from '../agents/routings.ts';
import { withKeptTools } from './kept-tools.ts';
import type { Resumed } from './resumed.ts';
import { lateAnswer } from './late-answer.ts';
import { committedIterations, fixRevision, mayServe, servedRun, type Serving } from './revision.ts';
import { endedRetry, goesOn, goingOn, leftByStop, refusalAtFailed, retryOf } from './retry.ts';
import { callsIn, settle, type HeldCalls } from './settled-input.ts';
import { joined, marked, restored, restoredHead, tooFarBack } from '../history/restore.ts';
import { excessOfRollback, refusalOfChange } from '../history/undo.ts';

/** What an acceptance is decided by. */
interface AcceptSnapshot extends Snapshot {
  readonly undone: Undone;
  readonly routings: RoutingsByAgent;
  readonly resumed: Resumed | undefined;
  readonly held: HeldCalls | undefined;
  readonly start?: StartingPoint | undefined;
  /** The questions of others that the run answers in any case: their deadlines have passed, or all answers are there. */
  readonly settled?: readonly string[] | undefined;
}

/** The checkpoint that a run starts from. */
export interface StartingPoint {
  readonly checkpointId: string;
  /** The version of the thread that was read: it is brought back only from this. */
  readonly version: number;
  /** What brings it back; nothing where it stands there. */
  readonly restoring: PromiseSettledResult<Change | undefined>;
}

/** Stores a run and gives it the thread, or a place in its queue. */
export function decideAccept(
  request: AcceptRunRequest,
  snapshot: AcceptSnapshot,
  now: number,
): Decision<AcceptRunReply> {
  if (snapshot.head?.deleting) throw notFound(`thread "${request.threadId}" does not exist`);
  const known = snapshot.runs.get(request.runId);
  if (known) return { reply: { ...replyFor(known, snapshot.head), existed: true } };
  refuseAcceptance(request);
  const otherAgent = otherAgentOf(request, snapshot.head);
  if (otherAgent !== undefined) return { reply: { ...replyFor(newRun(request, false, now), undefined), otherAgent } };
  refuseNewerRun(request, snapshot.head);
  if (request.onlyNewThread && snapshot.head) throw threadIsThere(request);

  const isNewThread = snapshot.head === undefined;
  const owned = ofAgent(snapshot.head ? withMarks(snapshot.head, request) : newHead(request, now), request);
  const ordinal = (owned.runCount ?? 0) + 1;
  const head = { ...withTitle(owned, request.messages, snapshot.entries), runCount: ordinal };
  const made = { ...newRun(request, isNewThread, now), ordinal };
  const run = request.retryOf === undefined ? made : retryOf(request.retryOf, made, request, snapshot);
  const held = isNewThread ? callsIn(head.version, []) : snapshot.held;
  refuseLate(request, snapshot.runs.get(head.activeRun ?? ''));
  if (snapshot.start) refuseDropping(request, head, request.mayAnswer);
  if (snapshot.start) return beginAt(snapshot.start, request, { ...snapshot, head, held }, { run, now });
  if (head.activeRun === undefined) return begin(request, { ...snapshot, head, held }, run, now);

  switch (request.multitaskStrategy) {
    case 'enqueue':
      return enqueue(request, head, run, now);
    case 'reject':
      throw conflict(`thread "${request.threadId}" has a run under way`);
    case 'interrupt':
      return takePlace(request, { ...snapshot, head }, run, now);
    case 'rollback': {
      const rollback = rollBack(snapshot.undone, head, activeRunOf(snapshot, head), now);
      return rollback
        ? beginAfter(rollback, request, run, { ...snapshot, now })
        : takePlace(request, { ...snapshot, head }, run, now);
    }
  }
}

/** @throws Conflict where the thread has a newer run than the one that the request names. */
function refuseNewerRun({ threadId, newestRunId }: AcceptRunRequest, head: Head | undefined): void {
  if (newestRunId === undefined || (head?.newestRun ?? '') === newestRunId) return;
  const message =
    newestRunId === ''
      ? `thread "${threadId}" has a run`
      : `thread "${threadId}" has a newer run than "${newestRunId}"`;
  throw new ServiceError('Conflict', message, { details: [{ field: ['newestRunId'], msg: message, type: newerRun }] });
}

const threadIsThere = ({ threadId }: AcceptRunRequest): ServiceError => {
  const message = `thread "${threadId}" is there already`;
  return new ServiceError('Conflict', message, {
    details: [{ field: ['threadId'], msg: message, type: threadExists }],
  });
};

/**
 * The agent that the thread belongs to, when the request guessed another.
 * @throws Conflict when the request named another.
 */
function otherAgentOf(
  { threadId, agent = defaultAgent, agentIsGuess }: AcceptRunRequest,
  head: Head | undefined,
): string | undefined {
  const own = head && agentOf(head);
  if (own === undefined || own === agent) return undefined;
  if (agentIsGuess) return own;
  throw conflict(`thread "${threadId}" belongs to the agent "${own}"`);
}

/** The thread belongs to the agent of its first run. The name `default` is not stored. */
const ofAgent = (head: Head, { agent }: AcceptRunRequest): Head =>
  agent === undefined || agent === defaultAgent || agentOf(head) !== undefined ? head : { ...head, agent };

/** The head with what the request sets in the metadata of an idle thread. Metadata that cannot be read counts as none. */
function withMarks(head: Head, { marksJson }: AcceptRunRequest): Head {
  if (marksJson === undefined || head.activeRun !== undefined) return head;
  const before = head.metadata ? readMetadata(head.metadata) : {};
  const marks = fromJson(marksJson) as Readonly<Record<string, unknown>>;
  if (Object.entries(marks).every(([name, value]) => Object.hasOwn(before, name) && before[name] === value))
    return head;
  const metadata = toJson({ ...before, ...marks });
  return metadata.byteLength > sizes.metadata ? head : { ...head, metadata };
}

function readMetadata(json: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return fromJson(json) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** What decides about a thread that is there. */
type HeldSnapshot = Omit<AcceptSnapshot, 'undone'> & { readonly head: Head };

/** Ends the run that holds the thread, with its steps kept, and begins in its place. */
function takePlace(
  request: AcceptRunRequest,
  snapshot: HeldSnapshot,
  run: RunRecord,
  now: number,
): Decision<AcceptRunReply> {
  const { head } = snapshot;
  const active = activeRunOf(snapshot, head);
  const { undoes: isUndone } = strategies[request.multitaskStrategy];
  const { free, stopped } = stopActive(active, head, {
    at: now,
    thread: request,
    routings: snapshot.routings,
    isUndone,
  });
  const { change, reply } = begin(request, { ...snapshot, head: free }, run, now);
  if (!change) return { reply };
  return {
    change: { ...change, runs: [stopped, ...(change.runs ?? [])], ...endedRetry(stopped) },
    reply: { ...reply, stoppedRunId: stopped.runId },
  };
}

/** What a run of each strategy does with the run that holds the thread: ends it and takes its place, and undoes its changes too. */
const strategies: Readonly<Record<MultitaskStrategy, { readonly takesPlace: boolean; readonly undoes: boolean }>> = {
  enqueue: { takesPlace: false, undoes: false },
  reject: { takesPlace: false, undoes: false },
  interrupt: { takesPlace: true, undoes: false },
  rollback: { takesPlace: true, undoes: true },
};

export const takesPlace = ({ multitaskStrategy }: AcceptRunRequest): boolean =>
  strategies[multitaskStrategy].takesPlace;

/** Whether the decision needs the undo records of the run that holds the thread. */
export const undoesActive = ({ multitaskStrategy }: AcceptRunRequest): boolean => strategies[multitaskStrategy].undoes;

/** Gives an idle thread to the run, and claims the run when the request has a claim. */
function begin(
  given: AcceptRunRequest,
  snapshot: HeldSnapshot,
  newRun: RunRecord,
  now: number,
): Decision<AcceptRunReply> {
  const request = { ...given, ...settle(given, snapshot.head, { ...snapshot, snapshot }) };
  const allowed = refuseOthers(request, snapshot.head, newRun, snapshot.settled);
  const accepted: RunRecord = { ...allowed, answers: request.answers, hasNewInput: request.hasNewInput };
  const free = fixFor(request, snapshot.head, snapshot.routings);
  const otherRevision = otherRevisionOf(request, free);
  if (otherRevision !== undefined) return { reply: { ...replyFor(accepted, undefined), otherRevision } };
  const isClaimed = request.claim !== undefined && mayServe(request.claim.revision, free);
  const going = goingOn(accepted, free, snapshot.resumed, now);
  const atPoint = refusalAtFailed(free, going, request.nodes);
  if (atPoint) throw atPoint.code === 'Invalid' ? invalid([], atPoint.message) : conflict(atPoint.message);
  const run = servedRun(isClaimed ? withKeptTools(going, free, snapshot) : going, free);
  const head: Head = { ...free, updatedAt: now, newestRun: run.runId, activeRun: run.runId, claims: 0 };
  const { owner, messages: input, hasNewInput } = request;
  const worker = request.claim?.workerId ?? '';
  const isGoing = goesOn(accepted);
  // Also a run that a worker claims later is claimed here, for trial: what that claim would refuse, the acceptance refuses.
  const { change, reply, refusal } = claim({ owner, head, run, input, hasNewInput, isGoing, worker, snapshot, now });
  if (refusal !== undefined) throw invalid(['messages'], refusal, contextTooLarge);
  if (!isClaimed) return beginQueued(request, free, servedRun(allowed, free), { now, input: given.messages, snapshot });
  refuseUnmatched(request, snapshot.head);
  return { change, reply: { ...replyFor(run, change.head), status: 'running', runnable: false, claimed: reply } };
}

/** Brings the idle thread back to a checkpoint, and gives it to the run. @throws Conflict when it is not idle, or has moved on. */
function beginAt(
  { version, restoring }: StartingPoint,
  request: AcceptRunRequest,
  snapshot: AcceptSnapshot & { readonly head: Head },
  { run, now }: { readonly run: RunRecord; readonly now: number },
): Decision<AcceptRunReply> {
  const { head } = snapshot;
  if (head.activeRun !== undefined) throw conflict(`thread "${request.threadId}" has a run under way`);
  if (head.version !== version) throw versionConflict(request.threadId);
  if (restoring.status === 'rejected') throw restoring.reason;
  const change = restoring.value;
  if (!change) return begin(request, snapshot, run, now);
  return beginAfter({ head: restoredHead(head, change), change }, request, run, { ...snapshot, now });
}

/** The run with what it may answer of others. @throws PermissionDenied or Conflict where it answers or drops a question that it may not. */
function refuseOthers(
  request: AcceptRunRequest,
  head: Head,
  run: RunRecord,
  settled: readonly string[] | undefined,
): RunRecord {
  const { answers, hasNewInput, resume, mayAnswer = [] } = request;
  const continuing = { answers, hasNewInput, ...(resume && { resume: resume.keys }) };
  const kept =
    head.activeRun === undefined && waitsForCaller(head)
      ? refusalToDrop(request, head, { ...continuing, options: run.options })
      : undefined;
  if (kept) throw kept;
  if (head.addressed === undefined) return run;
  const allowed = settled ?? mayAnswer;
  const refusal = refusalOfRun(request, head, { ...continuing, options: run.options }, allowed);
  if (refusal) throw refusal;
  if (!settled) refuseQuorum(request, head, allowed, continuing);
  return settling(run, head, allowed);
}

/** The head with the revision that serves the run of this request. */
const fixFor = (request: AcceptRunRequest, head: Head, routings: RoutingsByAgent): Head =>
  fixRevision(
    head,
    { thread: request, routings },
    { answers: request.answers.length > 0 || request.resume !== undefined || goesOn({ options: request.optionsJson }) },
  );

/** The revision that serves the run, when the request was checked by another; empty: none. */
const otherRevisionOf = ({ checkedRevision }: AcceptRunRequest, { revision = '' }: Head): string | undefined =>
  checkedRevision === undefined || checkedRevision === revision ? undefined : revision;

/** Gives an idle thread to the run, which waits for a worker. Its claim settles the input as it was given, by the thread of then. */
function beginQueued(
  request: AcceptRunRequest,
  head: Head,
  run: RunRecord,
  {
    now,
    input,
    snapshot,
  }: { readonly now: number; readonly input: readonly MessageEntry[]; readonly snapshot: Snapshot },
): { readonly change: Change; readonly reply: AcceptRunReply } {
  refuseUnmatched(request, head);
  const { runId } = run;
  const active: Head = {
    ...head,
    updatedAt: now,
    newestRun: runId,
    activeRun: runId,
    activeStatus: 'queued',
    claims: 0,
  };
  const { answers, hasNewInput, resume } = request;
  const answered = answeredBy(head, { runId, answers, hasNewInput, resume: resume?.keys }, snapshot);
  return {
    change: { head: active, runs: [{ ...run, input: toInput(input) }], ...answered },
    reply: replyFor(run, active),
  };
}

/** The rollback, or the restore, makes a version of its own, which the run finds: it is not claimed in the same write. */
function beginAfter(
  { head, stopped, change }: Restoring,
  given: AcceptRunRequest,
  run: RunRecord,
  { now, routings, ...snapshot }: AcceptSnapshot & { readonly now: number },
): Decision<AcceptRunReply> {
  const request = { ...given, ...settle(given, head, { ...snapshot, snapshot }) };
  const allowed = refuseOthers(request, head, run, snapshot.settled);
  const free = fixFor(request, head, routings);
  const otherRevision = otherRevisionOf(request, free);
  if (otherRevision !== undefined) return { reply: { ...replyFor(run, undefined), otherRevision } };
  const begun = beginQueued(request, free, servedRun(allowed, free), { now, input: given.messages, snapshot });
  const both = { ...change, ...begun.change };
  if (!stopped) {
    refuseLargeRestore(both, request);
    return { change: both, reply: begun.reply };
  }
  refuseLargeRollback(both, stopped, request);
  return {
    change: { ...both, runs: [stopped, ...(begun.change.runs ?? [])] },
    reply: { ...begun.reply, stoppedRunId: stopped.runId },
  };
}

function activeRunOf({ runs }: Snapshot, { activeRun = '' }: Head): RunRecord {
  const active = runs.get(activeRun);
  if (!active) throw new ServiceError('Internal', 'the run that holds the thread is not on record');
  return active;
}

/** Ends the run that holds the thread; queued runs wait behind the run that takes its place. */
function stopActive(
  active: RunRecord,
  head: Head,
  { isUndone, ...ending }: Serving & { readonly at: number; readonly isUndone: boolean },
): { readonly free: Head; readonly stopped: RunRecord } {
  const end = {
    status: 'stopped',
    iterations: committedIterations(head, active),
    recursionLimitReached: false,
    ...(isUndone && { undone: true }),
  } as const;
  const left = leftByStop(head, active, ending.at);
  const ended = endRun({ ...head, epoch: head.epoch + 1, queue: [] }, active, { end, left, ...ending });
  return { free: { ...ended.head, queue: head.queue }, stopped: ended.run };
}

function enqueue(request: AcceptRunRequest, head: Head, run: RunRecord, now: number): Decision<AcceptRunReply> {
  const { runId } = request;
  refuseBareAnswer(request);
  if (head.queue.length >= sizes.queuedRuns)
    throw conflict(`thread "${request.threadId}" has ${String(sizes.queuedRuns)} runs waiting`);
  const queued: Head = { ...head, updatedAt: now, newestRun: runId, queue: [...head.queue, runId] };
  return {
    change: { head: queued, runs: [{ ...run, input: toInput(request.messages) }] },
    reply: replyFor(run, queued),
  };
}

/**
 * While a run is under way no question is open. A bare answer to none would be taken for the next question that the run asks, which its
 * sender has not seen: an answer that is sent twice would answer two questions.
 */
function refuseBareAnswer({ resume, threadId }: AcceptRunRequest): void {
  if (resume === undefined || (resume.keys.length > 0 && resume.keys.every(namesQuestion))) return;
  const msg = `answers no open question: thread "${threadId}" has a run under way. Wait for it, or answer by the id of a question`;
  throw badRequest('resume', msg);
}

/** @throws Conflict for an answer to a question whose deadline has begun this run. */
export function refuseLate({ resume }: Pick<AcceptRunRequest, 'resume'>, run: RunRecord | undefined): void {
  const refusal = resume && lateAnswer(resume.keys, run);
  if (refusal) throw refusal;
}

const badRequest = (field: string, msg: string): ServiceError =>
  new ServiceError('BadRequest', `${field}: ${msg}`, { details: [{ field: [field], msg, type: 'value_error' }] });

const noOpenQuestion = 'answers no open question of the thread, or does not name which of them';

function refuseUnmatched(request: AcceptRunRequest, head: Head): void {
  const { answers, resume, hasNewInput, nodes, threadId } = request;
  const open = new Set(head.openCalls.map(({ callId }) => callId));
  const unknown = answers.find((id) => !open.has(id));
  if (unknown !== undefined) throw badRequest('messages', `no open tool call has the id "${unknown}"`);
  if (resume && !matchesInterrupts(resume.keys, head)) throw badRequest('resume', noOpenQuestion);
  const gone = goneNode(head, { answers, hasNewInput, ...(resume && { resume: resume.keys }) }, nodes);
  if (gone !== undefined) throw conflict(waitsAtGone(threadId, gone));
}

const replyFor = (run: RunRecord, head: Head | undefined): AcceptRunReply => ({
  runId: run.runId,
  threadId: run.threadId,
  isNewThread: run.isNewThread,
  status: run.status,
  createdAt: run.createdAt,
  runnable: run.status === 'queued' && head?.activeRun === run.runId,
  ...(head?.activeRun === run.runId && servedBy(head)),
});

const servedBy = ({ agent, revision }: Head): Pick<AcceptRunReply, 'agent' | 'revision'> => ({
  ...(agent === undefined ? {} : { agent }),
  ...(revision === undefined ? {} : { revision }),
});

const newRun = (request: AcceptRunRequest, isNewThread: boolean, now: number): RunRecord => ({
  runId: request.runId,
  threadId: request.threadId,
  requestId: request.requestId,
  status: 'queued',
  granularity: request.granularity,
  isNewThread,
  createdAt: now,
  updatedAt: now,
  options: request.optionsJson,
  answers: request.answers,
  hasNewInput: request.hasNewInput,
  ...(request.resume ? { resume: request.resume.keys } : {}),
  ...(request.webhookJson === undefined ? {} : { webhook: request.webhookJson }),
  ...(request.priority === undefined ? {} : { priority: request.priority }),
});

/** What brings a thread back before a run begins. */
interface Restoring {
  /** The head of the thread as it was; no run holds it, and its queue is kept. */
  readonly head: Head;
  /** Puts fields, context and log back; its head is for the caller to complete. */
  readonly change: Change;
  /** The run that a rollback ends. */
  readonly stopped?: RunRecord;
}

interface Rollback extends Restoring {
  readonly stopped: RunRecord;
}

/**
 * Undoes what the run that holds the thread has changed since its first claim. Its checkpoints go with it: the one checkpoint of
 * the rollback holds what all of them overwrote, so that it still leads back to every version before them.
 * @returns `undefined` when there is nothing to undo: the run was never claimed.
 * @throws Conflict when a store that forgets by age has forgotten some of it: half a rollback would be a state that never was.
 */
function rollBack({ overlay, oldest }: Undone, before: Head, run: RunRecord, now: number): Rollback | undefined {
  const { foundVersion } = before;
  const { mark } = overlay;
  if (foundVersion === undefined) return undefined;
  // The claim itself made the first version that is to be undone, and what is forgotten is the oldest.
  if (oldest() !== foundVersion + 1)
    throw conflict(`multitask_strategy: run "${run.runId}" began too long ago to be rolled back; interrupt it instead`);
  if (!mark) return undefined;
  const head: Head = {
    ...marked(withoutRun(before), mark),
    version: before.version + 1,
    epoch: before.epoch + 1,
    claims: 0,
    updatedAt: now,
  };
  const end = {
    status: 'stopped',
    iterations: committedIterations(before, run),
    recursionLimitReached: false,
    undone: true,
  } as const;
  // What it added is gone: where its output began is where it ends.
  const output = run.outputFrom === undefined ? {} : { outputTo: run.outputFrom };
  return {
    head,
    stopped: { ...run, status: 'stopped', updatedAt: now, end, ...output },
    change: {
      head,
      ...restored(overlay),
      deletedFrom: mark.nextPosition,
      dropCheckpointsAfter: foundVersion,
      checkpoint: {
        source: 'rollback',
        runId: run.runId,
        nodes: [],
        next: head.next,
        at: now,
        undo: joined(overlay, mark),
      },
    },
  };
}

/** Refuses a restore that is more than one change together with the input of its run. */
function refuseLargeRestore(change: Change, request: AcceptRunRequest): void {
  const refusal = refusalOfChange(change, request);
  if (refusal !== undefined) throw tooFarBack(request.checkpointId ?? '', refusal);
}

/**
 * Refuses a rollback that is more than one change: half of it would be a state that never was. `change` is all that it writes, except for the
 * run that it stops, whose options and input stay as they are.
 * @throws Conflict naming the rows or bytes and their bound.
 */
function refuseLargeRollback(change: Change, stopped: RunRecord, thread: ThreadKey): void {
  const excess = excessOfRollback(change, thread);
  if (excess === undefined) return;
  throw conflict(
    `multitask_strategy: a rollback of run "${stopped.runId}" would write ${excess}; interrupt it instead`,
  );
}
