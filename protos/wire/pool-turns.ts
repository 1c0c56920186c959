/** When the work of one call may begin. */
interface Turn {
  /** Resolves when it may begin; absent: it may at once. */
  readonly begins: Promise<unknown> | undefined;
  /** To be called when the work has ended, or is not to begin. */
  readonly end: () => void;
}

/** The turns of the calls of one pool. */
export interface PoolTurns {
  /** Takes the next turn. `onLong` is called where the work has not ended after a minute, and others are to have its place. */
  readonly take: (onLong: () => void) => Turn;
  /** Looks for work that takes too long. */
  readonly check: () => void;
}

/**
 * Calls of a pool whose work is done at once; the others wait for their turn, so that those of other pools and of the platform never stand
 * behind more of them. So many keep a store busy.
 */
const atOnce = 256;
/** Work that takes longer keeps no other from its turn, in milliseconds. */
const longestWorkMs = 60_000;

interface Work {
  /** By the clock; when it began. */
  since: number;
  readonly begin: () => void;
  readonly onLong: () => void;
}

/** `elapsed` is a clock in milliseconds that never goes back. */
export function createPoolTurns(elapsed: () => number): PoolTurns {
  /** The one that began first comes first. */
  const working = new Set<Work>();
  const waiting = new Set<Work>();

  const beginNext = (): void => {
    while (working.size < atOnce) {
      const [next] = waiting;
      if (!next) return;
      waiting.delete(next);
      working.add(next);
      next.since = elapsed();
      next.begin();
    }
  };

  return {
    take: (onLong) => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const work: Work = { since: elapsed(), begin: () => resolve(undefined), onLong };
      waiting.add(work);
      beginNext();
      return {
        begins: waiting.has(work) ? promise : undefined,
        end: () => {
          waiting.delete(work);
          if (working.delete(work)) beginNext();
        },
      };
    },
    check: () => {
      const [oldest] = working;
      if (oldest && elapsed() - oldest.since > longestWorkMs) oldest.onLong();
    },
  };
}
