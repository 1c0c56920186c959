import type { RunnableRun } from '../ports/queue.ts';

/**
 * Takes runs that have one claim left, and drives them one after another. Their workers died while these runs were under way,
 * and one of the runs may be the reason. Driven side by side, it would use up the last claims of the others with its own.
 * `drive` must not reject.
 */
export function createLastClaims(drive: (run: RunnableRun) => Promise<void>): (run: RunnableRun) => void {
  const waiting = new Map<string, RunnableRun>();
  let isDriving = false;
  const driveWaiting = async (): Promise<void> => {
    isDriving = true;
    for (const [runId, run] of waiting) {
      waiting.delete(runId);
      await drive(run);
    }
    isDriving = false;
  };
  return (run) => {
    waiting.set(run.runId, run);
    if (!isDriving) void driveWaiting();
  };
}
