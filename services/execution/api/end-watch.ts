import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { publishEnd, type EndParts } from '../events/publish-end.ts';
import type { Worker } from '../worker/worker.ts';

/**
 * Hears of ends that nobody says: a worker that dies between its last commit and its last event leaves a run that has ended
 * on record, which no sweep finds, and followers who wait.
 */
export interface EndWatch extends AsyncDisposable {
  /** Asks the record about the run now and then, until what is given is called. */
  readonly watch: (owner: string, runId: string) => () => void;
}

export interface EndWatchOptions extends EndParts {
  readonly worker: Pick<Worker, 'drives'> | undefined;
  /** Time after which the record is first asked, in milliseconds; each time after that it is twice as long. */
  readonly firstMs: number;
  readonly logger: Log;
}

interface Watched {
  readonly owner: string;
  readonly runId: string;
  followers: number;
  waitMs: number;
  dueMs: number;
  /** Whether it had ended when the record was asked before: its worker has had the time to say so. */
  hasEnded: boolean;
}

/** How many times `firstMs` the record is left alone at most. */
const longest = 16;
const callTimeoutMs = 30_000;

export function openEndWatch(options: EndWatchOptions): EndWatch {
  const { threads, worker, firstMs, logger } = options;
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
        // Whoever deletes a thread tells the ends of its runs.
        if (!isServiceError(error, 'NotFound'))
          logger.warn({ err: error, runId: run.runId }, 'a run could not be asked for');
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
