import { randomUUID } from 'node:crypto';
import { unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { Weaviate } from '../client/weaviate.ts';
import { allOf, equals, findRows, type Where } from '../client/queries.ts';

/** Locks by key that all processes respect. */
export interface Locks {
  /**
   * Does `work` while no other process, and nothing else in this one, holds `key`. The lock of a process that died expires after
   * `leaseMs`; `work` calls `isHeld` before it writes.
   * @throws Unavailable when the key does not become free in time.
   */
  readonly hold: <T>(key: string, work: (isHeld: () => boolean) => Promise<T>) => Promise<T>;
  /**
   * Does `work` with those of `keys` that are free now, at most `keysAtOnce` of them, and leaves the others out. It sends a few requests
   * for all keys together.
   */
  readonly holdFree: <T>(
    keys: readonly string[],
    work: (free: readonly string[], isHeld: () => boolean) => Promise<T>,
  ) => Promise<T>;
}

/** How many keys `holdFree` takes in one call. */
export const keysAtOnce = 64;

/** A lock that is older than this is of a process that died, and is removed. */
const leaseMs = 30_000;
/** Until when a holder may begin its write; the rest of the lease is for the write itself. */
const mayWriteMs = 10_000;
/** How long `hold` waits for a key. */
const waitMs = 8000;

/** The object with which a process claims a key. */
interface Intent {
  readonly id: string;
  readonly key: string;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly updatedAt: number;
}

const maxIntents = 1000;

/**
 * Locks on a store without conditional writes: a process first writes an intent for the key and then reads all intents. Of two
 * processes at once at least one sees the other's intent, and one that sees another withdraws its own. So no two hold a key.
 */
export function createLocks(weaviate: Weaviate, collection: string): Locks {
  const scope = { collection };
  const findIntents = async (where: Where): Promise<Intent[]> => {
    const condition = allOf([equals('kind', 'intent'), where]);
    const fields = 'key _additional { id lastUpdateTimeUnix }';
    return (await findRows(weaviate, { scope, where: condition, fields, limit: maxIntents })).map(toIntent);
  };
  const intentOf = (key: string, id: string) => ({ ...scope, id, properties: { kind: 'intent', key, value: '' } });
  /** When Weaviate is unavailable the intent stays, and the next process that takes the key removes it. */
  const withdraw = async (ids: readonly string[]): Promise<void> => {
    await weaviate.removeMany(scope, ids).catch(() => []);
  };

  /** Whether this process's intent is the only one at the key. Expired intents are removed. */
  const isAlone = async (key: string, own: string): Promise<boolean> => {
    const intents = await findIntents(equals('key', key));
    const now = intents.find(({ id }) => id === own)?.updatedAt ?? 0;
    const others = intents.filter(({ id }) => id !== own);
    const expired = others.filter(({ updatedAt }) => updatedAt < now - leaseMs).map(({ id }) => id);
    await weaviate.removeMany(scope, expired);
    return others.length === expired.length;
  };

  const take = async (key: string): Promise<string> => {
    const contended = unavailable('the memory is being changed by others');
    const tryToTake = async (): Promise<string> => {
      const own = randomUUID();
      await weaviate.create(intentOf(key, own));
      const alone = await isAlone(key, own).catch(async (error: unknown) => {
        await withdraw([own]);
        throw error;
      });
      if (alone) return own;
      await weaviate.removeMany(scope, [own]);
      throw contended;
    };
    return retry(tryToTake, {
      ...{ firstMs: 12, maxMs: 600, jitter: 0.7 },
      deadline: Date.now() + waitMs,
      mayHelp: (error) => error === contended,
    });
  };

  /** The keys that are free, each with the id of this process's intent. */
  const takeFree = async (keys: readonly string[]): Promise<Map<string, string>> => {
    const own = new Map<string, string>(keys.map((key) => [key, randomUUID()]));
    const ids = new Set<string>(own.values());
    try {
      await weaviate.putMany([...own].map(([key, id]) => intentOf(key, id)));
      const intents = await findIntents({ operator: 'ContainsAny', path: ['key'], valueText: keys });
      const isComplete = intents.length < maxIntents;
      const now = Math.max(0, ...intents.filter(({ id }) => ids.has(id)).map(({ updatedAt }) => updatedAt));
      const others = intents.filter(({ id, updatedAt }) => !ids.has(id) && updatedAt >= now - leaseMs);
      const contended = isComplete ? others.map(({ key }) => key) : keys;
      const lost = contended.flatMap((key) => own.get(key) ?? []);
      await weaviate.removeMany(scope, lost);
      for (const key of contended) own.delete(key);
      return own;
    } catch (error) {
      await withdraw([...ids]);
      throw error;
    }
  };

  return {
    hold: async (key, work) => {
      const own = await take(key);
      const mayWriteUntil = Date.now() + mayWriteMs;
      try {
        return await work(() => Date.now() < mayWriteUntil);
      } finally {
        await withdraw([own]);
      }
    },
    holdFree: async (keys, work) => {
      const own = await takeFree(keys.slice(0, keysAtOnce));
      const mayWriteUntil = Date.now() + mayWriteMs;
      try {
        return await work([...own.keys()], () => Date.now() < mayWriteUntil);
      } finally {
        await withdraw([...own.values()]);
      }
    },
  };
}

function toIntent(row: Readonly<Record<string, unknown>>): Intent {
  const { id, lastUpdateTimeUnix } = row['_additional'] as { id: string; lastUpdateTimeUnix: string };
  return { id, key: String(row['key']), updatedAt: Number(lastUpdateTimeUnix) };
}
