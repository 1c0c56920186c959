import { retry } from '@agent-workflow/kit/retry';
import { mayRetry, NodeTimeout, toBackoff, type NodePolicy } from '../build/policy.ts';

/** The policy and the signals of the attempts at one node. */
interface Attempts {
  readonly policy: NodePolicy;
  /** Ends the attempt under way, and the wait for the next. */
  readonly signal: AbortSignal;
  /** Called with the number of each attempt after the first, before it begins, and with what the one before it threw. */
  readonly onRestart: (attempt: number, error: unknown) => void;
}

/**
 * Runs work until an attempt succeeds or the policy allows no more. Each attempt has a signal of its own, which fires when
 * the attempt ends without a result.
 * @throws what the last attempt threw; the signal's reason once that has fired.
 */
export async function runAttempts<T>(
  { policy, signal, onRestart }: Attempts,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { retry: rule, timeoutMs } = policy;
  if (!rule) return fenced({ signal, timeoutMs }, work);
  let failure: unknown;
  return retry(
    (attempt) => {
      if (attempt > 1) onRestart(attempt, failure);
      return fenced({ signal, timeoutMs }, work);
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

interface Fence {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs work under a signal that fires with the outer one, when the time is over, and when the work fails, so that what it
 * left running ends too. Work that ignores the signal goes on, and its result is dropped.
 */
export async function fenced<T>(
  { signal: outer, timeoutMs }: Fence,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const follow = (): void => controller.abort(outer.reason);
  outer.addEventListener('abort', follow, { once: true });
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => controller.abort(new NodeTimeout(timeoutMs)), timeoutMs);
  try {
    outer.throwIfAborted();
    return await unlessAborted(signal, async () => work(signal));
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', follow);
  }
}

/** Runs work until the signal fires: a stopped run ends at once, whether or not its nodes heed the signal. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  // It listens before the work does, because the signal's reason says more than what the work throws at the signal.
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
