import type { Redis } from '../redis/redis.ts';
import { onceMs, type KeptReply, type OnceCache } from './port.ts';

/** Keeps replies in Redis, for all replicas. */
export function openRedisOnceCache(redis: Redis): OnceCache {
  const keyOf = (key: string): string => redis.key(`once:${key}`);
  return {
    get: async (key) => toReply(await redis.send('GET', keyOf(key)).catch(nothing)),
    put: async (key, { bodyHash, replyJson }) => {
      const text = `${bodyHash}\n${Buffer.from(replyJson).toString()}`;
      await redis.send('SET', keyOf(key), text, 'PX', String(onceMs)).catch(nothing);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const nothing = (): undefined => undefined;

function toReply(kept: unknown): KeptReply | undefined {
  if (typeof kept !== 'string') return undefined;
  const line = kept.indexOf('\n');
  return { bodyHash: kept.slice(0, line), replyJson: Buffer.from(kept.slice(line + 1)) };
}
