import { stale } from '@agent-workflow/kit/errors';
import type { CommitStepReply, CommitStepRequest, RunEnd } from '@agent-workflow/protos/threads';
import type { Decision, Head, RunRecord, RunStatus, Snapshot } from '../port.ts';
import { placeMessages } from './place.ts';

/** Commits one step behind the fence; with `end` also ends the run and gives the thread to the next one. */
export function decideCommit(
  request: CommitStepRequest,
  { head, runs, positions }: Snapshot,
): Decision<CommitStepReply> {
  const { runId, epoch, step, at, end } = request;
  if (
    head?.activeRun !== runId ||
    head.activeStatus !== 'running' ||
    head.epoch !== epoch ||
    head.step !== step ||
    head.deleting
  ) {
    throw stale(`step ${String(step)} of run "${runId}" is not this worker's to commit`);
  }
  const { messages, nextPosition } = placeMessages(request.messages, head.nextPosition, positions);
  const removedFromContext = request.removedFromContext.flatMap((id) => positions.get(id) ?? []);
  const { progress: _, ...before } = head;
  const stepped: Head = {
    ...before,
    version: head.version + 1,
    step: step + 1,
    nextPosition,
    openCalls: request.openCalls,
    next: request.next,
    openInterrupts: head.interruptedRun === undefined ? request.openInterrupts : head.openInterrupts,
    claims: 0,
    ...progressAfter(request, head),
  };
  const run = runs.get(runId);
  const ended = end && run ? endRun(stepped, run, end, at) : undefined;
  return {
    change: {
      head: ended?.head ?? stepped,
      fields: request.fields,
      messages,
      removedFromContext,
      ...(ended ? { runs: [ended.run] } : {}),
      checkpoint: { runId, step, nodes: request.nodes, at },
    },
    reply: {
      version: stepped.version,
      ...(ended?.head.activeRun === undefined ? {} : { nextRunId: ended.head.activeRun }),
    },
  };
}

/** A run that fails before it began leaves what the interrupted one before it keeps. */
function progressAfter(
  { progressJson }: CommitStepRequest,
  { interruptedRun, progress }: Head,
): Pick<Head, 'progress'> {
  const kept = progressJson ?? (interruptedRun === undefined ? undefined : progress);
  return kept === undefined ? {} : { progress: kept };
}

/** Ends the run that holds the thread, and gives the thread to the run that waited longest. */
export function endRun(
  head: Head,
  run: RunRecord,
  end: RunEnd,
  at: number,
): { readonly head: Head; readonly run: RunRecord } {
  const { activeRun: _run, activeStatus: _status, progress, ...free } = head;
  const [nextRun, ...queue] = head.queue;
  const interrupted = end.status === 'interrupted' ? { interruptedRun: run.runId } : {};
  const waits = end.status === 'interrupted' || head.interruptedRun !== undefined;
  return {
    head: {
      ...free,
      queue,
      claims: 0,
      updatedAt: Math.max(at, head.updatedAt),
      next: waits ? head.next : [],
      openInterrupts: waits ? head.openInterrupts : [],
      ...(waits && progress !== undefined ? { progress } : {}),
      ...interrupted,
      ...(nextRun === undefined ? {} : { activeRun: nextRun, activeStatus: 'queued' as const }),
    },
    run: { ...run, status: end.status as RunStatus, updatedAt: at, end, outputTo: head.nextPosition },
  };
}
