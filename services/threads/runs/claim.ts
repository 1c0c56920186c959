import { newId } from '@agent-workflow/kit/ids';
import { stale } from '@agent-workflow/kit/errors';
import type { Message } from '@agent-workflow/protos/message';
import type { ClaimedRun, ClaimRunRequest, MessageEntry, OpenCall } from '@agent-workflow/protos/threads';
import { fromInput, toJson } from '../json.ts';
import type { Change, Decision, Head, RunRecord, Snapshot } from '../port.ts';
import { placeMessages } from './place.ts';

/** Gives a run that holds its thread to a worker. `input` of the reply's `appended` is not in the log before this. */
export function decideClaim(request: ClaimRunRequest, snapshot: Snapshot, now: number): Decision<ClaimedRun> {
  const { head } = snapshot;
  const run = snapshot.runs.get(request.runId);
  if (!head || head.deleting || !run || head.activeRun !== run.runId || head.activeStatus !== 'queued') {
    throw stale(`run "${request.runId}" is not waiting for a worker`);
  }
  const input = run.input ? fromInput(run.input) : [];
  return claim({ head, run, input, hasNewInput: run.hasNewInput, positions: snapshot.positions, now });
}

/** The ids that a claim of this run looks up in the log. */
export const inputIds = (run: RunRecord | undefined): string[] =>
  run?.input ? fromInput(run.input).map(({ messageId }) => messageId) : [];

interface Claim {
  readonly head: Head;
  readonly run: RunRecord;
  readonly input: readonly MessageEntry[];
  readonly hasNewInput: boolean;
  readonly positions: Snapshot['positions'];
  readonly now: number;
}

/** The claim itself: raises the epoch and lets the input into the log. */
export function claim({ head, run, input, hasNewInput, positions, now }: Claim): { change: Change; reply: ClaimedRun } {
  const unmatched = run.answers.filter((id) => !head.openCalls.some(({ callId }) => callId === id));
  // A run that answers calls nobody made is about to fail: it takes nothing from whoever the thread waits for.
  const entry = unmatched.length > 0 ? untouched(head) : enter(head, run.answers, input, hasNewInput, now);
  const { messages, nextPosition } = placeMessages(entry.appended, head.nextPosition, positions);
  const resumes = head.interruptedRun;

  const claimed: Head = {
    ...entry.head,
    version: head.version + 1,
    epoch: head.epoch + 1,
    step: 0,
    activeRun: run.runId,
    activeStatus: 'running',
    nextPosition,
  };
  const { input: _inLogNow, ...rest } = run;
  const record: RunRecord = {
    ...rest,
    status: 'running',
    updatedAt: now,
    outputFrom: nextPosition,
    ...(resumes === undefined ? {} : { resumes }),
  };
  return {
    change: { head: claimed, runs: [record], messages },
    reply: {
      runId: run.runId,
      threadId: run.threadId,
      requestId: run.requestId,
      granularity: run.granularity,
      isNewThread: run.isNewThread,
      epoch: claimed.epoch,
      step: claimed.step,
      optionsJson: run.options,
      previousVersion: head.version,
      version: claimed.version,
      appended: entry.appended,
      replaced: nextPosition < head.nextPosition + entry.appended.length,
      next: entry.next,
      openCalls: claimed.openCalls,
      unmatchedAnswers: unmatched,
      ...(resumes === undefined ? {} : { resumes }),
    },
  };
}

interface Entry {
  readonly head: Head;
  readonly appended: readonly MessageEntry[];
  readonly next: readonly string[];
}

const untouched = (head: Head): Entry => ({ head, appended: [], next: head.next });

/** What the input does to the thread: answers calls, goes on where an interrupted run stood, or begins anew. */
function enter(
  { interruptedRun: _, ...head }: Head,
  answers: readonly string[],
  input: readonly MessageEntry[],
  isNew: boolean,
  now: number,
): Entry {
  const open = head.openCalls.filter(({ callId }) => !answers.includes(callId));
  const cancelled = isNew ? open : [];
  const startsAnew = isNew && (cancelled.length > 0 || answers.length === 0);
  return {
    head: { ...head, openCalls: isNew ? [] : open, next: [] },
    appended: [...cancelled.map((call) => cancellation(call, now)), ...input],
    next: startsAnew ? [] : head.next,
  };
}

/** The answer that a new user message gives to a call nobody answered. */
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
  return { messageId: message.message_id, json: toJson(message) };
}
