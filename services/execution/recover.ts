import { within } from '@agent-workflow/protos/call';
import type { Run } from '@agent-workflow/protos/threads';
import { publishEnd, type EndParts } from './publish-end.ts';
import type { RunQueue } from './port.ts';

export interface RecoverParts extends EndParts {
  readonly queue: RunQueue;
}

const runsAtOnce = 500;
const callTimeoutMs = 30_000;

const workerDied = { code: 'INTERNAL_ERROR', message: 'the process ended while the run was under way' };

/**
 * Puts the runs of a process that died in order, before any run is driven: one that was under way is failed, with what it
 * committed kept; one that waited is queued again. Gives how many of each.
 */
export async function recoverRuns(parts: RecoverParts): Promise<{ readonly failed: number; readonly queued: number }> {
  const { threads, queue } = parts;
  let failed = 0;
  let queued = 0;
  for (let cursor: string | undefined; ;) {
    const page = await threads.listOpenRuns(
      { limit: runsAtOnce, ...(cursor === undefined ? {} : { cursor }) },
      within(callTimeoutMs),
    );
    for (const run of page.runs) {
      if (run.status === 'running') {
        await failRun(parts, run);
        failed++;
      } else if (run.runnable) {
        await queue.enqueue(run);
        queued++;
      }
    }
    ({ cursor } = page);
    if (cursor === undefined) return { failed, queued };
  }
}

async function failRun(parts: RecoverParts, run: Run): Promise<void> {
  const { threads, queue } = parts;
  const { owner, threadId, runId } = run;
  const end = { status: 'failed', iterations: 0, recursionLimitReached: false, error: workerDied };
  const { nextRunId } = await threads.endRun(
    { owner, runId, status: 'failed', error: workerDied },
    within(callTimeoutMs),
  );
  await publishEnd(parts, { ...run, status: 'failed', end });
  if (nextRunId !== undefined) await queue.enqueue({ owner, threadId, runId: nextRunId });
}
