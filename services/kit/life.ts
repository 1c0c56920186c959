import pRetry from 'p-retry';

/** Resolves with the name of the first SIGINT or SIGTERM. A second one ends the process at once, as users expect of Ctrl-C. */
export async function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const first = (signal: NodeJS.Signals): void => {
      process.removeListener('SIGINT', first);
      process.removeListener('SIGTERM', first);
      resolve(signal);
    };
    process.on('SIGINT', first);
    process.on('SIGTERM', first);
  });
}

/** Fires with the first SIGINT or SIGTERM: for what a process does before it has anything to drain. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  void untilSignal().then((name) => {
    controller.abort(new Error(`the process was told to stop (${name})`));
  });
  return controller.signal;
}

export interface UntilThereOptions {
  readonly signal: AbortSignal;
  /** Told of each attempt that failed. */
  readonly onFailure: (error: unknown) => void;
  /** Whether trying again may help: a setting that does not hold stays wrong. */
  readonly mayHelp: (error: unknown) => boolean;
}

/**
 * Opens what may not be there yet: again and again, at growing intervals of up to `maxWaitMs`, each with a share of chance.
 * @throws what `open` threw when trying again does not help, and the signal's reason when it fires.
 */
export async function untilThere<T>(
  open: () => Promise<T>,
  { signal, onFailure, mayHelp }: UntilThereOptions,
): Promise<T> {
  return pRetry(open, {
    retries: Infinity,
    minTimeout: firstWaitMs,
    maxTimeout: maxWaitMs,
    randomize: true,
    signal,
    onFailedAttempt: ({ error }) => {
      onFailure(error);
    },
    shouldRetry: ({ error }) => mayHelp(error),
  });
}

const firstWaitMs = 200;
const maxWaitMs = 5000;

/** Whether `work` settled within `ms`; a failure of `work` counts as settled. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([
      work.then(
        () => true as const,
        () => true as const,
      ),
      late,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls `task` every `ms` until disposed; one that is still going is not started again, and disposal waits for it. */
export function every(
  ms: number,
  task: () => Promise<void> | void,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let going: Promise<void> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    going = Promise.resolve()
      .then(task)
      .catch(onError)
      .finally(() => {
        busy = false;
      });
  }, ms);
  timer.unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await going;
    },
  };
}
