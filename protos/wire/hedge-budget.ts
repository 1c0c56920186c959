/**
 * Bounds how many calls of one method are made a second time because they are slow. A store that is slow for everybody makes every call
 * slow, and calls made twice would then make it slower.
 */
export interface HedgeBudget {
  /** Takes one such call out of the budget; gives whether there was one. */
  readonly take: () => boolean;
  /** A call was answered: the budget grows by a tenth of a call. */
  readonly answered: () => void;
}

const most = 20;
const grownByAnswer = 0.1;

/** A full budget: 20 calls. */
export function createHedgeBudget(): HedgeBudget {
  let left = most;
  return {
    take: () => {
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    answered: () => {
      left = Math.min(most, left + grownByAnswer);
    },
  };
}
