import { setTimeout as delay } from 'node:timers/promises';
import type { SweepCalls } from '@agent-workflow/protos/threads';
import type { RunLog } from '../ports/log.ts';
import { openRuns } from './open-runs.ts';
import { allSleepers, sleepingRuns } from './wakes.ts';

interface ExpiringParts {
  readonly eventLog: RunLog;
  readonly threads: Pick<SweepCalls, 'listOpenRuns' | 'listSleepingRuns'>;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Ends the work between two removals. */
  readonly signal: AbortSignal;
}

/** Logs that are removed together: so few that one removal blocks the process only briefly. */
const logsAtOnce = 100;
/** How much longer the rest after a removal is than the removal, and its bound in milliseconds: callers come first. */
const restFactor = 3;
const longestRestMs = 10;

/**
 * Removes the logs that ended before `time`, and those without a terminal event whose last event is older than `time`: their
 * worker died, or their thread was deleted, before the end was published. A run that is still open keeps its log, however old
 * its last event is.
 */
export async function expireLogs({ eventLog, threads, time, signal }: ExpiringParts): Promise<void> {
  for (let begun = performance.now(); (await eventLog.expire(time, logsAtOnce)) === logsAtOnce;) {
    await delay(Math.min((performance.now() - begun) * restFactor, longestRestMs));
    if (signal.aborted) return;
    begun = performance.now();
  }
  // The record is read after the logs, because a run is open on record before its log begins.
  const orphans = new Set(await eventLog.unended(time));
  if (orphans.size === 0) return;
  for await (const runs of openRuns(threads)) for (const { runId } of runs) orphans.delete(runId);
  for await (const { runs } of sleepingRuns(threads, allSleepers)) for (const { runId } of runs) orphans.delete(runId);
  const runIds = [...orphans];
  for (let first = 0; first < runIds.length; first += logsAtOnce)
    await eventLog.drop(runIds.slice(first, first + logsAtOnce));
}
