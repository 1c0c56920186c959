import { badRequest, conflict, notFound, ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { AcceptRunReply, AcceptRunRequest } from '@agent-workflow/protos/threads';
import { toInput } from '../json.ts';
import type { Decision, Head, RunRecord, Snapshot } from '../port.ts';
import { claim, matchesInterrupts } from './claim.ts';
import { endRun } from './commit.ts';

/** Stores a run and gives it the thread, or a place in its queue. */
export function decideAccept(request: AcceptRunRequest, snapshot: Snapshot, now: number): Decision<AcceptRunReply> {
  if (snapshot.head?.deleting) throw notFound(`thread "${request.threadId}" does not exist`);
  const known = snapshot.runs.get(request.runId);
  if (known) return { reply: replyFor(known, snapshot.head) };

  const isNewThread = snapshot.head === undefined;
  const head = snapshot.head ?? newHead(request, now);
  const run = newRun(request, isNewThread, now);
  if (head.activeRun === undefined) return begin(request, { ...snapshot, head }, run, now);
  if (request.multitaskStrategy !== 'interrupt') return enqueue(request, head, run, now);

  const { free, stopped } = stopActive(snapshot, head, now);
  const { change, reply } = begin(request, { ...snapshot, head: free }, run, now);
  return {
    ...(change ? { change: { ...change, runs: [stopped, ...(change.runs ?? [])] } } : {}),
    reply: { ...reply, stoppedRunId: stopped.runId },
  };
}

/** Gives an idle thread to the run, and claims it when that was asked for. */
function begin(
  request: AcceptRunRequest,
  { head, positions }: Snapshot & { readonly head: Head },
  run: RunRecord,
  now: number,
): Decision<AcceptRunReply> {
  refuseUnknownAnswers(request, head);
  if (request.resume && !matchesInterrupts(request.resume.keys, head)) {
    throw badRequest('resume: answers no question that the thread has open, or does not say which');
  }
  const idle: Head = { ...head, updatedAt: now, newestRun: run.runId, activeRun: run.runId, claims: 0 };
  if (!request.claim) {
    const active: Head = { ...idle, activeStatus: 'queued' };
    return {
      change: { head: active, runs: [{ ...run, input: toInput(request.messages) }] },
      reply: replyFor(run, active),
    };
  }
  const { messages: input, hasNewInput } = request;
  const { change, reply } = claim({ head: idle, run, input, hasNewInput, positions, now });
  return { change, reply: { ...replyFor(run, change.head), status: 'running', runnable: false, claimed: reply } };
}

/** Ends the run that holds the thread; those that wait go on waiting behind whoever takes its place. */
function stopActive({ runs }: Snapshot, head: Head, now: number): { readonly free: Head; readonly stopped: RunRecord } {
  const active = runs.get(head.activeRun ?? '');
  if (!active) throw new ServiceError('Internal', 'the run that holds the thread is not on record');
  const end = { status: 'stopped', iterations: 0, recursionLimitReached: false };
  const ended = endRun({ ...head, epoch: head.epoch + 1, queue: [] }, active, end, now);
  return { free: { ...ended.head, queue: head.queue }, stopped: ended.run };
}

function enqueue(request: AcceptRunRequest, head: Head, run: RunRecord, now: number): Decision<AcceptRunReply> {
  const { runId, multitaskStrategy } = request;
  if (multitaskStrategy === 'reject') throw conflict(`thread "${request.threadId}" has a run under way`);
  if (head.queue.length >= sizes.queuedRuns)
    throw conflict(`thread "${request.threadId}" has ${String(sizes.queuedRuns)} runs waiting`);
  const queued: Head = { ...head, updatedAt: now, newestRun: runId, queue: [...head.queue, runId] };
  return {
    change: { head: queued, runs: [{ ...run, input: toInput(request.messages) }] },
    reply: replyFor(run, queued),
  };
}

function refuseUnknownAnswers({ answers }: AcceptRunRequest, { openCalls }: Head): void {
  const unknown = answers.find((id) => !openCalls.some(({ callId }) => callId === id));
  if (unknown !== undefined) throw badRequest(`messages: no open tool call has the id "${unknown}"`);
}

const replyFor = (run: RunRecord, head: Head | undefined): AcceptRunReply => ({
  runId: run.runId,
  threadId: run.threadId,
  isNewThread: run.isNewThread,
  status: run.status,
  runnable: run.status === 'queued' && head?.activeRun === run.runId,
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
});

/** How much room a version leaves for changes within one millisecond. */
const versionsPerMs = 1000;

const newHead = ({ threadName, metadataJson }: AcceptRunRequest, now: number): Head => ({
  ...(threadName === undefined ? {} : { name: threadName }),
  ...(metadataJson === undefined ? {} : { metadata: metadataJson }),
  createdAt: now,
  updatedAt: now,
  version: now * versionsPerMs,
  epoch: 0,
  step: 0,
  queue: [],
  nextPosition: 0,
  openCalls: [],
  next: [],
  openInterrupts: [],
  claims: 0,
  deleting: false,
});
