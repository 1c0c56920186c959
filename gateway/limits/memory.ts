import { LRUCache } from 'lru-cache';
import { intervalOf, largestOf, standingOf } from './cell-rate.ts';
import type { Counter, Hold } from './port.ts';

export interface MemoryCounterOptions {
  /** Keys whose rate is remembered; those that were not asked about for longest are forgotten first. */
  readonly maxKeys?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Counts in this process. */
export function openMemoryCounter({
  maxKeys = 65_536,
  now = () => performance.now(),
}: MemoryCounterOptions = {}): Counter {
  const emptyAt = new LRUCache<string, number>({ max: maxKeys });
  const held = new Map<string, number>();

  return {
    take: (key, rate, cost = 1) => {
      const time = now();
      const backlogMs = Math.max(0, (emptyAt.get(key) ?? 0) - time);
      const takenMs = backlogMs + cost * intervalOf(rate);
      const allowed = (cost === 0 ? backlogMs + intervalOf(rate) : takenMs) <= largestOf(rate);
      if (allowed && cost > 0) emptyAt.set(key, time + takenMs);
      return Promise.resolve(standingOf(allowed, allowed ? takenMs : backlogMs, rate));
    },

    hold: (key, limit) => {
      const count = held.get(key) ?? 0;
      if (count >= limit) return Promise.resolve(undefined);
      held.set(key, count + 1);
      return Promise.resolve(holdOf(held, key));
    },

    [Symbol.asyncDispose]: () => {
      emptyAt.clear();
      held.clear();
      return Promise.resolve();
    },
  };
}

function holdOf(held: Map<string, number>, key: string): Hold {
  let released = false;
  return {
    release: () => {
      if (!released) giveBack(held, key);
      released = true;
      return Promise.resolve();
    },
  };
}

function giveBack(held: Map<string, number>, key: string): void {
  const left = (held.get(key) ?? 0) - 1;
  if (left > 0) held.set(key, left);
  else held.delete(key);
}
