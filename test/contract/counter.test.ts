import test, { type ExecutionContext } from 'ava';
import { type Counter, openInProcessCounter, openRedisCounter, withFallback } from '@agent-workflow/gateway/limits';
import { openRedis } from '@agent-workflow/gateway/redis/client';
import { createLog } from '@agent-workflow/kit/log';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { counterContract } from './counter.ts';
import { openRedisKeys, type RedisKeys } from './redis-keys.ts';
import { byLoad } from '../by-load.ts';

const silentLog = createLog('test', 'silent');

counterContract(test, 'in memory', async () => {
  let time = 1_000_000;
  return {
    counter: openInProcessCounter({ now: () => time }),
    pass: async (ms) => {
      time += ms;
    },
  };
});

test('in memory: keys beyond the bound are forgotten, the longest unasked first', async (t) => {
  await using counter = openInProcessCounter({ maxKeys: 3, now: () => 0 });
  const rate = { limit: 1, windowMs: 1000 };
  for (const key of ['a', 'b', 'c']) await counter.take(key, rate);
  await counter.take('a', rate);
  await counter.take('d', rate);
  t.true((await counter.take('b', rate, 0)).allowed);
  for (const key of ['a', 'c', 'd']) t.false((await counter.take(key, rate, 0)).allowed, key);
});

test('in memory: exactly the limit is let through at once, whatever limit and moment', async (t) => {
  for (const limit of [1, 3, 7, 999, 6000, 100_000]) {
    for (const time of [0, 0.1, 86_400_000.7]) {
      await using counter = openInProcessCounter({ now: () => time });
      let given = 0;
      while ((await counter.take('a', { limit, windowMs: 60_000 })).allowed) given++;
      t.is(given, limit);
    }
  }
});

for (const [name, openShared] of [
  ['with a fallback', (now: () => number) => openInProcessCounter({ now })],
  ['with a fallback, alone', openCounterOfNothing],
] as const) {
  counterContract(test, name, async () => {
    let time = 1_000_000;
    const now = (): number => time;
    return {
      counter: withFallback({ shared: await openShared(now), local: openInProcessCounter({ now }) }),
      pass: async (ms) => {
        time += ms;
      },
    };
  });
}

/** A counter in a Redis that is not there. */
async function openCounterOfNothing(): Promise<Counter> {
  const config = { REDIS_URL: 'redis://127.0.0.1:1', REDIS_KEY_PREFIX: '', REDIS_TIMEOUT_MS: 1000 };
  const nothing = await openRedis({ config, log: silentLog });
  const counter = openRedisCounter(nothing);
  return {
    ...counter,
    [Symbol.asyncDispose]: async () => {
      await counter[Symbol.asyncDispose]();
      await nothing[Symbol.asyncDispose]();
    },
  };
}

