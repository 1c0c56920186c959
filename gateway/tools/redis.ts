import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import { every } from '@agent-workflow/kit/life';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';
import { type Redis, maxReconnectMs, readClock, script } from '../redis/redis.ts';
import { toolsTtlMs, type ToolStore } from './port.ts';

/** Which owners have set up tools, as far as this replica knows without a call to Redis. */
interface ToolOwners extends AsyncDisposable {
  /** Whether the owner is known to have none. */
  readonly hasNone: (owner: string) => boolean;
  /** Notes that the owner has set up tools. */
  readonly add: (owner: string) => void;
  /** Drops everything that is known, because an owner may have been missed. */
  readonly forget: () => void;
  /** Reads all owners. Owners that set up tools meanwhile and later are added by `add`. */
  readonly load: () => Promise<void>;
}

/** With more owners nothing is known, so that the memory is bounded: some 10 MiB. */
const maxOwners = 100_000;
const ownersPerRead = 1000;
/** How often the owners are read again, which drops those whose tools have expired. In milliseconds. */
const reloadMs = 60 * 60 * 1000;

/** Reads the owners from a sorted set whose scores are the times at which their tools expire. */
function openToolOwners(redis: Redis, key: string): ToolOwners {
  let known: Set<string> | undefined;
  let loading: Set<string> | undefined;

  const load = async (): Promise<void> => {
    const owners = new Set<string>();
    loading = owners;
    let cursor = '0';
    do {
      const reply = await redis.send('ZSCAN', key, cursor, 'COUNT', String(ownersPerRead));
      const [next, scored] = reply as [string, readonly string[]];
      cursor = next;
      for (let at = 0; at < scored.length; at += 2) owners.add(digestOf(scored[at] ?? ''));
      if (loading !== owners || owners.size > maxOwners) return;
    } while (cursor !== '0');
    loading = undefined;
    known = owners;
  };

  const forget = (): void => {
    known = undefined;
    loading = undefined;
  };

  const reloads = every(
    reloadMs,
    async () => {
      if (known) await load();
    },
    () => undefined,
  );

  return {
    hasNone: (owner) => known !== undefined && !known.has(digestOf(owner)),
    add: (owner) => {
      const digest = digestOf(owner);
      known?.add(digest);
      loading?.add(digest);
      if (known && known.size > maxOwners) known = undefined;
    },
    forget,
    load: () => load().catch(() => undefined),
    [Symbol.asyncDispose]: () => reloads[Symbol.asyncDispose](),
  };
}

/** A short digest in place of the id, which may be long. When two owners share a digest, both count as owners with tools, which does no harm. */
const digestOf = (owner: string): string => createHash('sha256').update(owner).digest('base64url').slice(0, 16);

/** Bytes of cached lists; the least recently used are evicted first. */
const maxCacheBytes = 32 * 1024 * 1024;

/** How long a cached list may be used, in milliseconds. */
const cacheTtlMs = 10 * 60 * 1000;

/** Replicas that lost Redis at the same time are all connected again after this time, in milliseconds. */
const allConnectedMs = 2 * maxReconnectMs;

/** KEYS: the owner's list, the owners who have one. */
const putScript = script(`
  ${readClock}
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[4])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[4])`);

/**
 * Stores tools in Redis. While Redis is unavailable, `get` gives the list of an owner from the cache, and an empty list for an owner
 * who has set up none: nobody can put a list then, and each replica knows the owners with tools, because it reads them when it
 * connects and receives each later one on a channel. For any other owner `get` rejects. When Redis is back, `put` waits until
 * all replicas are connected and receive the message.
 */
export function openRedisToolStore(redis: Redis): ToolStore {
  const channel = redis.key('tools');
  const cache = new LRUCache<string, string>({
    maxSize: maxCacheBytes,
    sizeCalculation: (list, owner) => list.length + owner.length,
    ttl: cacheTtlMs,
  });
  const ownersKey = redis.key('tool-owners');
  const owners = openToolOwners(redis, ownersKey);
  let changes = 0;
  let gapAt = 0;
  redis.listen(channel, {
    onMessage: (owner) => {
      changes++;
      cache.delete(owner);
      owners.add(owner);
    },
    onGap: () => {
      changes++;
      gapAt = performance.now();
      cache.clear();
      owners.forget();
    },
    onListening: () => void owners.load(),
  });
  const read = async (owner: string): Promise<string> => {
    const changesBefore = changes;
    const list = await redis.send('GET', redis.key(`tools:${owner}`));
    const text = typeof list === 'string' ? list : noTools;
    if (changes === changesBefore && redis.isListening(channel)) cache.set(owner, text);
    return text;
  };

  const cachedOf = (owner: string): string | undefined =>
    cache.get(owner) ?? (owners.hasNone(owner) ? noTools : undefined);

  return {
    put: async (owner, tools) => {
      await delay(Math.max(0, gapAt + allConnectedMs - performance.now()));
      const keys = [redis.key(`tools:${owner}`), ownersKey];
      await redis.run(putScript, keys, toText(tools), String(toolsTtlMs), channel, owner);
    },
    get: async (owner) => {
      const text = await read(owner).catch((error: unknown) => {
        const known = isServiceError(error, 'Unavailable') ? cachedOf(owner) : undefined;
        if (known === undefined) throw error;
        return known;
      });
      return toTools(text);
    },
    [Symbol.asyncDispose]: () => owners[Symbol.asyncDispose](),
  };
}

const noTools = '[]';

type StoredTool = readonly [nodeName: string, name: string, description: string, parametersJson: string];

const toText = (tools: readonly RemoteTool[]): string =>
  JSON.stringify(
    tools.map(({ nodeName, name, description, parametersJson }): StoredTool => [
      nodeName,
      name,
      description,
      Buffer.from(parametersJson).toString(),
    ]),
  );

const toTools = (text: string): readonly RemoteTool[] =>
  (JSON.parse(text) as readonly StoredTool[]).map(([nodeName, name, description, parametersJson]) => ({
    nodeName,
    name,
    description,
    parametersJson: Buffer.from(parametersJson),
  }));
