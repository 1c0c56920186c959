import { LRUCache } from 'lru-cache';
import { hashOf, heapLanes, ownLanes } from '../streams.ts';

/** Runs that an owner may put into its own lane at once; what comes in a heap goes to a lane for heaps. */
export const heapSize = 32;
/** How many more it may put there in each second that passes while many wait; when few do, nothing is counted. */
const refillPerSecond = 1;
/** Owners whose heaps are remembered. */
const ownersRemembered = 10_000;

interface Allowance {
  left: number;
  at: number;
}

/** The two lanes that an owner's run may stand in. */
export interface LaneChoice {
  readonly lane: number;
  readonly other: number;
  /** Whether it comes in a heap. */
  readonly isHeap: boolean;
}

/**
 * Chooses the lane of an owner's next run. An owner has one lane of its own, which others share by chance; whoever puts in many
 * runs at once fills a lane for heaps with the rest, so that nobody waits behind more than a few of another's runs.
 */
export function createLanes(isCalm: () => boolean): (owner: string) => LaneChoice {
  const allowances = new LRUCache<string, Allowance>({ max: ownersRemembered });
  return (owner) => {
    const at = performance.now();
    const before = allowances.get(owner) ?? { left: heapSize, at };
    const refill = isCalm() ? heapSize : ((at - before.at) / 1000) * refillPerSecond;
    const left = Math.min(heapSize, before.left + refill);
    const isHeap = left < 1;
    allowances.set(owner, { left: isHeap ? left : left - 1, at });
    const hash = hashOf(owner);
    const own = hash % ownLanes;
    const heap = ownLanes + (hash % heapLanes);
    return isHeap ? { lane: heap, other: own, isHeap } : { lane: own, other: heap, isHeap };
  };
}
