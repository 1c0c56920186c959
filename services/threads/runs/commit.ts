import { invalid, isServiceError, stale, notFound } from '@agent-workflow/kit/errors';
import type {
  CommitStepReply,
  CommitStepRequest,
  RunEnd,
  EndRunReply,
  EndRunRequest,
  KeptPartial,
  ReleaseRunReply,
  ReleaseRunRequest,
  FusedStep,
  StepTrace,
} from '@agent-workflow/protos/threads';
import { spansBytes, stepContentBytes } from '@agent-workflow/protos/run-trace';
import { heldMessages, withoutDeadlines } from '@agent-workflow/protos/progress';
import type { Decision, Snapshot, Change } from '../ports/changes.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { without } from '../record/head.ts';
import { refuseMessages, refuseStep } from '../record/bounds.ts';
import { refuseGrowth, type SizePlaces } from '../record/size.ts';
import { hasRoomFor, refuseLargeChange, withCheckpoint } from '../history/undo.ts';
import { traceBytes } from '../record/row-sizes.ts';
import type { RefuseUnfit } from '../agents/declared-fields.ts';
import type { RoutingsByAgent } from '../agents/routings.ts';
import { fixNextRevision, isOfRetired, servedRun, committedIterations, type Serving } from './revision.ts';
import { endedRetry, leftByCommit, leftByEnd, leftByStop } from './retry.ts';
import { leaving, placeMessages, rejoins } from '../record/place.ts';
import { withoutShownDeadlines } from '../record/json.ts';
import { isOpen } from '@agent-workflow/protos/lists';
import { addressedBy, openAddressed, questionIdOf, withoutQuestions } from '../record/addressed.ts';

/** What a worker's write must name to be taken: anything else is another worker's, or a past one. */
interface Fence {
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
}

/**
 * The head, while run, epoch and step are its own.
 * @throws Stale otherwise.
 */
export function fencedHead({ runId, epoch, step }: Fence, { head }: Snapshot): Head {
  if (
    head?.activeRun !== runId ||
    head.activeStatus !== 'running' ||
    head.epoch !== epoch ||
    head.step !== step ||
    head.deleting
  ) {
    throw stale(`step ${String(step)} of run "${runId}" is not this worker's to commit`);
  }
  return head;
}

/** What is known of agents where a step is committed. */
interface KnownOfAgents {
  readonly routings: RoutingsByAgent;
  readonly refuseUnfit: RefuseUnfit;
}

/**
 * Commits one step behind the fence, or two of which the second is fused with the first; with `end` also ends the run and gives the thread
 * to the next one.
 */
export function decideCommit(
  request: CommitStepRequest,
  snapshot: Snapshot,
  { routings, refuseUnfit }: KnownOfAgents,
): Decision<CommitStepReply> {
  const { fused, end, wakeAt } = request;
  refuseUnfit(request.fields, fencedHead(request, snapshot));
  const first = decideStep(request, snapshot, routings);
  if (!fused) return first;
  if (end || wakeAt !== undefined) throw invalid(['fused'], 'is given together with end or wakeAt');
  const second = decideStep(fusedRequest(request, fused), snapshotAfter(snapshot, first.change), routings);
  const both = fuse(first, second);
  refuseLargeChange(both.change, request, stepWrite.messages);
  return both;
}

function decideStep(request: CommitStepRequest, snapshot: Snapshot, routings: RoutingsByAgent): StepDecision {
  const { runId, step, at, end, wakeAt, usageJson, work, trace, ofInput = false } = request;
  if (end && wakeAt !== undefined && end.status !== 'interrupted')
    throw invalid(['wakeAt'], 'is given together with an end that waits for nobody');
  if (ofInput && (end ?? wakeAt ?? request.messages[0]) !== undefined)
    throw invalid(['ofInput'], 'is given together with messages, or with an end');
  const head = fencedHead(request, snapshot);
  refuseStep(request);
  const { messages, nextPosition } = placeMessages(request.messages, head.nextPosition, snapshot.entries);
  const removedFromContext = leaving(request.removedFromContext, messages, snapshot.entries);
  const { addressed } = head;
  const stepped: Head = {
    ...without(head, 'progress', 'addressed'),
    version: head.version + 1,
    step: ofInput ? step : step + 1,
    nextPosition,
    openCalls: request.openCalls,
    next: request.next,
    openInterrupts: head.interruptedRun === undefined ? request.openInterrupts : head.openInterrupts,
    claims: ofInput ? head.claims : 0,
    ...progressAfter(request, head),
    ...(end?.status === 'interrupted' && head.interruptedRun === undefined
      ? addressedBy(end, head, at)
      : addressed && { addressed }),
  };
  const run = withUsage(snapshot.runs.get(runId), usageJson);
  // A run that ends or sleeps leaves its worker.
  const left =
    run &&
    (end
      ? endRun(stepped, run, {
          end,
          at,
          wakeAt,
          thread: request,
          routings,
          ...(isFailed(end) && { left: leftByCommit(stepped, run, at) }),
        })
      : sleepRun(stepped, run, { request, routings }));
  const written = left?.run ?? (usageJson === undefined ? undefined : run);
  const change = {
    head: left?.head ?? stepped,
    fields: request.fields,
    messages,
    removedFromContext,
    ...(written ? { runs: [written] } : {}),
    ...(end && written && endedRetry(written)),
  };
  const source = ofInput ? 'input' : 'step';
  const info = { source, runId, step, nodes: request.nodes, at, ...(work && { work }) } as const;
  const sized = withCheckpoint(change, head, snapshot, info);
  if (messages.length > 0 || Object.keys(request.fields).length > 0)
    refuseGrowth(head.size, sized.head.size, stepWrite);
  refuseLargeChange(sized, request, stepWrite.messages);
  return {
    change: withTrace(sized, request, trace),
    reply: {
      version: stepped.version,
      ...(end && left ? nextOf(left.head) : {}),
      ...(rejoins(messages, snapshot.entries) ? { rejoined: true } : {}),
    },
  };
}

