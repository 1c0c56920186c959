import type { Redis } from '../redis/redis.ts';
import { replyTtlMs, type CachedReply, type ReplyCache } from './port.ts';

/** A reply cache in Redis, which all replicas share. */
export function openRedisReplyCache(redis: Redis): ReplyCache {
  const keyOf = (key: string): string => redis.key(`once:${key}`);
  return {
    get: async (key) => toReply(await redis.send('GET', keyOf(key)).catch(nothing)),
    put: async (key, { bodyHash, replyJson }) => {
      const text = `${bodyHash}\n${Buffer.from(replyJson).toString()}`;
      await redis.send('SET', keyOf(key), text, 'PX', String(replyTtlMs)).catch(nothing);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const nothing = (): undefined => undefined;

function toReply(value: unknown): CachedReply | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.indexOf('\n');
  return { bodyHash: value.slice(0, line), replyJson: Buffer.from(value.slice(line + 1)) };
}
