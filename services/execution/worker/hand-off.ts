import { isServiceError } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { RunCalls } from '@agent-workflow/protos/threads';
import type { RunQueue } from '../ports/queue.ts';
import type { ActiveRun, ActiveRuns } from './active-runs.ts';
import type { Lease } from './lease.ts';

interface HandOffOptions {
  readonly threads: RunCalls;
  readonly queue: RunQueue;
  readonly log: Log;
  readonly lease: Pick<Lease, 'release'>;
  readonly active: ActiveRuns;
}

/** How long the record may take to release a run, in milliseconds. */
const releaseMs = 2000;
/** How long appends and commits that were sent may take to arrive, in milliseconds. */
const arriveMs = 300;

/**
 * Stops the runs under way and puts them into the queue with the epochs of this worker's claims, so that other workers take
 * them over at once. `allEnded` resolves when none is under way.
 */
export async function handOff(options: HandOffOptions, allEnded: Promise<void>): Promise<void> {
  const { lease, active, log } = options;
  const left = active.all();
  await lease.release().catch((error: unknown) => {
    log.warn({ err: error }, 'the lease could not be released; it expires');
  });
  active.stopAll(new Error('the worker drains'));
  // The other worker must find what this one has sent already.
  await settledWithin(allEnded, arriveMs);
  await Promise.all(left.map(async (run) => release(options, run)));
  log.warn({ runs: left.length }, 'runs under way were handed off');
}

/** Releases one run on record, so that its claim does not count. A run that has ended meanwhile needs no release. */
async function release({ threads, queue }: HandOffOptions, { takeoverEpoch: epoch, ...run }: ActiveRun): Promise<void> {
  const { owner, threadId, runId } = run;
  try {
    await threads.releaseRun({ owner, threadId, runId, epoch }, within(releaseMs));
    await queue.enqueue(run);
  } catch (error) {
    if (!isServiceError(error, 'Stale')) await queue.enqueue({ ...run, takeoverEpoch: epoch });
  }
}
