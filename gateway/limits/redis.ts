import { readClock, script, type Redis } from '../redis/redis.ts';
import { intervalOf, largestOf, rateStateOf } from './cell-rate.ts';
import type { Counter } from './port.ts';
import { defaultLeaseMs, openRedisSlots } from './redis-slots.ts';

interface RedisCounterOptions {
  /** A clock in milliseconds in place of that of Redis. */
  readonly now?: () => number;
  /** A gateway without a heartbeat for this time loses its slots. In milliseconds. */
  readonly leaseMs?: number;
}

/** Keys are kept this much longer than they count, so that a clock that is set back loses no counts. In milliseconds. */
const slackMs = 60_000;

/**
 * The value of a key is its backlog and the time of it, both in milliseconds, as two numbers: their sum would be too large for
 * a double to hold short intervals. They are written with 17 digits, because Lua's own format rounds.
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

/** A counter in Redis, for all replicas together. */
export function openRedisCounter(redis: Redis, { now, leaseMs = defaultLeaseMs }: RedisCounterOptions = {}): Counter {
  const slots = openRedisSlots(redis, { leaseMs });
  return {
    take: async (key, rate, cost = 1) => {
      const numbers = [cost, intervalOf(rate), largestOf(rate), now?.() ?? ''].map(String);
      const reply = await redis.run(takeScript, redis.key(`rate:${key}`), ...numbers);
      const [allowed, backlogMs] = reply as [number, string];
      return rateStateOf(allowed === 1, Number(backlogMs), rate);
    },
    acquire: slots.acquire,
    [Symbol.asyncDispose]: () => slots[Symbol.asyncDispose](),
  };
}
