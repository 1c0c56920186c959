import type { Threads } from '@agent-workflow/protos/threads';
import type { RunLog } from '../ports/port.ts';
import { openRuns } from './sweep.ts';

interface ExpiringParts {
  readonly log: RunLog;
  readonly threads: Pick<Threads, 'listOpenRuns'>;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** Logs that are removed together: so few that removing them holds nobody up. */
const logsAtOnce = 100;

/**
 * Removes the logs that ended before `time`, and those whose last event is from before it though it is not a terminal one: their
 * worker died, or their thread was deleted, before the end was published. A run that is still open keeps its log, however long
 * it has been quiet.
 */
export async function expireLogs({ log, threads, time }: ExpiringParts): Promise<void> {
  while ((await log.expire(time, logsAtOnce)) === logsAtOnce);
  // The record is read after the logs: a run is on record as open before its log begins.
  const orphans = new Set(await log.unended(time));
  if (orphans.size === 0) return;
  for await (const runs of openRuns(threads)) for (const { runId } of runs) orphans.delete(runId);
  const runIds = [...orphans];
  for (let first = 0; first < runIds.length; first += logsAtOnce)
    await log.drop(runIds.slice(first, first + logsAtOnce));
}