const stepWrite: SizePlaces = { messages: ['messages'], fields: ['fields'] };

/** The change with as much of the trace as it has room for: no step is refused for its trace. */
function withTrace({ checkpoint, ...change }: Change, key: ThreadKey, trace: StepTrace | undefined): Change {
  if (!checkpoint) return change;
  const { spansJson, contentJson } = trace ?? {};
  if (!spansJson || spansJson.byteLength > spansBytes + frameBytes) return { ...change, checkpoint };
  const content = contentJson && contentJson.byteLength <= stepContentBytes + frameBytes ? { contentJson } : {};
  for (const fitting of [{ spansJson, ...content }, { spansJson }])
    if (hasRoomFor({ ...change, checkpoint }, key, traceBytes(fitting)))
      return { ...change, checkpoint: { ...checkpoint, trace: fitting } };
  return { ...change, checkpoint };
}

/** What the two texts of a trace may hold beside spans and content. */
const frameBytes = 64 * 1024;

/** A run that fails before it began leaves what the interrupted one before it keeps. */
function progressAfter(
  { progressJson }: CommitStepRequest,
  { interruptedRun, progress }: Head,
): Pick<Head, 'progress'> {
  const kept = progressJson ?? (interruptedRun === undefined ? undefined : progress);
  return kept === undefined ? {} : { progress: kept };
}

const withUsage = (run: RunRecord | undefined, usage: string | undefined): RunRecord | undefined =>
  run && usage !== undefined ? { ...run, usage } : run;

/** The head of a thread that no run holds. */
export function withoutRun(head: Head): Head {
  const { activeRun: _run, activeStatus: _status, worker: _worker, foundVersion: _found, revision: _, ...free } = head;
  return free;
}

interface FallingAsleep {
  readonly request: Pick<CommitStepRequest, 'wakeAt' | 'at'>;
  readonly routings: RoutingsByAgent;
}

/** Takes the run from its worker until it wakes, and keeps its thread. A run of a retired revision wakes at once, to be ended by a claim. */
function sleepRun(
  { worker: _, ...head }: Head,
  run: RunRecord,
  { request: { wakeAt, at }, routings }: FallingAsleep,
): { readonly head: Head; readonly run: RunRecord } | undefined {
  if (wakeAt === undefined) return undefined;
  const until = isOfRetired(head, routings) ? Math.min(at, wakeAt) : wakeAt;
  return {
    head: { ...head, epoch: head.epoch + 1, activeStatus: 'sleeping' },
    run: { ...run, status: 'sleeping', updatedAt: at, wakeAt: until },
  };
}

/** How a run ends, when, and what decides which revision serves the next. */
interface Ending extends Serving {
  readonly end: RunEnd;
  readonly at: number;
  /** The first deadline of its questions. */
  readonly wakeAt?: number | undefined;
  /** What a run that has failed or was stopped leaves for one that goes on from it. */
  readonly left?: Pick<Head, 'progress'>;
}

const isFailed = ({ status }: Pick<RunEnd, 'status'>): boolean => status === 'failed';

/** The run that holds the thread, as replies name it that have just given the thread to it. */
export const nextOf = ({
  activeRun,
  revision,
}: Head): { readonly nextRunId?: string; readonly nextRevision?: string } =>
  activeRun === undefined
    ? {}
    : { nextRunId: activeRun, ...(revision === undefined ? {} : { nextRevision: revision }) };

