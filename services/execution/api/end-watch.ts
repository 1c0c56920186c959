import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { publishEnd, type EndParts } from '../events/publish-end.ts';
import type { Worker } from '../worker/worker.ts';

/**
 * Finds ends that were not published. A worker that dies between its last commit and its last event leaves a run that has ended
 * on record, so that no sweep finds it, while its followers wait.
 */
export interface EndWatch extends AsyncDisposable {
  /** Reads the record of the run at growing intervals, until the result is called. */
  readonly watch: (owner: string, runId: string) => () => void;
}

interface EndWatchOptions extends EndParts {
  readonly worker: Pick<Worker, 'drives'> | undefined;
  /** Time until the record is first read, in milliseconds. It doubles each time. */
  readonly firstMs: number;
  readonly log: Log;
}

interface Watched {
  readonly owner: string;
  readonly runId: string;
  followers: number;
  waitMs: number;
  dueMs: number;
  /** Whether it had ended when the record was last read: its worker has had the time to publish the end. */
  hasEnded: boolean;
}

/** The longest interval, as a multiple of `firstMs`. */
const longest = 16;
const callTimeoutMs = 30_000;

export function openEndWatch(options: EndWatchOptions): EndWatch {
  const { threads, worker, firstMs, log } = options;
  const watched = new Map<string, Watched>();

  const check = async (run: Watched): Promise<void> => {
    run.waitMs = Math.min(run.waitMs * 2, firstMs * longest);
    run.dueMs = performance.now() + run.waitMs;
    if (worker?.drives(run.runId) === true) return;
    const { owner, runId } = run;
    const record = await threads.getRun({ owner, runId }, within(callTimeoutMs));
    if (!record.end) return;
    if (run.hasEnded) await publishEnd(options, record);
    else run.dueMs = performance.now();
    run.hasEnded = true;
  };

  const checkAll = async (): Promise<void> => {
    const now = performance.now();
    for (const run of [...watched.values()].filter(({ dueMs }) => dueMs <= now)) {
      await check(run).catch((error: unknown) => {
        // The thread is deleted: its deletion publishes the ends of its runs.
        if (!isServiceError(error, 'NotFound'))
          log.warn(
            { err: error, runId: run.runId },
            'the record of a followed run could not be read; it is tried again',
          );
      });
    }
  };

  const checks = every(firstMs, checkAll, () => undefined);

  return {
    watch: (owner, runId) => {
      const dueMs = performance.now() + firstMs;
      const run = watched.get(runId) ?? { owner, runId, followers: 0, waitMs: firstMs, dueMs, hasEnded: false };
      run.followers++;
      watched.set(runId, run);
      return () => {
        run.followers--;
        if (run.followers === 0) watched.delete(runId);
      };
    },
    [Symbol.asyncDispose]: async () => checks[Symbol.asyncDispose](),
  };
}
