import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';
import { longestWaitMs, readClock, script, type Redis } from '../redis/redis.ts';
import { keptMs, type ToolShelf } from './port.ts';
import { openToolOwners } from './redis-owners.ts';

/** Bytes of lists that are remembered; those that were not asked for longest are forgotten first. */
const maxRememberedBytes = 32 * 1024 * 1024;

/** A list that was read so long ago counts for nothing any more, in milliseconds. */
const rememberedMs = 10 * 60 * 1000;

/** Replicas that lost Redis together have it back together, within this time, in milliseconds. */
const settledMs = 2 * longestWaitMs;

/** KEYS: the owner's list, the owners who have one. */
const putScript = script(`
  ${readClock}
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[4])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[4])`);

/**
 * Keeps tools in Redis. While that is away an owner whose list was read shortly before still has it, and one who never set up
 * any has none: nobody can put a list then, and each replica knows the owners who did before, because it reads them when it
 * connects and is told of each later one on a channel. Of any other owner the list is not known, so that `get` rejects. When
 * Redis is back, a list is put only once every replica is there to be told.
 */
export function openRedisToolShelf(redis: Redis): ToolShelf {
  const channel = redis.key('tools');
  const remembered = new LRUCache<string, string>({
    maxSize: maxRememberedBytes,
    sizeCalculation: (list, owner) => list.length + owner.length,
    ttl: rememberedMs,
  });
  const ownersKey = redis.key('tool-owners');
  const owners = openToolOwners(redis, ownersKey);
  let changes = 0;
  let gapAt = 0;
  redis.listen(channel, {
    onMessage: (owner) => {
      changes++;
      remembered.delete(owner);
      owners.add(owner);
    },
    onGap: () => {
      changes++;
      gapAt = performance.now();
      remembered.clear();
      owners.forget();
    },
    onListening: () => void owners.load(),
  });
  const read = async (owner: string): Promise<string> => {
    const before = changes;
    const list = await redis.send('GET', redis.key(`tools:${owner}`));
    const text = typeof list === 'string' ? list : noTools;
    if (changes === before && redis.isListening(channel)) remembered.set(owner, text);
    return text;
  };

  const knownOf = (owner: string): string | undefined =>
    remembered.get(owner) ?? (owners.hasNone(owner) ? noTools : undefined);

  return {
    put: async (owner, tools) => {
      await delay(Math.max(0, gapAt + settledMs - performance.now()));
      const keys = [redis.key(`tools:${owner}`), ownersKey];
      await redis.run(putScript, keys, toText(tools), String(keptMs), channel, owner);
    },
    get: async (owner) => {
      const text = await read(owner).catch((error: unknown) => {
        const known = isServiceError(error, 'Unavailable') ? knownOf(owner) : undefined;
        if (known === undefined) throw error;
        return known;
      });
      return toTools(text);
    },
    [Symbol.asyncDispose]: () => owners[Symbol.asyncDispose](),
  };
}

const noTools = '[]';

type Kept = readonly [nodeName: string, name: string, description: string, parametersJson: string];

const toText = (tools: readonly RemoteTool[]): string =>
  JSON.stringify(
    tools.map(({ nodeName, name, description, parametersJson }): Kept => [
      nodeName,
      name,
      description,
      Buffer.from(parametersJson).toString(),
    ]),
  );

const toTools = (text: string): readonly RemoteTool[] =>
  (JSON.parse(text) as readonly Kept[]).map(([nodeName, name, description, parametersJson]) => ({
    nodeName,
    name,
    description,
    parametersJson: Buffer.from(parametersJson),
  }));
