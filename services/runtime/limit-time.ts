/** A signal whose timer ends when it is disposed of: that of `AbortSignal.timeout` makes an error whenever its time comes. */
interface LimitedTime extends Disposable {
  readonly signal: AbortSignal;
}

/** Fires with `signal`, or once `ms` milliseconds have passed. */
export function limitTime(ms: number, signal: AbortSignal): LimitedTime {
  const over = new AbortController();
  const follow = (): void => over.abort(signal.reason);
  const timer = setTimeout(() => over.abort(new Error('the time is over')), ms).unref();
  signal.addEventListener('abort', follow);
  if (signal.aborted) follow();
  return {
    signal: over.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', follow);
    },
  };
}
