/** Work that waits a moment for other work, so that a store may do both in one write. */
interface Together {
  /** Settles as the work does, which begins with the next `now`, and within the time that was given. */
  readonly later: (work: () => Promise<void>) => Promise<void>;
  /** Begins what waits. */
  readonly now: () => void;
}

/** `ms`: how long work waits at most, in milliseconds; `most`: how much of it waits. */
export function createTogether({ ms, most }: { readonly ms: number; readonly most: number }): Together {
  let waiting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const begun = waiting;
    waiting = [];
    for (const begin of begun) begin();
  };

  return {
    now,
    later: async (work) => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      waiting.push(() => resolve(undefined));
      if (waiting.length >= most) now();
      else timer ??= setTimeout(now, ms);
      await promise;
      await work();
    },
  };
}
