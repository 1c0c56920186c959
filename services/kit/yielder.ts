import { setImmediate as nextTurn } from 'node:timers/promises';

/** Keeps long work from blocking the event loop. */
export interface Yielder {
  /** Whether the work has run for so long that the caller should await `yield()`. */
  readonly isDue: () => boolean;
  /** Lets everything else that waits for the event loop run first. @throws the signal's reason when it has fired. */
  readonly yield: () => Promise<void>;
}

/** How long work runs before other work gets the event loop, in milliseconds. */
const usualTurnMs = 15;

/**
 * A yielder for one long work. Between two of its parts the work asks `isDue`, and awaits `yield` if so. Each part should be short.
 * `signal` ends the work.
 */
export function createYielder({ signal, turnMs = usualTurnMs }: YielderOptions = {}): Yielder {
  let began = performance.now();
  return {
    isDue: () => performance.now() - began >= turnMs,
    yield: async () => {
      await nextTurn();
      signal?.throwIfAborted();
      began = performance.now();
    },
  };
}

interface YielderOptions {
  readonly signal?: AbortSignal | undefined;
  readonly turnMs?: number;
}
