/** The bounded number of runs that a worker drives at once. */
interface Slots {
  /** Takes a slot, as soon as one is free. */
  readonly take: () => Promise<void>;
  /** Takes a slot, if one is free. */
  readonly tryTake: () => boolean;
  /** Takes a slot beyond the bound. */
  readonly takeExtra: () => void;
  /** Frees a slot that was taken in any of these ways. */
  readonly release: () => void;
  /** Resolves when no slot is taken. */
  readonly allFree: () => Promise<void>;
}

export function createSlots(bound: number): Slots {
  let free = bound;
  const waiting: (() => void)[] = [];
  const idle = new Set<() => void>();
  return {
    take: async () => {
      while (free <= 0) await new Promise<void>((resolve) => waiting.push(resolve));
      free--;
    },

    tryTake: () => {
      if (free <= 0) return false;
      free--;
      return true;
    },

    takeExtra: () => {
      free--;
    },

    release: () => {
      free++;
      waiting.shift()?.();
      if (free === bound) for (const done of idle) done();
    },

    allFree: () =>
      new Promise((resolve) => {
        if (free === bound) resolve();
        else idle.add(resolve);
      }),
  };
}
