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
  /** To be called when {@link PoolTurnsOptions.isHeldUp} may have changed. */
  readonly goOn: () => void;
}

interface PoolTurnsOptions extends TurnClocks {
  /** Whether no work may begin for now; what is under way goes on. */
  readonly isHeldUp: () => boolean;
}

/**
 * Calls of a pool whose work is done at once; the others wait for their turn, so that those of other pools and of the platform never stand
 * behind more of them. The most are enough to keep a store busy. The fewest are left to a pool whose calls make the event loop late.
 */
const mostAtOnce = 64;
const fewestAtOnce = 4;
/** The event loop is late when one turn of it takes its thread longer than this, in milliseconds. */
const lateMs = 25;
/** The share of the calls worked on at once that may begin in one turn of the event loop. */
const turnShare = 1 / 2;
/** How often the event loop is measured while no work ends, in milliseconds. */
const measureMs = 10;
/** Work that takes longer keeps no other from its turn, in milliseconds. */
const longestWorkMs = 60_000;

interface Work {
  /** By the clock; when it began. */
  since: number;
  readonly begin: () => void;
  readonly onLong: () => void;
}

/** Clocks in milliseconds that never go back. */
export interface TurnClocks {
  readonly elapsed: () => number;
  /** For how long the thread of the event loop has worked: that a busy machine lets it wait says nothing about the calls. */
  readonly worked: () => number;
}

/**
 * What a call costs is known only when it is over, so calls are bounded by what they do to the event loop: while the pool calls, each turn of
 * the loop is measured. A late one halves how many calls are worked on at once, any other one allows one more.
 */
export function createPoolTurns({ elapsed, worked, isHeldUp }: PoolTurnsOptions): PoolTurns {
  /** The one that began first comes first. */
  const working = new Set<Work>();
  const waiting = new Set<Work>();
  let atOnce = mostAtOnce;
  let begunInTurn = 0;
  let isPlanned = false;
  let measuring: NodeJS.Timeout | undefined;

  const mayBegin = (): boolean => working.size < atOnce && begunInTurn < atOnce * turnShare && !isHeldUp();

  const note = (work: Work): void => {
    working.add(work);
    begunInTurn += 1;
  };

  const beginNext = (): void => {
    while (mayBegin()) {
      const [next] = waiting;
      if (!next) return;
      waiting.delete(next);
      note(next);
      next.since = elapsed();
      next.begin();
    }
  };

  /** Calls of others have their turn of the event loop before more of these begin. */
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    const since = worked();
    setImmediate(() => {
      isPlanned = false;
      begunInTurn = 0;
      const isLate = worked() - since > lateMs;
      atOnce = isLate ? Math.max(fewestAtOnce, Math.floor(atOnce / 2)) : Math.min(mostAtOnce, atOnce + 1);
      beginNext();
      if (waiting.size === 0 || isHeldUp()) return;
      if (working.size < atOnce) plan();
      else if (atOnce < mostAtOnce) measuring ??= setTimeout(measure, measureMs);
    });
  };

  const measure = (): void => {
    measuring = undefined;
    plan();
  };

  return {
    take: (onLong) => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const work: Work = { since: elapsed(), begin: () => resolve(undefined), onLong };
      const isNow = waiting.size === 0 && mayBegin();
      if (isNow) note(work);
      else waiting.add(work);
      plan();
      return {
        begins: isNow ? undefined : promise,
        end: () => {
          waiting.delete(work);
          if (working.delete(work)) plan();
        },
      };
    },
    check: () => {
      for (const { since, onLong } of working) {
        if (elapsed() - since <= longestWorkMs) return;
        onLong();
      }
    },
    goOn: () => {
      if (waiting.size > 0) plan();
    },
  };
}
