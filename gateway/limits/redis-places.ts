import { randomUUID } from 'node:crypto';
import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import { readClock, script, type Redis } from '../redis/redis.ts';
import type { Counter, Hold } from './port.ts';

/** The places of all gateways, each of which leases its own by heartbeat. */
export interface Places extends AsyncDisposable, Pick<Counter, 'hold'> {}

export interface PlacesOptions {
  /** A gateway that has sent no heartbeat for so long is taken for dead, and its places are free. In milliseconds. */
  readonly leaseMs: number;
}

/** A death is seen this long after the last heartbeat: within five seconds, and three heartbeats may be late. */
export const usualLeaseMs = 4000;

/** Heartbeats in one lease. */
const beats = 4;

/** A gateway that was thought dead and comes back within this time still has its places in Redis, in milliseconds. */
const rememberedMs = 60_000;

/** How often a gateway writes all its places again, whatever it thinks of Redis, in milliseconds. */
const assertMs = 20_000;

/** Places written at once. */
const assertsAtOnce = 128;

/**
 * KEYS: leases (gateways, each scored with the end of its lease), places (gateways, each with how many it holds of one name).
 * A gateway says how many it holds itself: what Redis has forgotten of that, or not heard of, is of no matter.
 */
const holdScript = script(`
  ${readClock}
  local gateway, own, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
  local held = own
  local places = redis.call('HGETALL', KEYS[2])
  for at = 1, #places, 2 do
    if places[at] ~= gateway then
      local lease = redis.call('ZSCORE', KEYS[1], places[at])
      if not lease then redis.call('HDEL', KEYS[2], places[at])
      elseif tonumber(lease) > now then held = held + places[at + 1] end
    end
  end
  if held > limit then return 0 end
  redis.call('HSET', KEYS[2], gateway, own)
  redis.call('PEXPIRE', KEYS[2], ${String(rememberedMs)})
  return 1`);

/** Writes how many places a gateway holds of a name. */
const assertScript = script(`
  if ARGV[2] == '0' then return redis.call('HDEL', KEYS[1], ARGV[1]) end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ${String(rememberedMs)})`);

/** Renews the lease of a gateway. Gives 1 when it was held, 0 when it had run out or was forgotten. */
const beatScript = script(`
  ${readClock}
  local lease = redis.call('ZSCORE', KEYS[1], ARGV[1])
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${String(rememberedMs)})
  redis.call('PEXPIRE', KEYS[1], ${String(2 * rememberedMs)})
  return lease and tonumber(lease) > now and 1 or 0`);

/** What this gateway holds of one name. */
interface Own {
  /** Places held or asked for. */
  count: number;
  /** Grows with each count that is sent to Redis. */
  sent: number;
  /** Counts that were sent and not answered. */
  pending: number;
}

/**
 * Holds places in Redis. A gateway that died has none as soon as its lease has run out; one that was only late, frozen, or
 * without Redis for a while still has its streams, and writes their places again with its next heartbeat. While Redis is
 * away each gateway gives the whole limit; what it gave then counts for all when Redis is back.
 */
export function openRedisPlaces(redis: Redis, { leaseMs }: PlacesOptions): Places {
  const gateway = randomUUID();
  const leases = redis.key('gateways');
  const owns = new Map<string, Own>();
  /** Redis may not have what this gateway holds. */
  let isBehind = false;

  const ownOf = (key: string): Own => {
    const known = owns.get(key);
    if (known) return known;
    const own: Own = { count: 0, sent: 0, pending: 0 };
    owns.set(key, own);
    return own;
  };

  const assert = async (key: string): Promise<void> => {
    const own = ownOf(key);
    own.sent++;
    own.pending++;
    try {
      await redis.run(assertScript, key, gateway, String(own.count));
    } catch {
      isBehind = true;
      return;
    } finally {
      own.pending--;
    }
    if (own.count === 0 && own.pending === 0) owns.delete(key);
  };

  const assertAll = async (): Promise<void> => {
    const keys = [...owns.keys()];
    for (let at = 0; at < keys.length && !isBehind; at += assertsAtOnce)
      await Promise.all(keys.slice(at, at + assertsAtOnce).map(assert));
  };

  let asserting: Promise<void> | undefined;
  const catchUp = (): void => {
    if (asserting) return;
    isBehind = false;
    asserting = assertAll().finally(() => {
      asserting = undefined;
    });
  };

  const beat = async (): Promise<void> => {
    try {
      const wasHeld = await redis.run(beatScript, leases, gateway, String(leaseMs));
      if (wasHeld !== 1) isBehind = true;
    } catch {
      isBehind = true;
      return;
    }
    // A heartbeat waits for nothing else.
    if (isBehind) catchUp();
  };
  const beating = every(leaseMs / beats, beat, () => undefined);
  const asserts = every(assertMs, catchUp, () => undefined);
  const begun = beat();

  const ask = async (key: string, own: Own, limit: number): Promise<boolean> => {
    const sent = ++own.sent;
    own.pending++;
    try {
      const isGiven = await redis.run(holdScript, [leases, key], gateway, String(own.count), String(limit));
      if (isGiven === 1) return true;
    } catch (error) {
      if (isServiceError(error, 'Unavailable')) {
        isBehind = true;
        return true;
      }
      own.count--;
      throw error;
    } finally {
      own.pending--;
    }
    own.count--;
    // A count that was sent since has this place in it.
    if (own.sent !== sent) void assert(key);
    else if (own.count === 0 && own.pending === 0) owns.delete(key);
    return false;
  };

  return {
    hold: async (name, limit) => {
      const key = redis.key(`places:${name}`);
      const own = ownOf(key);
      if (own.count >= limit) return undefined;
      own.count++;
      if (!(await ask(key, own, limit))) return undefined;
      return holdOf(() => {
        own.count--;
        return assert(key);
      });
    },

    [Symbol.asyncDispose]: async () => {
      await beating[Symbol.asyncDispose]();
      await asserts[Symbol.asyncDispose]();
      await begun;
      await asserting;
      // One that cannot be given up now ends by itself.
      await redis.send('ZREM', leases, gateway).catch(() => undefined);
    },
  };
}

function holdOf(giveBack: () => Promise<void>): Hold {
  let isReleased = false;
  return {
    release: async () => {
      if (isReleased) return;
      isReleased = true;
      await giveBack();
    },
  };
}
