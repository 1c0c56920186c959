import { LRUCache } from 'lru-cache';
import type { Counter, Hold, Rate, Standing } from '../port.ts';

export interface MemoryCounterOptions {
  /** Keys whose rate is remembered; those that were not asked about for longest are forgotten first. */
  readonly maxKeys?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Counts in this process. Rates are the generic cell rate algorithm (ITU-T I.371, annex A, "virtual scheduling"): one
 * number a key, the time at which all that was taken will have flowed off. It gives `limit` at once and then one every
 * `windowMs / limit`: nobody can wait for a window to begin anew.
 */
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
      const allowed = cost === 0 ? hasRoom(backlogMs + intervalOf(rate), rate) : hasRoom(takenMs, rate);
      if (allowed && cost > 0) emptyAt.set(key, time + takenMs);
      return Promise.resolve(standing(allowed, allowed ? takenMs : backlogMs, rate));
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

const intervalOf = ({ limit, windowMs }: Rate): number => windowMs / limit;

/** Half an interval is left to rounding: one more than the limit would need a whole one. */
const hasRoom = (backlogMs: number, rate: Rate): boolean => backlogMs <= rate.windowMs + intervalOf(rate) / 2;

function standing(allowed: boolean, backlogMs: number, rate: Rate): Standing {
  const interval = intervalOf(rate);
  const room = rate.windowMs - backlogMs;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(room / interval + 0.5)),
    resetMs: backlogMs,
    retryAfterMs: hasRoom(backlogMs + interval, rate) ? 0 : interval - room,
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
