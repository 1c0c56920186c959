import { stale } from '@agent-workflow/kit/errors';
import type { ReleaseRunReply, ReleaseRunRequest } from '@agent-workflow/protos/threads';
import type { Decision, Head, Snapshot } from '../ports/port.ts';

/**
 * Takes the run from the worker that gives it up. It waits for another as one that was never claimed does, and the claim that
 * is given back does not count: a run may outlast any number of workers that leave in good order.
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
