import { setImmediate as nextTurn } from 'node:timers/promises';

/** Keeps long work from holding up the event loop. */
export interface Turns {
  /** Whether the work has gone on for a whole turn: then `await pass()`. */
  readonly isOver: () => boolean;
  /** Lets everything else that waits for the event loop go first. @throws the signal's reason once it has fired. */
  readonly pass: () => Promise<void>;
}

/** How long work goes on before others have their turn, in milliseconds. */
const usualTurnMs = 15;

/**
 * Turns for one piece of long work: between two of its parts it asks `isOver` and passes when it is. Each part by itself
 * should be short. `signal` ends the work.
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
