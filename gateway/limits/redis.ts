import { readClock, script, type Redis } from '../redis/redis.ts';
import { intervalOf, largestOf, standingOf } from './cell-rate.ts';
import type { Counter } from './port.ts';
import { openRedisPlaces, usualLeaseMs } from './redis-places.ts';

export interface RedisCounterOptions {
  /** Milliseconds of a clock in place of that of Redis, which is every replica's. */
  readonly now?: () => number;
  /** A gateway that has sent no heartbeat for so long has no places any more. In milliseconds. */
  readonly leaseMs?: number;
}

/** Keys are kept for longer than they count, so that a clock that is set back forgives nothing. In milliseconds. */
const slackMs = 60_000;

/**
 * Backlog and the moment it was so, both in milliseconds, stand apart: together they would be a number too large to tell
 * short intervals. Lua's own way to write numbers would round them.
 */
const takeScript = script(`
  ${readClock}
  local given = tonumber(ARGV[4]) if given then now = given end
  local cost, interval, largest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local backlog = 0
  local kept = redis.call('GET', KEYS[1])
  if kept then
    local then_, left = string.match(kept, '^(%S+) (%S+)$')
    backlog = math.max(0, left - math.max(0, now - then_))
  end
  local taken = backlog + cost * interval
  local allowed = (cost == 0 and backlog + interval or taken) <= largest
  if not allowed then return {0, string.format('%.17g', backlog)} end
  if cost > 0 then
    redis.call('SET', KEYS[1], string.format('%.17g %.17g', now, taken), 'PX', math.ceil(taken) + ${String(slackMs)})
  end
  return {1, string.format('%.17g', taken)}`);

/** Counts in Redis, for all replicas together. */
export function openRedisCounter(redis: Redis, { now, leaseMs = usualLeaseMs }: RedisCounterOptions = {}): Counter {
  const places = openRedisPlaces(redis, { leaseMs });
  return {
    take: async (key, rate, cost = 1) => {
      const numbers = [cost, intervalOf(rate), largestOf(rate), now?.() ?? ''].map(String);
      const reply = await redis.run(takeScript, redis.key(`rate:${key}`), ...numbers);
      const [allowed, backlogMs] = reply as [number, string];
      return standingOf(allowed === 1, Number(backlogMs), rate);
    },
    hold: places.hold,
    [Symbol.asyncDispose]: () => places[Symbol.asyncDispose](),
  };
}