/** Notes the failure of the newest run, so that the status of the thread is read from its head alone. */
const failedRun = ({ newestRun }: Head, runId: string, end: RunEnd): Pick<Head, 'failedRun'> | undefined =>
  isFailed(end) && runId === newestRun ? { failedRun: runId } : undefined;

/** Ends the run that holds the thread, and gives the thread to the run that waited longest. */
export function endRun(
  head: Head,
  run: RunRecord,
  { end, at, left, wakeAt = end.status === 'interrupted' ? undefined : run.wakeAt, ...serving }: Ending,
): { readonly head: Head; readonly run: RunRecord } {
  const { progress, addressed } = head;
  const [nextRun, ...queue] = head.queue;
  const interrupted = end.status === 'interrupted' ? { interruptedRun: run.runId } : {};
  const waits = end.status === 'interrupted' || head.interruptedRun !== undefined;
  const freed: Head = {
    ...without(withoutRun(head), 'progress', 'addressed'),
    queue,
    claims: 0,
    updatedAt: Math.max(at, head.updatedAt),
    next: waits ? head.next : [],
    openInterrupts: waits ? head.openInterrupts : [],
    ...(waits && addressed && { addressed }),
    ...(progress !== undefined && (waits || heldMessages(progress)) ? { progress } : {}),
    ...(!waits && left),
    ...interrupted,
    ...failedRun(head, run.runId, end),
    ...(nextRun === undefined ? {} : { activeRun: nextRun, activeStatus: 'queued' as const }),
  };
  return {
    head: fixNextRevision(freed, serving),
    run: {
      ...servedRun(without(run, 'wakeAt'), head),
      ...{ status: end.status, updatedAt: at, end, outputTo: head.nextPosition },
      ...(wakeAt === undefined ? {} : { wakeAt }),
    },
  };
}

/** Ends a run from outside. The epoch rises, so that its worker commits nothing more. */
export function decideEnd(
  request: EndRunRequest,
  snapshot: Snapshot,
  { now, routings }: { readonly now: number; readonly routings: RoutingsByAgent },
): Decision<EndRunReply> {
  const { head, runs } = snapshot;
  const run = runs.get(request.runId);
  const { threadId = run?.threadId ?? '' } = request;
  const isWaiting = head?.interruptedRun === request.runId && head.activeRun === undefined;
  // A fork waits with what a run of another thread has asked.
  if (!head || head.deleting || !(run ?? isWaiting)) throw notFound(`run "${request.runId}" does not exist`);
  if (!run || !isOpen(run.status)) {
    const reply = { status: run && !isOpen(run.status) ? run.status : 'interrupted', endedNow: false } as const;
    if (request.keepsQuestions === true) return { reply };
    const key = { owner: request.owner, threadId };
    const dropped = isWaiting ? openAddressed(head).map((question) => questionIdOf(key, question)) : [];
    if (dropped.length > 0)
      return { change: dropQuestions(head, run, now), reply: { ...reply, droppedQuestions: dropped } };
    return run?.status === 'interrupted' && run.wakeAt !== undefined
      ? { change: dropDeadlines(head, run), reply }
      : { reply };
  }
  if (request.onlyWaiting === true && (head.activeRun !== run.runId || run.status !== 'queued'))
    throw stale(`run "${request.runId}" is not waiting for a worker`);

  const end: RunEnd = {
    status: request.status,
    iterations: committedIterations(head, run),
    recursionLimitReached: false,
    ...(request.error === undefined ? {} : { error: request.error }),
  };
  const reply = { status: request.status, endedNow: true };
  if (head.activeRun !== run.runId) {
    const queue = head.queue.filter((id) => id !== run.runId);
    const left: Head = { ...head, queue, ...failedRun(head, run.runId, end) };
    return {
      change: {
        head: left,
        runs: [{ ...run, status: request.status, updatedAt: now, end }],
      },
      reply,
    };
  }
  const keeping = keepPartial(request, snapshot, head, now);
  const ended = endRun({ ...(keeping?.change.head ?? head), epoch: head.epoch + 1 }, run, {
    ...{ end, at: now, routings },
    thread: { owner: request.owner, threadId: run.threadId },
    left: (isFailed(end) ? leftByEnd : leftByStop)(head, run, now),
  });
  return {
    change: { ...keeping?.change, head: ended.head, runs: [ended.run], ...endedRetry(ended.run) },
    reply: { ...reply, ...(keeping && { kept: keeping.kept }), ...nextOf(ended.head) },
  };
}

/** Takes the deadlines from the questions of an interrupted run, which stay open: who stops it does so, and who restores the thread. */
export function dropDeadlines(head: Head, { wakeAt: _, ...run }: RunRecord): Change {
  const { end } = run;
  const { progress } = head;
  const isWaiting = progress !== undefined && head.interruptedRun === run.runId;
  const shown = end?.interruptsJson;
  return {
    head: isWaiting ? { ...head, progress: withoutDeadlines(progress) } : head,
    runs: [
      { ...run, ...(end && shown !== undefined && { end: { ...end, interruptsJson: withoutShownDeadlines(shown) } }) },
    ],
  };
}

