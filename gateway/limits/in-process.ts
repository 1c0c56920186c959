import { LRUCache } from 'lru-cache';
import { intervalOf, largestOf, rateStateOf } from './cell-rate.ts';
import type { Counter, Slot } from './port.ts';

interface InProcessCounterOptions {
  /** Keys whose rate is kept; the least recently used are evicted first. */
  readonly maxKeys?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** A counter in this process. */
export function openInProcessCounter({
  maxKeys = 65_536,
  now = () => performance.now(),
}: InProcessCounterOptions = {}): Counter {
  // By size: with `max` it would take the memory of all keys at once.
  const emptyAt = new LRUCache<string, number>({ maxSize: maxKeys, sizeCalculation: () => 1 });
  const slots = new Map<string, number>();

  return {
    take: (key, rate, cost = 1) => {
      const time = now();
      const backlogMs = Math.max(0, (emptyAt.get(key) ?? 0) - time);
      const takenMs = backlogMs + cost * intervalOf(rate);
      const allowed = (cost === 0 ? backlogMs + intervalOf(rate) : takenMs) <= largestOf(rate);
      if (allowed && cost > 0) emptyAt.set(key, time + takenMs);
      return Promise.resolve(rateStateOf(allowed, allowed ? takenMs : backlogMs, rate));
    },

    acquire: (key, limit) => {
      const count = slots.get(key) ?? 0;
      if (count >= limit) return Promise.resolve(undefined);
      slots.set(key, count + 1);
      return Promise.resolve(slotOf(slots, key));
    },

    [Symbol.asyncDispose]: () => {
      emptyAt.clear();
      slots.clear();
      return Promise.resolve();
    },
  };
}

function slotOf(slots: Map<string, number>, key: string): Slot {
  let released = false;
  return {
    release: () => {
      if (!released) release(slots, key);
      released = true;
      return Promise.resolve();
    },
  };
}

function release(slots: Map<string, number>, key: string): void {
  const left = (slots.get(key) ?? 0) - 1;
  if (left > 0) slots.set(key, left);
  else slots.delete(key);
}
