import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { createShortLivedMap } from '@agent-workflow/kit/short-lived';
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
/** Runs that are checked at the same time. */
const checksAtOnce = 8;

export function openEndWatch(options: EndWatchOptions): EndWatch {
  const { threads, worker, firstMs, log } = options;
  const watched = createShortLivedMap<string, Watched>();
  const underWay = new Map<Watched, Promise<void>>();
  let due: Watched[] = [];

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

  const noteFailure = ({ runId }: Watched, error: unknown): void => {
    // The thread is deleted: its deletion publishes the ends of its runs.
    if (isServiceError(error, 'NotFound')) return;
    log.warn({ err: error, runId }, 'the record or the log of a followed run is unavailable; it is tried again');
  };

  /** Begins checks of runs that are due, as many as there may be: one that takes long, as where a log cannot be written, delays no other. */
  const begin = (): void => {
    while (underWay.size < checksAtOnce) {
      const run = due.shift();
      if (!run) return;
      if (underWay.has(run)) continue;
      const checking = check(run)
        .catch((error: unknown) => noteFailure(run, error))
        .finally(() => {
          underWay.delete(run);
          begin();
        });
      underWay.set(run, checking);
    }
  };

  const checkAll = (): void => {
    const now = performance.now();
    due = watched.values().filter(({ dueMs }) => dueMs <= now);
    begin();
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
    [Symbol.asyncDispose]: async () => {
      await checks[Symbol.asyncDispose]();
      due = [];
      await Promise.all(underWay.values());
    },
  };
}