withServer(test, redis, (server) => {
  counterContract(test, 'in Redis', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    let time = 1_000_000;
    return {
      counter: openRedisCounter(keys.redis, { now: () => time }),
      pass: async (ms) => {
        time += ms;
      },
    };
  });

  test('in Redis: exactly the limit is let through at once, whatever limit and moment', async (t) => {
    const { redis: connection } = await openRedisKeys(t, (await server()).url);
    for (const [index, time] of [0, 0.1, 1_795_000_000_000.7].entries()) {
      await using counter = openRedisCounter(connection, { now: () => time });
      for (const limit of [1, 3, 7, 999]) {
        let given = 0;
        while ((await counter.take(`${String(index)} ${String(limit)}`, { limit, windowMs: 60_000 })).allowed) given++;
        t.is(given, limit);
      }
      const [many, rate] = [`${String(index)} many`, { limit: 10_000_000, windowMs: 1000 }];
      t.like(await counter.take(many, rate, 9_999_998), { allowed: true, remaining: 2 });
      for (const remaining of [1, 0]) t.like(await counter.take(many, rate), { allowed: true, remaining });
      t.false((await counter.take(many, rate)).allowed);
    }
  });

  test('in Redis: time is that of Redis, and whoever waits as long as is said is let through', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await using counter = openRedisCounter(keys.redis);
    const hour = { limit: 1, windowMs: 3_600_000 };
    t.true((await counter.take('hour', hour)).allowed);
    t.false((await counter.take('hour', hour)).allowed);

    const rate = { limit: 1, windowMs: 300 };
    await counter.take('short', rate);
    const begin = performance.now();
    const { retryAfterMs } = await counter.take('short', rate, 0);
    t.true(retryAfterMs <= 300, String(retryAfterMs));
    while (!(await counter.take('short', rate)).allowed) t.true(performance.now() - begin < byLoad(10_000));
    // Half an interval is left to rounding.
    t.true(performance.now() - begin >= retryAfterMs / 2 - 2);
  });

  test('in Redis: replicas that ask at once give the limit together, in rate and in places', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    const connections = [keys.redis, await keys.replica(), await keys.replica()];
    const counters = connections.map((connection) => openRedisCounter(connection, { now: () => 0 }));
    const rate = { limit: 20, windowMs: 60_000 };
    const takes = Array.from({ length: 30 }, (_, index) => counters[index % 3]).filter(
      (counter) => counter !== undefined,
    );
    const taken = await Promise.all(takes.map((counter) => counter.take('a', rate)));
    t.is(taken.filter(({ allowed }) => allowed).length, 20);
    const slots = await Promise.all(takes.map((counter) => counter.acquire('a', 20)));
    t.is(slots.filter((slot) => slot !== undefined).length, 20);
    await slots.find((slot) => slot !== undefined)?.release();
    t.not(await counters[2]?.acquire('a', 20), undefined);
    for (const counter of counters) await counter[Symbol.asyncDispose]();
  });

  const leaseMs = 2000;
  /** How long something may take on a slow machine, in milliseconds. */
  const timeoutMs = 10_000;
  const until = async (t: ExecutionContext, isSo: () => Promise<boolean>): Promise<void> => {
    const begin = performance.now();
    while (!(await isSo())) t.true(performance.now() - begin < timeoutMs);
    t.pass();
  };
  const heldBy = async ({ redis: connection }: RedisKeys, name: string): Promise<number> => {
    const counts = (await connection.send('HVALS', connection.key(`slots:${name}`))) as string[];
    return counts.reduce((sum, count) => sum + Number(count), 0);
  };

  test('in Redis: a place is held while its gateway lives, and is free soon after its death', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await using other = openRedisCounter(await keys.replica(), { leaseMs });
    const connection = await keys.replica();
    await using dying = openRedisCounter(connection, { leaseMs });
    t.truthy(await dying.acquire('a', 1));
    const begin = performance.now();
    while (performance.now() - begin < 2 * leaseMs)
      t.is(await other.acquire('a', 1), undefined, 'its lease is renewed');
    await connection[Symbol.asyncDispose]();
    const died = performance.now();
    await until(t, async () => (await other.acquire('a', 1)) !== undefined);
    t.log(`free ${(performance.now() - died).toFixed(0)} ms after the death, by a lease of ${String(leaseMs)} ms`);
  });

  test('in Redis: one of three gateways dies, and only its places are free', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    const connections = [await keys.replica(), await keys.replica(), await keys.replica()] as const;
    const [one, two, three] = connections.map((connection) => openRedisCounter(connection, { leaseMs }));
    t.teardown(async () => {
      for (const counter of [one, two, three]) await counter?.[Symbol.asyncDispose]();
    });
    for (const counter of [one, two, three])
      for (let index = 0; index < 2; index++) t.truthy(await counter?.acquire('a', 6));
    t.is(await one?.acquire('a', 6), undefined);
    await connections[2][Symbol.asyncDispose]();
    const got: unknown[] = [];
    await until(t, async () => {
      const slot = await one?.acquire('a', 6);
      if (slot) got.push(slot);
      return got.length === 2;
    });
    t.is(await two?.acquire('a', 6), undefined, 'the four of those that live, and two more');
  });

  test('in Redis: a gateway that was thought dead has its places again, and none is taken from it', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await using other = openRedisCounter(await keys.replica(), { leaseMs });
    await using late = openRedisCounter(keys.redis, { leaseMs });
    const slots = [await late.acquire('a', 2), await late.acquire('a', 2)];
    t.is(await other.acquire('a', 2), undefined);
    for (const forget of [
      async () => keys.redis.send('DEL', keys.redis.key('gateways')),
      async () => keys.redis.send('DEL', keys.redis.key('gateways'), keys.redis.key('slots:a')),
    ]) {
      await forget();
      await until(t, async () => {
        const taken = await other.acquire('a', 2);
        await taken?.release();
        return taken === undefined;
      });
      t.is(await heldBy(keys, 'a'), 2);
    }
    await slots[0]?.release();
    await until(t, async () => (await other.acquire('a', 2)) !== undefined);
    await slots[1]?.release();
    t.truthy(await other.acquire('a', 2));
  });

  test('in Redis: scripts that it does not know yet do not let an older count overwrite a later one', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await keys.redis.send('SCRIPT', 'FLUSH');
    await using counter = openRedisCounter(keys.redis, { leaseMs });
    for (let count = 0; count < 2; count += 1) t.truthy(await counter.acquire('a', 2));
    t.is(await heldBy(keys, 'a'), 2);
  });

  test('in Redis: a slot that was released is not written again', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await using counter = openRedisCounter(keys.redis, { leaseMs });
    const [kept, freed] = [await counter.acquire('a', 2), await counter.acquire('a', 2)];
    await freed?.release();
    await keys.redis.send('DEL', keys.redis.key('gateways'));
    const begin = performance.now();
    while (performance.now() - begin < leaseMs) t.is(await heldBy(keys, 'a'), 1);
    await kept?.release();
    t.is(await heldBy(keys, 'a'), 0);
  });

  test('in Redis: scripts that Redis has forgotten are sent again', async (t) => {
    const keys = await openRedisKeys(t, (await server()).url);
    await using counter = openRedisCounter(keys.redis);
    const rate = { limit: 3, windowMs: 60_000 };
    for (const remaining of [2, 1]) {
      await keys.redis.send('SCRIPT', 'FLUSH');
      t.like(await counter.take('a', rate), { allowed: true, remaining });
    }
  });
});
