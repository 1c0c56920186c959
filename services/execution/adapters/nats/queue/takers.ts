import type { TakenRun } from '../../../ports/queue.ts';

/** Those that wait to take a run, in the order in which they came. */
interface Takers {
  readonly count: () => number;
  /** Waits for the next run. @throws the signal's reason when it fires first. */
  readonly take: (signal: AbortSignal) => Promise<TakenRun>;
  /** Gives a run to the first taker; `undefined` when there is none. */
  readonly next: () => ((run: TakenRun) => void) | undefined;
}

/** `onTaker` is called with each new taker. */
export function createTakers(onTaker: () => void): Takers {
  const takers = new Set<(run: TakenRun) => void>();
  return {
    count: () => takers.size,

    next: () => {
      const [first] = takers;
      return first;
    },

    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const stop = (): void => {
          takers.delete(give);
          reject(signal.reason as Error);
        };
        const give = (run: TakenRun): void => {
          takers.delete(give);
          signal.removeEventListener('abort', stop);
          resolve(run);
        };
        takers.add(give);
        signal.addEventListener('abort', stop, { once: true });
        onTaker();
      }),
  };
}
