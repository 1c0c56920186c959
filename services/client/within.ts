interface Bounds {
  /** No bound of time when it is not finite. */
  readonly ms?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * What `work` gives, unless the signal fires or the time passes first: what the work gives or throws after that is ignored. It does not
 * begin when the signal has fired.
 * @throws the signal's reason; a `TimeoutError` when the time has passed.
 */
export async function within<T>(work: () => T | Promise<T>, { ms = Infinity, signal }: Bounds): Promise<T> {
  signal?.throwIfAborted();
  let stop = (): void => undefined;
  const over = new Promise<never>((_, reject) => {
    const end = (): void => {
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', end, { once: true });
    const timer =
      ms > maxTimerMs
        ? undefined
        : setTimeout(() => {
            reject(toTimeout(ms));
          }, ms);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    };
  });
  try {
    return await Promise.race([work(), over]);
  } finally {
    stop();
  }
}

/** Whether nothing came for the time of `within`. */
export const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError';

const toTimeout = (ms: number): DOMException =>
  new DOMException(`nothing came for ${String(ms / 1000)} seconds`, 'TimeoutError');

/** A timer of more than this fires at once. */
const maxTimerMs = 2 ** 31 - 1;
