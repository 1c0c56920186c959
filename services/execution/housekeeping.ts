import type { Values } from '@agent-workflow/kit/env';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { createDueSweep } from '@agent-workflow/runtime/due-sweep';
import { logFailures } from '@agent-workflow/runtime/retries';
import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError } from '@agent-workflow/kit/errors';
import { threadText } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import type { ResourceCalls, SweepCalls, ThreadKey } from '@agent-workflow/protos/threads';
import type { executionSettings } from './config.ts';
import { deleteThread, type DeleteParts } from './api/delete-thread.ts';
import { createHandleCompletion } from './completions.ts';
import { createHandleExpiry } from './expiries.ts';
import { expireLogs } from './worker/expire-logs.ts';

interface HousekeepingOptions extends DeletionSweepParts {
  readonly threads: DeletionSweepParts['threads'] & ResourceCalls;
  readonly log: Log;
  readonly values: Pick<Values<typeof executionSettings>, 'EVENTS_RETENTION' | 'THREAD_TTL' | 'WAIT_TTL'>;
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
  const handle = createHandleCompletion(options);
  const complete = createDueSweep({ threads, kind: 'completion', handle, handleMs: sweepTimeoutMs, log });
  opening.use(repeatNow(intervalMs, complete, failed('deleting the threads of ended runs')));
  const handleExpiry = createHandleExpiry(options, values.WAIT_TTL);
  const expireThreads = createDueSweep({
    threads,
    kind: 'expiry',
    handle: handleExpiry,
    handleMs: sweepTimeoutMs,
    log,
  });
  opening.use(repeatNow(intervalMs, expireThreads, failed('deleting the threads whose own time is over')));
  if (values.THREAD_TTL > 0) {
    const deleteNow = async (signal: AbortSignal): Promise<void> =>
      deleteIdle(options, { times: idleTimes(values, now()), signal, onFailure });
    opening.use(repeatNow(intervalMs, deleteNow, failed('deleting idle threads')));
  }
  const opened = opening.move();
  return { [Symbol.asyncDispose]: async () => opened.disposeAsync() };
}

interface IdleTimes {
  readonly before: number;
  /** Absent: those that wait are kept. */
  readonly waitingBefore?: number;
}

/** Since when threads have not changed that are deleted. */
function idleTimes({ THREAD_TTL: kept, WAIT_TTL: waiting }: HousekeepingOptions['values'], now: number): IdleTimes {
  const before = now - kept * 1000;
  return waiting === 0 ? { before } : { before, waitingBefore: Math.min(before, now - waiting * 1000) };
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

interface DeletionSweepParts extends DeleteParts {
  readonly threads: DeleteParts['threads'] & SweepCalls;
}

/** How long the deletion of one thread may take in the background, in milliseconds. */
const sweepTimeoutMs = 60_000;
const threadsPerSweep = 100;
const deletionsAtOnce = 4;
/** Deletions that may fail in one sweep. After so many the sweep ends, and the next one continues. */
const maxFailures = 200;

/** Called with each thread that could not be deleted. */
type OnDeletionFailure = (error: unknown, key: ThreadKey) => void;

/** Finishes deletions that were begun and did not succeed. One that fails again is skipped until the next sweep. */
async function finishDeletions(parts: DeletionSweepParts, onFailure: OnDeletionFailure): Promise<void> {
  await deleteEach({
    list: async (limit) => parts.threads.listDeleting({ limit }, within(sweepTimeoutMs)),
    remove: async (key) => {
      await deleteThread(parts, key, within(sweepTimeoutMs));
      return true;
    },
    onFailure,
  });
}

/**
 * Deletes the threads that have not changed since these times (milliseconds since 1970) and have no active run, until none is left or
 * the signal fires. A thread that cannot be deleted is skipped.
 */
async function deleteIdle(
  parts: DeletionSweepParts,
  {
    times,
    signal,
    onFailure,
  }: { readonly times: IdleTimes; readonly signal: AbortSignal; readonly onFailure: OnDeletionFailure },
): Promise<void> {
  await deleteEach({
    list: async (limit) => parts.threads.listIdle({ ...times, limit }, within(sweepTimeoutMs)),
    remove: async (key) => deleteIfIdle(parts, key, times),
    onFailure,
    signal,
  });
}

interface Deletions {
  /** Threads to delete, at most `limit`. A thread that was not deleted is listed again. */
  readonly list: (limit: number) => Promise<{ readonly threads: readonly ThreadKey[] }>;
  /** Resolves with whether the thread is gone. */
  readonly remove: (key: ThreadKey) => Promise<boolean>;
  readonly onFailure: OnDeletionFailure;
  readonly signal?: AbortSignal;
}

/** Reads lists until one has no new thread. Threads that remain are skipped, and the next list is longer by their number. */
async function deleteEach({ list, remove, onFailure, signal }: Deletions): Promise<void> {
  const skipped = new Set<string>();
  let failures = 0;
  while (signal?.aborted !== true && failures < maxFailures) {
    const limit = threadsPerSweep + skipped.size;
    const { threads } = await list(limit);
    const fresh = threads.filter((key) => !skipped.has(threadText(key)));
    await eachOf(fresh, deletionsAtOnce, async (key) => {
      if (signal?.aborted === true) return;
      try {
        if (!(await remove(key))) skipped.add(threadText(key));
      } catch (error) {
        skipped.add(threadText(key));
        failures += 1;
        onFailure(error, key);
      }
    });
    if (fresh.length === 0 || threads.length < limit) return;
  }
}

/** Reads the thread again first, because it may have changed since it was listed. */
async function deleteIfIdle(
  parts: DeleteParts,
  key: ThreadKey,
  { before, waitingBefore = 0 }: IdleTimes,
): Promise<boolean> {
  try {
    const { updatedAt, activeRunId, waitsFor } = await parts.threads.getThread(key, within(sweepTimeoutMs));
    if (updatedAt >= (waitsFor ? waitingBefore : before) || activeRunId !== undefined) return false;
    await deleteThread(parts, key, within(sweepTimeoutMs));
  } catch (error) {
    if (!isServiceError(error, 'NotFound')) throw error;
  }
  return true;
}
