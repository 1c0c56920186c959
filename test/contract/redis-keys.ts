import { randomUUID } from 'node:crypto';
import { createLog } from '@agent-workflow/kit/log';
import { openRedis } from '@agent-workflow/gateway/redis/client';
import type { Redis } from '@agent-workflow/gateway/redis';
import type { ExecutionContext } from 'ava';

const silentLog = createLog('test', 'silent');

/** A connection to a real Redis, with keys of the test's own. */
export interface RedisKeys {
  readonly redis: Redis;
  /** Another connection to the same keys, as another replica has one. */
  readonly replica: () => Promise<Redis>;
  /** Lets all keys come so much nearer to their end, in milliseconds. */
  readonly pass: (ms: number) => Promise<void>;
}

/** Opens it for one test, which leaves nothing behind. */
export async function openRedisKeys(t: ExecutionContext, url: string): Promise<RedisKeys> {
  const prefix = `test-${randomUUID()}:`;
  const config = { REDIS_URL: url, REDIS_KEY_PREFIX: prefix, REDIS_TIMEOUT_MS: 10_000 };
  const replica = async (): Promise<Redis> => {
    const opened = await openRedis({ config, log: silentLog });
    t.teardown(() => opened[Symbol.asyncDispose]());
    // A machine that has much to do may need longer than a start waits.
    while ((await opened.send('PING').catch(() => undefined)) !== 'PONG') await new Promise(setImmediate);
    return opened;
  };
  const redis = await replica();
  const keys = async (): Promise<string[]> => (await redis.send('KEYS', `${prefix}*`)) as string[];
  t.teardown(async () => {
    for (const key of await keys()) await redis.send('DEL', key);
  });
  return {
    redis,
    replica,
    pass: async (ms) => {
      for (const key of await keys()) {
        const left = (await redis.send('PTTL', key)) as number;
        if (left >= 0) await redis.send('PEXPIRE', key, String(left - ms));
      }
    },
  };
}
