import { openInProcessReplyCache, openRedisReplyCache } from '@agent-workflow/gateway/idempotency';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { replyCacheContract } from './reply-cache.ts';
import { openRedisKeys } from './redis-keys.ts';

replyCacheContract(test, 'in memory', async () => {
  let time = 1_000_000;
  return {
    cache: openInProcessReplyCache({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

test('in memory: replies beyond the bound are forgotten, the longest unasked first', async (t) => {
  await using cache = openInProcessReplyCache({ maxBytes: 3000 });
  const reply = { bodyHash: 'hash', replyJson: Buffer.alloc(900) };
  for (const key of ['a', 'b', 'c']) await cache.put(key, reply);
  await cache.get('a');
  await cache.put('d', reply);
  t.is(await cache.get('b'), undefined);
  for (const key of ['a', 'c', 'd']) t.is((await cache.get(key))?.replyJson.byteLength, 900, key);
});

withServer(test, redis, (server) => {
  replyCacheContract(test, 'in Redis', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    return { cache: openRedisReplyCache(keys.redis), pass: keys.pass };
  });

  test('in Redis: a reply that one replica keeps is known to the others', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await openRedisReplyCache(keys.redis).put('a', { bodyHash: 'hash', replyJson: Buffer.from('1') });
    t.is((await openRedisReplyCache(await keys.replica()).get('a'))?.bodyHash, 'hash');
  });
});
