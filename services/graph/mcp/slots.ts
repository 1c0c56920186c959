import { unlessAborted } from '../run/attempt.ts';

/** Bounds how much work runs at once. Work that waits is admitted in order, so that one which needs all slots gets them. */
export interface Slots {
  readonly limit: number;
  /** Runs work as soon as `count` slots are free. @throws the signal's reason when it fires before that. */
  readonly run: <T>(signal: AbortSignal, count: number, work: () => Promise<T>) => Promise<T>;
}

export function createSlots(limit: number): Slots {
  let free = limit;
  let waiting: readonly { readonly count: number; readonly admit: () => void }[] = [];

  const admitNext = (): void => {
    for (let next = waiting[0]; next && next.count <= free; next = waiting[0]) {
      waiting = waiting.slice(1);
      free -= next.count;
      next.admit();
    }
  };

  const release = (count: number): void => {
    free += count;
    admitNext();
  };

  const take = async (signal: AbortSignal, count: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const own = { count, admit: () => resolve(undefined) };
    waiting = [...waiting, own];
    admitNext();
    try {
      await unlessAborted(signal, () => promise);
    } catch (error) {
      // The slots may have been given at the moment when the signal fired.
      if (!waiting.includes(own)) release(count);
      waiting = waiting.filter((other) => other !== own);
      admitNext();
      throw error;
    }
  };

  return {
    limit,
    run: async (signal, count, work) => {
      await take(signal, count);
      try {
        return await work();
      } finally {
        release(count);
      }
    },
  };
}
