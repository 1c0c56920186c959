import { isServiceError } from '@agent-workflow/kit/errors';
import type { Counter, Hold } from './port.ts';

export interface FallbackOptions {
  /** Counts for all replicas. */
  readonly shared: Counter;
  /** Counts for this process alone. */
  readonly local: Counter;
}

/**
 * Counts with `shared`, and with `local` while that is away: each replica then gives the whole limit. Places are held in
 * both, so that this process never has more than the limit open, whatever becomes of `shared` meanwhile.
 */
export function withFallback({ shared, local }: FallbackOptions): Counter {
  return {
    take: (key, rate, cost) => shared.take(key, rate, cost).catch(unlessAway(() => local.take(key, rate, cost))),

    hold: async (key, limit) => {
      const here = await local.hold(key, limit);
      if (!here) return undefined;
      const there = await holdIn(shared, key, limit);
      if (there === 'away') return here;
      if (there) return both(here, there);
      await here.release();
      return undefined;
    },

    [Symbol.asyncDispose]: async () => {
      await shared[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
}

const holdIn = (shared: Counter, key: string, limit: number): Promise<Hold | 'away' | undefined> =>
  shared.hold(key, limit).catch(unlessAway(() => Promise.resolve('away' as const)));

const unlessAway =
  <T>(instead: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (isServiceError(error, 'Unavailable')) return instead();
    throw error;
  };

const both = (one: Hold, other: Hold): Hold => ({
  release: async () => {
    await Promise.all([one.release(), other.release()]);
  },
});
