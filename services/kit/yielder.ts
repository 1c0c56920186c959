import { setImmediate as nextTurn } from 'node:timers/promises';

/** Keeps long work from holding up the event loop. */
export interface Turns {
  /** Whether the work has run for a whole turn. The caller then awaits `pass()`. */
  readonly isOver: () => boolean;
  /** Lets everything else that waits for the event loop run first. @throws the signal's reason when it has fired. */
  readonly pass: () => Promise<void>;
}

/** How long work runs before other work has its turn, in milliseconds. */
const usualTurnMs = 15;

/**
 * Turns for one long work. Between two of its parts the work calls `isOver`, and awaits `pass` when the turn is over. Each part should
 * be short. `signal` ends the work.
 */
export function createTurns({ signal, turnMs = usualTurnMs }: TurnsOptions = {}): Turns {
  let began = performance.now();
  return {
    isOver: () => performance.now() - began >= turnMs,
    pass: async () => {
      await nextTurn();
      signal?.throwIfAborted();
      began = performance.now();
    },
  };
}

interface TurnsOptions {
  readonly signal?: AbortSignal | undefined;
  readonly turnMs?: number;
}
