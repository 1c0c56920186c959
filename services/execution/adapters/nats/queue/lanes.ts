import { LRUCache } from 'lru-cache';
import { laneCountsOf, nameOfPool, type Pool } from '../client/pools.ts';
import { hashOf } from '../client/names.ts';

/** Runs that an owner may put into its own lane at once. More of them count as bulk, and go to a bulk lane. */
export const bulkSize = 32;
/** How many more an owner may put there per second while many runs wait. While few wait, nothing is counted. */
const refillPerSecond = 1;
/** Owners whose allowances are remembered. */
const ownersRemembered = 10_000;

interface Allowance {
  left: number;
  at: number;
}

/** The two lanes of a pool that an owner's run may wait in, by their numbers. */
interface LaneChoice {
  readonly lane: number;
  readonly other: number;
  /** Whether the run is one of a bulk. */
  readonly isBulk: boolean;
}

/**
 * Chooses the lane of an owner's next run in a pool. An owner has one lane of its own, which other owners share by chance. The runs of an
 * owner that puts in many at once go to a bulk lane, so that each owner waits behind only a few runs of another.
 */
export function createLanes(isCalm: (pool: Pool) => boolean): (owner: string, pool: Pool) => LaneChoice {
  const allowances = new LRUCache<string, Allowance>({ max: ownersRemembered });
  return (owner, pool) => {
    const at = performance.now();
    const key = JSON.stringify([nameOfPool(pool), owner]);
    const before = allowances.get(key) ?? { left: bulkSize, at };
    const refill = isCalm(pool) ? bulkSize : ((at - before.at) / 1000) * refillPerSecond;
    const left = Math.min(bulkSize, before.left + refill);
    const isBulk = left < 1;
    allowances.set(key, { left: isBulk ? left : left - 1, at });
    const hash = hashOf(owner);
    const counts = laneCountsOf(pool);
    const own = hash % counts.own;
    const bulk = counts.own + (hash % counts.bulk);
    return isBulk ? { lane: bulk, other: own, isBulk } : { lane: own, other: bulk, isBulk };
  };
}
