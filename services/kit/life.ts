/** Resolves with the name of the first SIGINT or SIGTERM. A second signal ends the process at once, as users expect of Ctrl-C. */
async function untilSignal(): Promise<NodeJS.Signals> {
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

/** A signal that fires at the first SIGINT or SIGTERM; its reason names which. A second SIGINT or SIGTERM ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  void untilSignal().then((name) => {
    controller.abort(new Error(`${name} asks the process to stop`));
  });
  return controller.signal;
}

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

/** Calls `task` every `ms` until disposed, but not while the call before still runs. Disposal waits for a running call. */
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
