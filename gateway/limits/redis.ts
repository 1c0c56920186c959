import { randomUUID } from 'node:crypto';
import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import { readClock, script, type Redis } from '../redis/redis.ts';
import { intervalOf, largestOf, rateStateOf } from './cell-rate.ts';
import type { Counter, Slot } from './port.ts';

/** The slots of all gateways. Each gateway keeps a lease by heartbeat, and its slots count while the lease lasts. */
interface RedisSlots extends AsyncDisposable, Pick<Counter, 'acquire'> {}

interface RedisSlotsOptions {
  /** A gateway without a heartbeat for this time counts as dead, and its slots as free. In milliseconds. */
  readonly leaseMs: number;
}

/** The slots of a dead gateway are free within five seconds of its last heartbeat, and three heartbeats may be lost. */
const defaultLeaseMs = 4000;

/** Heartbeats per lease. */
const heartbeatsPerLease = 4;

/** Redis keeps the slots of a gateway whose lease has expired for this time, in milliseconds. */
const retentionMs = 60_000;

/** How often a gateway writes all its counts again, also when it knows of no difference. In milliseconds. */
const rewriteMs = 20_000;

/** Counts that are written concurrently. */
const writesAtOnce = 128;

/**
 * KEYS: leases (gateways, each scored with the end of its lease), slots (gateways, each with how many slots of this key it
 * holds). The gateway sends its own count, not a difference, so that a count that Redis lost or never got does no harm.
 */
const acquireScript = script(`
  ${readClock}
  local gateway, own, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  local held = own
  local counts = redis.call('HGETALL', KEYS[2])
  for at = 1, #counts, 2 do
    if counts[at] ~= gateway then
      local lease = redis.call('ZSCORE', KEYS[1], counts[at])
      if not lease then redis.call('HDEL', KEYS[2], counts[at])
      elseif tonumber(lease) > now then held = held + counts[at + 1] end
    end
  end
  if held > limit then return 0 end
  redis.call('HSET', KEYS[2], gateway, own)
  redis.call('PEXPIRE', KEYS[2], ${String(retentionMs)})
  return 1`);

/** Writes how many slots of a key a gateway holds. */
const writeScript = script(`
  if ARGV[2] == '0' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ${String(retentionMs)})`);

/** Renews the lease of a gateway. Returns 1 when the lease was valid, 0 when it had expired or was lost. */
const heartbeatScript = script(`
  ${readClock}
  local lease = redis.call('ZSCORE', KEYS[1], ARGV[1])
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${String(retentionMs)})
  redis.call('PEXPIRE', KEYS[1], ${String(2 * retentionMs)})
  return lease and tonumber(lease) > now and 1 or 0`);

/** The slots of one key that this gateway holds. */
interface OwnSlots {
  /** Slots held or requested. */
  count: number;
  /** How many times the count was sent to Redis. */
  sent: number;
  /** How many of these commands have no reply yet. */
  pending: number;
}

/**
 * Slots in Redis. The slots of a dead gateway are free when its lease expires. A gateway that was only late, frozen or without
 * Redis still has its streams, and writes all its counts again with its next heartbeat. While Redis is unavailable each gateway has
 * the whole limit for itself; the slots that it acquired then are counted when Redis is back.
 */
function openRedisSlots(redis: Redis, { leaseMs }: RedisSlotsOptions): RedisSlots {
  const gateway = randomUUID();
  const leases = redis.key('gateways');
  const slotsByKey = new Map<string, OwnSlots>();
  /** Redis may have other counts than this gateway. */
  let isOutOfSync = false;

  const slotsOf = (key: string): OwnSlots => {
    const known = slotsByKey.get(key);
    if (known) return known;
    const own: OwnSlots = { count: 0, sent: 0, pending: 0 };
    slotsByKey.set(key, own);
    return own;
  };

  const write = async (key: string): Promise<void> => {
    const own = slotsOf(key);
    own.sent++;
    own.pending++;
    try {
      await redis.run(writeScript, key, gateway, () => String(own.count));
    } catch {
      isOutOfSync = true;
      return;
    } finally {
      own.pending--;
    }
    if (own.count === 0 && own.pending === 0) slotsByKey.delete(key);
  };

  const writeAll = async (): Promise<void> => {
    const keys = [...slotsByKey.keys()];
    for (let at = 0; at < keys.length && !isOutOfSync; at += writesAtOnce)
      await Promise.all(keys.slice(at, at + writesAtOnce).map(write));
  };

  let rewriting: Promise<void> | undefined;
  const rewrite = (): void => {
    if (rewriting) return;
    isOutOfSync = false;
    rewriting = writeAll().finally(() => {
      rewriting = undefined;
    });
  };

  const heartbeat = async (): Promise<void> => {
    try {
      const wasValid = await redis.run(heartbeatScript, leases, gateway, String(leaseMs));
      if (wasValid !== 1) isOutOfSync = true;
    } catch {
      isOutOfSync = true;
      return;
    }
    // Not awaited: the next heartbeat must not wait for it.
    if (isOutOfSync) rewrite();
  };
  const heartbeats = every(leaseMs / heartbeatsPerLease, heartbeat, () => undefined);
  const rewrites = every(rewriteMs, rewrite, () => undefined);
  const firstHeartbeat = heartbeat();

  const isGranted = async (key: string, own: OwnSlots, limit: number): Promise<boolean> => {
    const sent = ++own.sent;
    own.pending++;
    try {
      const reply = await redis.run(acquireScript, [leases, key], gateway, String(own.count), String(limit));
      if (reply === 1) return true;
    } catch (error) {
      if (isServiceError(error, 'Unavailable')) {
        isOutOfSync = true;
        return true;
      }
      own.count--;
      throw error;
    } finally {
      own.pending--;
    }
    own.count--;
    // A count that was sent in the meantime includes the refused slot.
    if (own.sent !== sent) void write(key);
    else if (own.count === 0 && own.pending === 0) slotsByKey.delete(key);
    return false;
  };

  return {
    acquire: async (name, limit) => {
      const key = redis.key(`slots:${name}`);
      const own = slotsOf(key);
      if (own.count >= limit) return undefined;
      own.count++;
      if (!(await isGranted(key, own, limit))) return undefined;
      return slotOf(() => {
        own.count--;
        return write(key);
      });
    },

    [Symbol.asyncDispose]: async () => {
      await heartbeats[Symbol.asyncDispose]();
      await rewrites[Symbol.asyncDispose]();
      await firstHeartbeat;
      await rewriting;
      // A lease that cannot be removed expires.
      await redis.send('ZREM', leases, gateway).catch(() => undefined);
    },
  };
}

function slotOf(release: () => Promise<void>): Slot {
  let isReleased = false;
  return {
    release: async () => {
      if (isReleased) return;
      isReleased = true;
      await release();
    },
  };
}

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
