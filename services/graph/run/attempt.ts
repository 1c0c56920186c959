import { retry } from '@agent-workflow/kit/retry';
import { mayRetry, NodeTimeout, toBackoff, type NodePolicy } from '../build/policy.ts';

/** The policy and the signals of the attempts at one node. */
interface Attempts {
  readonly policy: NodePolicy;
  /** Ends the attempt under way, and the wait for the next. */
  readonly signal: AbortSignal;
  /** When timeouts begin to count; absent: as each attempt begins. */
  readonly countsFrom?: (() => Promise<void>) | undefined;
  /** Called before each attempt but the first, with its number and the error of the attempt before. */
  readonly onRestart: (attempt: number, error: unknown) => void;
}

/**
 * Runs `work` until an attempt succeeds or the policy allows no further attempt. Each attempt has its own signal, which fires when
 * the attempt fails.
 * @throws the error of the last attempt; the signal's reason when `signal` fires.
 */
export async function runAttempts<T>(
  { policy, signal, countsFrom, onRestart }: Attempts,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { retry: rule, timeoutMs } = policy;
  if (!rule) return underOwnSignal({ signal, timeoutMs, countsFrom }, work);
  let failure: unknown;
  return retry(
    (attempt) => {
      if (attempt > 1) onRestart(attempt, failure);
      return underOwnSignal({ signal, timeoutMs, countsFrom }, work);
    },
    {
      ...toBackoff(rule),
      maxAttempts: rule.maxAttempts,
      signal,
      mayHelp: (error) => mayRetry(rule, error),
      onRetry: (error) => {
        failure = error;
      },
    },
  );
}

/** What ends a work before it is done. */
interface WorkLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
  /** When the timeout begins to count; absent: at once. */
  readonly countsFrom?: (() => Promise<void>) | undefined;
}

/**
 * Runs `work` with its own signal. The signal fires with the outer one, at the timeout, and when `work` fails, so that what `work` has
 * started ends too. When `work` ignores the signal, it continues, and its result is dropped.
 */
export async function underOwnSignal<T>(
  { signal: outer, timeoutMs, countsFrom }: WorkLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const follow = (): void => controller.abort(outer.reason);
  outer.addEventListener('abort', follow, { once: true });
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const count = (): void => {
    if (timeoutMs === undefined || isOver) return;
    timer = setTimeout(() => controller.abort(new NodeTimeout(timeoutMs)), timeoutMs);
  };
  // It rejects when the work has to end, which the outer signal says, too.
  if (countsFrom) countsFrom().then(count, () => undefined);
  else count();
  try {
    outer.throwIfAborted();
    return await unlessAborted(signal, async () => work(signal));
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    isOver = true;
    clearTimeout(timer);
    outer.removeEventListener('abort', follow);
  }
}

/** Runs `work` until the signal fires. So a stopped run ends at once, even when its nodes ignore the signal. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  // The listener is added before `work` can add its own: the signal's reason is a better error than what `work` throws when it fires.
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
