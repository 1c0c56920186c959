import type { RunnableRun } from '../ports/port.ts';

/**
 * Takes runs that have one claim left, and drives them one after another. What makes such runs is that their workers died
 * while they were under way, and one of them may have been the reason: were they driven side by side, it would take the
 * others' last claims with its own. `drive` must not throw.
 */
export function createLastClaims(drive: (run: RunnableRun) => Promise<void>): (run: RunnableRun) => void {
  const waiting = new Map<string, RunnableRun>();
  let isGoing = false;
  const goOn = async (): Promise<void> => {
    isGoing = true;
    for (const [runId, run] of waiting) {
      waiting.delete(runId);
      await drive(run);
    }
    isGoing = false;
  };
  return (run) => {
    waiting.set(run.runId, run);
    if (!isGoing) void goOn();
  };
}
