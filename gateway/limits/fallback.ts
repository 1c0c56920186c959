import { isServiceError } from '@agent-workflow/kit/errors';
import type { Counter } from './port.ts';

interface FallbackOptions {
  /** Counts for all replicas together. */
  readonly shared: Counter;
  /** Counts for this process alone. */
  readonly local: Counter;
}

/** Takes rates from `shared`, and from `local` while `shared` is unavailable: each replica then has the whole limit for itself. */
export function withFallback({ shared, local }: FallbackOptions): Counter {
  return {
    take: (key, rate, cost) => shared.take(key, rate, cost).catch(onlyIfAway(() => local.take(key, rate, cost))),

    acquire: (key, limit) => shared.acquire(key, limit),

    [Symbol.asyncDispose]: async () => {
      await shared[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
}

const onlyIfAway =
  <T>(instead: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (isServiceError(error, 'Unavailable')) return instead();
    throw error;
  };
