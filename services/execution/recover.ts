import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import type { RunQueue } from './port.ts';

export interface RecoverParts {
  readonly threads: Threads;
  readonly queue: RunQueue;
}

const runsAtOnce = 500;
const callTimeoutMs = 30_000;

/**
 * Puts the runs of a process that died back into the queue, before any run is driven: those that waited, and those that
 * were under way, which go on at the step after their last commit. Gives how many.
 */
export async function recoverRuns({ threads, queue }: RecoverParts): Promise<number> {
  let recovered = 0;
  for (let cursor: string | undefined; ;) {
    const page = await threads.listOpenRuns(
      { limit: runsAtOnce, ...(cursor === undefined ? {} : { cursor }) },
      within(callTimeoutMs),
    );
    for (const { owner, threadId, runId, runnable, status } of page.runs) {
      if (!runnable) continue;
      await queue.enqueue({ owner, threadId, runId, takeover: status === 'running' });
      recovered++;
    }
    ({ cursor } = page);
    if (cursor === undefined) return recovered;
  }
}
