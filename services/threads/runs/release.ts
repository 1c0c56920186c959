import { stale } from '@agent-workflow/kit/errors';
import type { ReleaseRunReply, ReleaseRunRequest } from '@agent-workflow/protos/threads';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { Head } from '../ports/record.ts';

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
