import { redirected, type RequestError } from './errors.ts';

/** How long, and how often, something is tried again. */
export interface RetryBounds {
  /** Attempts in a row at most, the first included; no bound when it is not given. */
  readonly maxAttempts: number | undefined;
  /** For how long after the first failure: 15 seconds, and five attempts at least, unless given; no bound of time when only `maxAttempts` is. What the service refused is tried five times at least in any case. */
  readonly retryMs: number | undefined;
}

/** The attempts in a row that failed, of a request or of a reader of events with all its connections. */
export interface Retries {
  /**
   * Pauses before the next attempt.
   * @throws the error when another attempt cannot help or none is left; the signal's reason.
   */
  readonly after: (error: RequestError) => Promise<void>;
  /** The work goes on: later failures count from zero. */
  readonly reset: () => void;
}

interface RetriesOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each error that another attempt follows. */
  readonly onRetry?: ((error: RequestError) => void) | undefined;
  /** In place of the real one. */
  readonly clock?: Clock;
}

interface Clock {
  readonly now: () => number;
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * What failed is tried again for a time after its first failure: that is how long a restart of the service may take. What takes long
 * itself is tried a few times in any case: a reply may come, or be cut, after minutes, or ask for a long pause.
 */
export function createRetries(bounds: RetryBounds, options: RetriesOptions = {}): Retries {
  const { signal, onRetry, clock = { now: () => performance.now(), pause } } = options;
  const { maxAttempts = Infinity, retryMs = bounds.maxAttempts === undefined ? defaultRetryMs : Infinity } = bounds;
  let failures = 0;
  let refusals = 0;
  let failingSince = 0;
  return {
    after: async (error) => {
      if (failures++ === 0) failingSince = clock.now();
      const isRefusal = error.status !== 0;
      if (isRefusal) refusals++;
      const leftMs = failingSince + retryMs - clock.now();
      const isEarly = isRefusal ? refusals < leastAttempts : bounds.retryMs === undefined && failures < leastAttempts;
      if (!mayHelp(error) || failures >= maxAttempts || !(leftMs > 0 || isEarly)) throw error;
      onRetry?.(error);
      const ms = pauseMs(failures);
      // The last pause ends with the time, so that what is back by then is reached.
      await clock.pause(Math.max(error.retryAfterMs ?? 0, leftMs > 0 ? Math.min(ms, leftMs) : ms), signal);
    },
    reset: () => {
      failures = 0;
      refusals = 0;
    },
  };
}

/** When the head of a reply comes: `at once`; also of a `stream`, which is made again; or `late`, when the work is done. */
export type HeadTime = 'at once' | 'stream' | 'late';

/** How long the head of a reply is awaited. A connection that is dead without an end brings none. */
export function headMs({ retryMs, silenceMs }: RetryBounds & { readonly silenceMs: number }, head: HeadTime): number {
  if (head === 'late') return Infinity;
  return Math.min(silenceMs, Math.max(leastHeadMs, retryMs ?? (head === 'stream' ? defaultRetryMs : Infinity)));
}

const defaultRetryMs = 15_000;
/** A service that is well may take as long, when the time of repetition is short or zero. */
const leastHeadMs = 2000;
/** Attempts that are made also when the time is over. */
const leastAttempts = 5;

const retried: ReadonlySet<number> = new Set([0, 429, 502, 503, 504]);
const mayHelp = ({ status, code, retryAfterMs = 0 }: RequestError): boolean =>
  retried.has(status) && code !== redirected && retryAfterMs <= maxRetryAfterMs;

const firstPauseMs = 200;
const maxPauseMs = 5000;
/** A longer pause is the caller's to decide on. */
const maxRetryAfterMs = 60_000;

/** Doubles from a fifth of a second, with jitter. */
const pauseMs = (attempt: number): number =>
  Math.min(maxPauseMs, firstPauseMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);

/** @throws the signal's reason when it fires first. */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const over = new AbortController();
  const whenStopped = { once: true, signal: over.signal };
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', stop, whenStopped);
  });
  over.abort();
}
