import type { Values } from '@agent-workflow/kit/env';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { logFailures } from '@agent-workflow/runtime/retries';
import type { executionSettings } from './config.ts';
import { deleteIdle, finishDeletions, type DeletionSweepParts, type OnDeletionFailure } from './deletion-sweeps.ts';
import { expireLogs } from './worker/expire-logs.ts';

interface HousekeepingOptions extends DeletionSweepParts {
  readonly log: Log;
  readonly values: Pick<Values<typeof executionSettings>, 'EVENTS_RETENTION' | 'THREAD_TTL'>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
}

const intervalMs = 60_000;

/**
 * Finishes deletions, expires event logs and deletes idle threads: every minute, and once at the start. Only deletions are finished
 * before it resolves: after a pause, the logs of a whole day may have expired, and nobody waits for their removal.
 */
export async function openHousekeeping(options: HousekeepingOptions): Promise<AsyncDisposable> {
  const { eventLog, threads, log, values, now } = options;
  await using opening = new AsyncDisposableStack();
  const failed = (what: string): ReturnType<typeof logFailures> =>
    logFailures({ log, text: `${what} failed; the next time tries again` });
  const onFailure: OnDeletionFailure = (error, { threadId }) => {
    log.error({ err: error, threadId }, 'a thread could not be deleted; it is tried again');
  };
  const finish = async (): Promise<void> => finishDeletions(options, onFailure);
  const onUnfinished = failed('finishing deletions');
  await finish().catch(onUnfinished);
  opening.use(every(intervalMs, finish, onUnfinished));
  const expire = async (signal: AbortSignal): Promise<void> =>
    expireLogs({ eventLog, threads, time: now() - values.EVENTS_RETENTION * 1000, signal });
  opening.use(repeatNow(intervalMs, expire, failed('expiring event logs')));
  if (values.THREAD_TTL > 0) {
    const deleteNow = async (signal: AbortSignal): Promise<void> =>
      deleteIdle(options, { time: now() - values.THREAD_TTL * 1000, signal, onFailure });
    opening.use(repeatNow(intervalMs, deleteNow, failed('deleting idle threads')));
  }
  const opened = opening.move();
  return { [Symbol.asyncDispose]: async () => opened.disposeAsync() };
}

/** Does work at once and then every `ms`. The caller does not wait for the first time, which may take long. Disposal aborts it. */
function repeatNow(
  ms: number,
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): AsyncDisposable {
  const closing = new AbortController();
  let isFirst = true;
  const begun = work(closing.signal)
    .catch(onError)
    .finally(() => {
      isFirst = false;
    });
  const repeated = every(ms, async () => (isFirst ? undefined : work(closing.signal)), onError);
  return {
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.all([begun, repeated[Symbol.asyncDispose]()]);
    },
  };
}
