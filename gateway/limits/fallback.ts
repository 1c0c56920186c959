import { isServiceError } from '@agent-workflow/kit/errors';
import type { Counter } from './port.ts';

export interface FallbackOptions {
  /** Counts for all replicas. */
  readonly shared: Counter;
  /** Counts for this process alone. */
  readonly local: Counter;
}

/** Counts with `shared`, and with `local` while that is away: each replica then gives the whole limit. */
export function withFallback({ shared, local }: FallbackOptions): Counter {
  return {
    take: (key, rate, cost) => shared.take(key, rate, cost).catch(unlessAway(() => local.take(key, rate, cost))),

    hold: (key, limit) => shared.hold(key, limit),

    [Symbol.asyncDispose]: async () => {
      await shared[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
}

const unlessAway =
  <T>(instead: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (isServiceError(error, 'Unavailable')) return instead();
    throw error;
  };
