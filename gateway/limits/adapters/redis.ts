import { randomUUID } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import { script, type Redis } from '../../stores/redis.ts';
import { intervalOf, largestOf, standingOf } from '../cell-rate.ts';
import type { Counter, Hold } from '../port.ts';

export interface RedisCounterOptions {
  /** Milliseconds of a clock in place of that of Redis, which is every replica's. */
  readonly now?: () => number;
  /** A place that is not renewed for so long is given back, because its process has died. In milliseconds. */
  readonly leaseMs?: number;
}

/** Keys are kept for longer than they count, so that a clock that is set back forgives nothing. In milliseconds. */
const slackMs = 60_000;

/** Milliseconds of Redis's own clock. */
const readClock = `local clock = redis.call('TIME') local now = clock[1] * 1000 + clock[2] / 1000`;

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

/** Members are places, scores the time to which they are held. */
const holdScript = script(`
  ${readClock}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return 1`);

/** Also those that Redis has forgotten meanwhile, by a restart, are held again. */
const renewScript = script(`
  ${readClock}
  for place = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[place]) end
  redis.call('PEXPIRE', KEYS[1], ARGV[1])`);

/** Counts in Redis, for all replicas together. Places are held by lease, renewed as long as this process lives. */
export function openRedisCounter(redis: Redis, { now, leaseMs = 60_000 }: RedisCounterOptions = {}): Counter {
  const held = new Map<string, Set<string>>();
  const lease = String(leaseMs);
  const renew = async (): Promise<void> => {
    for (const [key, places] of held) await redis.run(renewScript, key, lease, ...places);
  };
  const renewing = every(leaseMs / 3, renew, () => undefined);

  return {
    take: async (key, rate, cost = 1) => {
      const numbers = [cost, intervalOf(rate), largestOf(rate), now?.() ?? ''].map(String);
      const reply = await redis.run(takeScript, redis.key(`rate:${key}`), ...numbers);
      const [allowed, backlogMs] = reply as [number, string];
      return standingOf(allowed === 1, Number(backlogMs), rate);
    },

    hold: async (name, limit) => {
      const key = redis.key(`held:${name}`);
      const place = randomUUID();
      const isGiven = await redis.run(holdScript, key, lease, String(limit), place);
      if (isGiven !== 1) return undefined;
      held.set(key, (held.get(key) ?? new Set()).add(place));
      return holdOf({ redis, held, key, place });
    },

    [Symbol.asyncDispose]: () => renewing[Symbol.asyncDispose](),
  };
}

interface Held {
  readonly redis: Redis;
  readonly held: Map<string, Set<string>>;
  readonly key: string;
  readonly place: string;
}

function holdOf({ redis, held, key, place }: Held): Hold {
  return {
    release: async () => {
      const places = held.get(key);
      if (!places?.delete(place)) return;
      if (places.size === 0) held.delete(key);
      // One that cannot be given back now ends with its lease.
      await redis.send('ZREM', key, place).catch(() => undefined);
    },
  };
}
