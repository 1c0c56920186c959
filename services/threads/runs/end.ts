import { notFound, stale } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import type { EndRunReply, EndRunRequest, RunEnd } from '@agent-workflow/protos/threads';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { RoutingsByAgent } from '../agents/routings.ts';
import { endRun, nextOf } from './commit.ts';
import { committedIterations } from './revision.ts';

/** Ends a run from outside. The epoch rises, so that its worker commits nothing more. */
export function decideEnd(
  request: EndRunRequest,
  { head, runs }: Snapshot,
  { now, routings }: { readonly now: number; readonly routings: RoutingsByAgent },
): Decision<EndRunReply> {
  const run = runs.get(request.runId);
  if (!head || head.deleting || !run) throw notFound(`run "${request.runId}" does not exist`);
  if (!isOpen(run.status)) return { reply: { status: run.status, endedNow: false } };
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
    const left = { ...head, queue: head.queue.filter((id) => id !== run.runId) };
    return {
      change: {
        head: left,
        runs: [{ ...run, status: request.status, updatedAt: now, end }],
      },
      reply,
    };
  }
  const ended = endRun({ ...head, epoch: head.epoch + 1 }, run, {
    ...{ end, at: now, routings },
    thread: { owner: request.owner, threadId: run.threadId },
  });
  return {
    change: { head: ended.head, runs: [ended.run] },
    reply: { ...reply, ...nextOf(ended.head) },
  };
}