/** Drops the questions of the run that asked, with those of others. */
function dropQuestions(head: Head, run: RunRecord | undefined, now: number): Change {
  const { runs } = run ? dropDeadlines(head, run) : {};
  return { head: { ...withoutQuestions(head), updatedAt: Math.max(now, head.updatedAt) }, ...(runs && { runs }) };
}

/** What is kept, and the change that puts it. */
interface Keeping {
  readonly kept: KeptPartial;
  readonly change: Change;
}

/** A step of no node, which puts what the step under way has published so far. */
function keepPartial(
  { partial, owner, runId }: EndRunRequest,
  snapshot: Snapshot,
  head: Head,
  at: number,
): Keeping | undefined {
  const fresh = partial?.messages.filter(({ messageId }) => !snapshot.entries.has(messageId)) ?? [];
  // A message after a call that has no result would stand between the two.
  if (!partial || fresh.length === 0 || head.activeStatus !== 'running' || head.openCalls.length > 0) return undefined;
  const { messages, nextPosition } = placeMessages(fresh, head.nextPosition, new Map());
  const stepped: Head = { ...head, version: head.version + 1, nextPosition };
  const info = { source: 'step', runId, step: head.step, nodes: [], at } as const;
  try {
    refuseMessages(fresh, ['partial']);
    const change = withCheckpoint({ head: stepped, messages }, head, snapshot, info);
    refuseGrowth(head.size, change.head.size, partialWrite);
    refuseLargeChange(change, { owner, threadId: snapshot.runs.get(runId)?.threadId ?? '' }, partialWrite.messages);
    return { kept: { seq: partial.seq, messageIds: fresh.map(({ messageId }) => messageId) }, change };
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return undefined;
    throw error;
  }
}

const partialWrite: SizePlaces = { messages: ['partial'], fields: ['partial'] };

/**
 * Releases a run from its worker. The run waits for another worker as if it had never been claimed, and the released claim does not
 * count: a run may be released any number of times.
 */
export function decideRelease(
  { runId, epoch }: ReleaseRunRequest,
  { head, runs }: Snapshot,
  now: number,
): Decision<ReleaseRunReply> {
  const run = runs.get(runId);
  const isHeld = head?.activeRun === runId && head.activeStatus === 'running' && head.epoch === epoch;
  if (!isHeld || !run || head.deleting) throw stale(`run "${runId}" is not this worker's to release`);
  const { worker: _, ...left } = head;
  const released: Head = {
    ...left,
    epoch: epoch + 1,
    activeStatus: 'queued',
    claims: Math.max(0, head.claims - 1),
  };
  return { change: { head: released, runs: [{ ...run, status: 'queued', updatedAt: now }] }, reply: {} };
}

/** A step that is to be written. */
type StepDecision = Required<Decision<CommitStepReply>>;

/** The request that would commit the fused step alone, after the step of the request. */
function fusedRequest({ owner, threadId, runId, epoch, step }: CommitStepRequest, fused: FusedStep): CommitStepRequest {
  return {
    ...{ owner, threadId, runId, epoch, step: step + 1 },
    ...{ fields: {}, replacesMessages: false, removedFromContext: [], openInterrupts: [] },
    ...fused,
  };
}

/** What a decision about the fused step sees. Its messages are new and it writes no fields, so that it needs no more than this. */
function snapshotAfter(before: Snapshot, { head, runs = [] }: Change): Snapshot {
  return {
    ...{ head, fields: {}, entries: new Map(), context: [] },
    runs: new Map([...before.runs, ...runs.map((run) => [run.runId, run] as const)]),
  };
}

/** One change that writes both steps, each with its version and its checkpoint. */
function fuse({ change: first, reply: { rejoined } }: StepDecision, second: StepDecision): StepDecision {
  const { messages = [], removedFromContext = [], fields = {}, runs = [], checkpoint, head } = first;
  const positions = messages.map(({ position }) => position);
  const written = new Map([...runs, ...(second.change.runs ?? [])].map((run) => [run.runId, run]));
  return {
    change: {
      ...second.change,
      ...{ fields, removedFromContext },
      messages: [...messages, ...(second.change.messages ?? [])],
      ...(written.size === 0 ? {} : { runs: [...written.values()] }),
      ...(checkpoint ? { passed: { version: head.version, checkpoint, positions } } : {}),
    },
    reply: { ...second.reply, ...(rejoined === undefined ? {} : { rejoined }) },
  };
}
