import pRetry from 'p-retry';

/** How long to wait between attempts: the wait doubles, or grows by `factor`, from `firstMs` up to `maxMs`. */
export interface Backoff {
  /** The longest wait before the second attempt, in milliseconds. */
  readonly firstMs: number;
  /** No wait is longer than this, in milliseconds. */
  readonly maxMs: number;
  /** 2 unless given; 1 keeps every wait as long as the first. */
  readonly factor?: number;
  /**
   * The share of each wait that is drawn at random, from 0 (none) to 1 (the wait is anything from 0 to its bound); 0.5
   * unless given. Callers that fail at the same moment do not come back at the same moment.
   */
  readonly jitter?: number;
}

/**
 * The wait after the failed attempt of this number (the first is 1), in milliseconds: exponential backoff with jitter, as
 * Marc Brooker describes it in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
 */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const { firstMs, maxMs, factor = 2, jitter = 0.5 } = backoff;
  return Math.min(maxMs, firstMs * factor ** (attempt - 1)) * (1 - jitter * random());
}

/** Waits for a server that is unavailable: 0.2 to 0.4 s at first, up to 5 s. */
export const serverAway: Backoff = { firstMs: 400, maxMs: 5000 };

export interface RetryOptions extends Backoff {
  /** Whether another attempt may succeed after this error. */
  readonly mayHelp: (error: unknown) => boolean;
  /** Attempts in all, the first included; without it there is no bound. */
  readonly maxAttempts?: number;
  /** No wait begins that would end after this time, in milliseconds since 1970. */
  readonly deadline?: number;
  /** Ends the wait between two attempts. An attempt under way is not ended; its result still counts. */
  readonly signal?: AbortSignal | undefined;
  /** The least wait that an error asks for, in milliseconds. One above `maxMs` ends the attempts. */
  readonly leastMs?: (error: unknown) => number;
  /** Called and awaited after each failed attempt that another follows, before the wait. What it throws ends the attempts. */
  readonly onRetry?: (error: unknown) => Promise<void> | void;
}

/**
 * Calls `work`, with the number of the attempt (the first is 1), until it succeeds, another attempt cannot help, the attempts or the time are used up, or the signal fires.
 * @throws what the last attempt threw; the signal's reason when it fires before an attempt.
 */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { mayHelp, maxAttempts = Infinity, deadline = Infinity, signal, leastMs = () => 0, onRetry } = options;
  signal?.throwIfAborted();
  const waitForNext = async (error: unknown, attempt: number): Promise<boolean> => {
    signal?.throwIfAborted();
    if (!mayHelp(error)) return false;
    const least = leastMs(error);
    const ms = Math.max(backoffMs(options, attempt), least);
    if (least > options.maxMs || Date.now() + ms > deadline) return false;
    await onRetry?.(error);
    await pause(ms, signal);
    return true;
  };
  // p-retry does not wait and does not get the signal: its waits have no jitter once they reach their maximum, and it drops the
  // result of an attempt that succeeds after the signal fires, so what that attempt opened would stay open. Errors are wrapped, because
  // p-retry does not retry after a TypeError or a value that is no error, and the code of an agent may throw either.
  const runAttempt = async (attempt: number): Promise<T> => {
    try {
      return await work(attempt);
    } catch (error) {
      throw new Failed(error);
    }
  };
  try {
    return await pRetry(runAttempt, {
      retries: maxAttempts - 1,
      minTimeout: 0,
      shouldRetry: ({ error, attemptNumber }) => waitForNext(error.cause, attemptNumber),
    });
  } catch (error) {
    throw error instanceof Failed ? error.cause : error;
  }
}

/** Wraps what an attempt threw. */
class Failed extends Error {
  constructor(cause: unknown) {
    super('an attempt failed', { cause });
  }
}

/** Resolves after `ms`. Pages of browsers use it, too. @throws the signal's reason when it fires first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const over = new AbortController();
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', end, { once: true, signal: over.signal });
    });
  } finally {
    over.abort();
  }
}
