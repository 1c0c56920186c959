import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog, type Log } from '@agent-workflow/kit/log';
import { openGatewayStores, type GatewayStores } from '@agent-workflow/gateway/stores';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import test, { type ExecutionContext } from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { openRedis } from '@agent-workflow/gateway/redis/client';
import { maxReconnectMs, type Redis } from '@agent-workflow/gateway/redis';
import { privateRedis } from '../servers/redis.ts';
import { openStallingProxy } from '../servers/stalling-proxy.ts';

const silentLog = createLog('test', 'silent');

/** No call takes longer than that while Redis is unavailable, in milliseconds. */
const timeoutMs = 5000;
/** Where commands do get no answer, they are given up so soon that a test can wait for it, in milliseconds. */
const shortMs = 1000;
/** What a recovery may take on a slow machine, in milliseconds. */
const recoveryMs = 20_000;

const tool = (name: string): RemoteTool => ({ nodeName: '', name, description: '', parametersJson: Buffer.from('{}') });
const namesOf = async (stores: GatewayStores, owner: string): Promise<string[]> =>
  (await stores.tools.get(owner)).map(({ name }) => name);
const admission = { owner: 'u:ada', runId: 'run' };
const reply = { bodyHash: 'hash', replyJson: Buffer.from('1') };
const rate = { limit: 5, windowMs: 3_600_000 };

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

const urlOf = ({ port }: { readonly port: number }): string => `redis://127.0.0.1:${String(port)}`;

interface Replica {
  readonly url: string;
  readonly log?: Log;
  readonly timeout?: number;
}

/** Opens the stores of one replica, which may not have found Redis yet. */
async function beginReplica(t: ExecutionContext, replica: Replica): Promise<GatewayStores> {
  const { url, log = silentLog, timeout = timeoutMs } = replica;
  const config = { REDIS_URL: url, REDIS_KEY_PREFIX: 'test:', REDIS_TIMEOUT_MS: timeout };
  const stores = await openGatewayStores({ config, log });
  t.teardown(() => stores[Symbol.asyncDispose]());
  return stores;
}

/** Opens the stores of one replica. */
async function openReplica(t: ExecutionContext, replica: Replica): Promise<GatewayStores> {
  const stores = await beginReplica(t, replica);
  await untilBack(t, stores);
  return stores;
}

/** Does something that must not take as long as a command may. */
async function quickly<T>(t: ExecutionContext, work: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  try {
    return await work();
  } finally {
    const ms = performance.now() - begin;
    t.true(ms < timeoutMs, `${String(ms)} ms`);
  }
}

const isAway = async (t: ExecutionContext, work: () => Promise<unknown>): Promise<void> => {
  const error = await t.throwsAsync(quickly(t, work));
  t.true(isServiceError(error, 'Unavailable'), String(error));
  t.is(isServiceError(error) ? error.retryAfterMs : 0, 1000);
  t.false(/127\.0\.0\.1|redis|ECONN/i.test(error.message), error.message);
};

/** Calls that wait for nothing leave no turn to the connection that is being made; this does. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Asks again and again until it is so. */
async function until(t: ExecutionContext, isSo: () => Promise<boolean>): Promise<void> {
  const begin = performance.now();
  while (!(await isSo().catch(() => false))) {
    if (performance.now() - begin > recoveryMs) throw new Error(`not so after ${String(recoveryMs)} ms`);
    await turn();
  }
  t.pass();
}

/** What was published before is heard when this resolves: whoever asks Redis is answered after it. */
const probeTickets = ({ tickets }: GatewayStores): Promise<unknown> => tickets.get('probe');

const untilBack = (t: ExecutionContext, stores: GatewayStores): Promise<void> =>
  until(t, async () => {
    await stores.tickets.put('probe', admission);
    return true;
  });

withServer(test, privateRedis(), () => {
  test('while Redis is unavailable each replica gives the whole limit, and afterwards they give it together again', async (t) => {
    await using server = await privateRedis().open();
    const [one, other] = [await openReplica(t, server), await openReplica(t, server)];
    const takeAll = async ({ counter }: GatewayStores, key: string): Promise<number> => {
      let given = 0;
      while ((await quickly(t, () => counter.take(key, rate))).allowed) given++;
      return given;
    };
    t.is(await takeAll(one, 'before'), 5);
    t.is(await takeAll(other, 'before'), 0);

    await server.kill();
    t.is(await takeAll(one, 'away'), 5);
    t.is(await takeAll(other, 'away'), 5);
    t.is(await takeAll(one, 'before'), 5, 'what was taken in Redis is not known here');

    await server.restart();
    await Promise.all([untilBack(t, one), untilBack(t, other)]);
    t.is(await takeAll(one, 'before'), 0, 'and is known again');
    t.is((await takeAll(one, 'after')) + (await takeAll(other, 'after')), 5);
  });

  test('no more places than the limit are held by one replica, whether Redis goes or comes between', async (t) => {
    await using server = await privateRedis().open();
    const [one, other] = [await openReplica(t, server), await openReplica(t, server)];
    const acquire = ({ counter }: GatewayStores) => quickly(t, () => counter.acquire('a', 2));
    const before = await acquire(one);
    t.truthy(before);
    await server.kill();
    const away = await acquire(one);
    t.truthy(away);
    t.is(await acquire(one), undefined);
    t.truthy(await acquire(other), 'a replica does not know of the places of others');

    await before?.release();
    const after = await acquire(one);
    t.truthy(after, 'a place is given back without Redis');
    t.is(await acquire(one), undefined);

    await server.wipe();
    await server.restart();
    await untilBack(t, one);
    t.is(await acquire(one), undefined, 'places that are held still count');
    await untilBack(t, other);
    // `one` holds two, `other` one that it gave while Redis was unavailable: all of them have their streams still.
    const isFull = (stores: GatewayStores) =>
      until(t, async () => {
        const more = await acquire(stores);
        await more?.release();
        return more === undefined;
      });
    await isFull(other);
    await away?.release();
    await Promise.all([isFull(one), isFull(other)]);
    await after?.release();
    await until(t, async () => (await acquire(other)) !== undefined);
  });

  test('tickets are neither made nor taken while Redis is unavailable, and those from before hold afterwards', async (t) => {
    await using server = await privateRedis().open();
    const { tickets, ...stores } = await openReplica(t, server);
    await tickets.put('a', admission);
    await server.kill();
    for (let time = 0; time < 20; time++) {
      await isAway(t, () => tickets.put('b', admission));
      await isAway(t, () => tickets.get('a'));
    }
    await server.restart();
    await untilBack(t, { tickets, ...stores });
    t.deepEqual(await tickets.get('a'), admission);
    t.is(await tickets.get('b'), undefined);
  });

  test('replies are neither found nor kept while Redis is unavailable, and nothing fails for that', async (t) => {
    await using server = await privateRedis().open();
    const stores = await openReplica(t, server);
    const { replyCache } = stores;
    await replyCache.put('a', reply);
    await server.kill();
    for (let time = 0; time < 20; time++) {
      t.is(await quickly(t, () => replyCache.get('a')), undefined);
      await quickly(t, () => replyCache.put('b', reply));
    }
    await server.restart();
    await untilBack(t, stores);
    t.is((await replyCache.get('a'))?.bodyHash, 'hash');
    t.is(await replyCache.get('b'), undefined);
  });

  test('while Redis is unavailable tools cannot be set up, and an owner has those that were known, or nobody can say', async (t) => {
    await using server = await privateRedis().open();
    const [one, other] = [await openReplica(t, server), await openReplica(t, server)];
    await one.tools.put('u:ada', [tool('first')]);
    await probeTickets(other);
    for (const owner of ['u:ada', 'u:bob']) await other.tools.get(owner);
    await one.tools.put('u:ada', [tool('second')]);
    await one.tools.put('u:eve', [tool('hers')]);
    await probeTickets(other);
    t.deepEqual(await namesOf(other, 'u:ada'), ['second']);
    t.deepEqual(await namesOf(other, 'u:eve'), ['hers']);
    await one.tools.put('u:eve', [tool('hers, anew')]);
    await probeTickets(other);

    await server.kill();
    await isAway(t, () => one.tools.put('u:ada', []));
    t.deepEqual(await quickly(t, () => namesOf(other, 'u:ada')), ['second']);
    t.deepEqual(await quickly(t, () => namesOf(other, 'u:bob')), []);
    await isAway(t, () => other.tools.get('u:eve'));
    t.deepEqual(await quickly(t, () => namesOf(other, 'u:never')), [], 'who never set up any has none');
    t.deepEqual(await quickly(t, () => namesOf(one, 'u:never')), []);

    await server.restart();
    await untilBack(t, one);
    const back = performance.now();
    await one.tools.put('u:ada', [tool('third')]);
    t.true(performance.now() - back > maxReconnectMs, 'every replica has asked Redis again meanwhile');
    t.deepEqual(await namesOf(other, 'u:ada'), ['third'], 'the others were there to hear of it');
    t.deepEqual(await namesOf(other, 'u:eve'), ['hers, anew']);

    await probeTickets(other);
    t.deepEqual(await namesOf(other, 'u:ada'), ['third']);
    await one.tools.put('u:eve', [tool('hers, once more')]);
    await probeTickets(other);
    await server.kill();
    t.deepEqual(await namesOf(other, 'u:ada'), ['third']);
    await isAway(t, () => other.tools.get('u:eve'));
  });

  test('a replica that was cut off takes nothing for known that it knew before', async (t) => {
    await using server = await privateRedis().open();
    await using proxy = await openStallingProxy(portOf(server));
    const one = await openReplica(t, server);
    const other = await openReplica(t, { url: urlOf(proxy), timeout: shortMs });
    await one.tools.put('u:ada', [tool('first')]);
    await probeTickets(other);
    t.deepEqual(await namesOf(other, 'u:ada'), ['first']);
    proxy.stall();
    await t.throwsAsync(other.tickets.get('a'));
    t.deepEqual(await quickly(t, () => namesOf(other, 'u:ada')), ['first']);
    await one.tools.put('u:ada', [tool('second')]);
    proxy.resume();
    await untilBack(t, other);
    await server.kill();
    await isAway(t, () => other.tools.get('u:ada'));
  });

  test('a list that was read while another took its place is not taken for known', async (t) => {
    await using server = await privateRedis().open();
    await using proxy = await openStallingProxy(portOf(server));
    const one = await openReplica(t, server);
    const other = await openReplica(t, { url: urlOf(proxy) });
    await one.tools.put('u:ada', [tool('first')]);
    // It has set something last, not got.
    await untilBack(t, other);
    const operator = await openOperator(t, server.url);
    const gets = async (): Promise<number> =>
      Number(/cmdstat_get:calls=(\d+)/.exec(String(await operator.send('INFO', 'commandstats')))?.[1] ?? 0);
    const before = await gets();
    proxy.stall('answers');
    const reading = namesOf(other, 'u:ada');
    await until(t, async () => (await gets()) > before);
    await one.tools.put('u:ada', [tool('second')]);
    proxy.resume();
    t.deepEqual(await reading, ['first']);
    await server.kill();
    await isAway(t, () => other.tools.get('u:ada'));
  });

  test('a Redis that lost everything lets the replicas begin anew', async (t) => {
    await using server = await privateRedis().open();
    const stores = await openReplica(t, server);
    await stores.tools.put('u:ada', [tool('lost')]);
    await stores.tickets.put('a', admission);
    await stores.counter.take('a', rate);
    t.deepEqual(await namesOf(stores, 'u:ada'), ['lost']);
    await server.kill();
    await server.wipe();
    await server.restart();
    await untilBack(t, stores);
    t.deepEqual(await namesOf(stores, 'u:ada'), []);
    t.is(await stores.tickets.get('a'), undefined);
    t.is((await stores.counter.take('a', rate)).remaining, 4);
  });

  test('callers under way when Redis is killed and restarted are all answered in time, and none is failed', async (t) => {
    await using server = await privateRedis().open();
    const stores = await openReplica(t, server);
    let isOver = false;
    let asked = 0;
    const work = async (name: string): Promise<void> => {
      while (!isOver) {
        await quickly(t, () => stores.counter.take(name, rate));
        await quickly(t, () => stores.replyCache.put(name, reply));
        await quickly(t, () => stores.replyCache.get(name));
        const slot = await quickly(t, () => stores.counter.acquire(name, 1));
        await quickly(t, async () => slot?.release());
        asked += 5;
        await turn();
      }
    };
    const working = Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(work));
    for (let time = 0; time < 3; time++) {
      await server.kill();
      await isAway(t, () => stores.tickets.put('b', admission));
      await server.restart();
      await untilBack(t, stores);
    }
    isOver = true;
    await working;
    t.true(asked >= 100, String(asked));
    t.log(`${String(asked)} calls`);
  });

  test('a Redis that hangs costs its callers one timeout, and nobody after them anything', async (t) => {
    await using server = await privateRedis().open();
    await using proxy = await openStallingProxy(portOf(server));
    const stores = await openReplica(t, { url: urlOf(proxy), timeout: shortMs });
    t.is((await stores.counter.take('a', rate)).remaining, 4);
    proxy.stall();
    const begin = performance.now();
    const asked = await Promise.all(Array.from({ length: 50 }, () => stores.counter.take('b', rate)));
    const ms = performance.now() - begin;
    t.true(ms >= shortMs - 50 && ms < timeoutMs, `${String(ms)} ms`);
    t.is(asked.filter(({ allowed }) => allowed).length, 5);
    await quickly(t, async () => {
      for (let time = 0; time < 100; time++) await stores.counter.take('c', rate);
      await isAway(t, () => stores.tickets.get('a'));
    });
    proxy.resume();
    await untilBack(t, stores);
    t.is((await stores.counter.take('a', rate)).remaining, 3);
  });

  test('a primary that became a replica is left for the one that its address leads to now', async (t) => {
    await using former = await privateRedis().open();
    await using primary = await privateRedis().open();
    await using proxy = await openStallingProxy(portOf(former));
    const stores = await openReplica(t, { url: urlOf(proxy) });
    const operator = await openOperator(t, former.url);
    await operator.send('REPLICAOF', '127.0.0.1', '1');
    proxy.turnTo(portOf(primary));
    await isAway(t, () => stores.tickets.put('a', admission));
    t.true((await stores.counter.take('a', rate)).allowed);
    await untilBack(t, stores);
    const successor = await openReplica(t, primary);
    t.deepEqual(await successor.tickets.get('probe'), admission);
  });

  test('without Redis at the start the process begins, by the same policies, and finds it later', async (t) => {
    await using server = await privateRedis().open();
    await server.kill();
    const stores = await beginReplica(t, server);
    t.true((await stores.counter.take('a', rate)).allowed);
    await isAway(t, () => stores.tickets.get('a'));
    await isAway(t, () => stores.tools.get('u:ada'));
    t.is(await stores.replyCache.get('a'), undefined);
    await server.restart();
    await untilBack(t, stores);
    await stores.tools.put('u:ada', [tool('x')]);
    t.deepEqual(await namesOf(stores, 'u:ada'), ['x']);
  });

  test('the log says once that Redis went and once that it came, and never the password', async (t) => {
    await using server = await privateRedis().open();
    const operator = await openOperator(t, server.url);
    await operator.send('CONFIG', 'SET', 'requirepass', 'pass-nobody-may-log');
    const lines: string[] = [];
    const note = (fields: { err?: Error }, text = ''): void => void lines.push(`${text} ${String(fields.err?.stack)}`);
    const log = { warn: note, info: (text: string) => lines.push(text) } as unknown as Log;

    const withPassword = (password: string): string => server.url.replace('//', `//:${password}@`);
    const wrong = await beginReplica(t, { url: withPassword('wrong-pass-nobody-may-log'), log });
    await isAway(t, () => wrong.tickets.get('a'));
    t.is(lines.length, 1);
    t.regex(lines.splice(0)[0] ?? '', /^redis is unavailable .*WRONGPASS/s);
    await wrong[Symbol.asyncDispose]();

    const right = await openReplica(t, { url: withPassword('pass-nobody-may-log'), log });
    await right.tickets.put('a', admission);
    t.deepEqual(lines, []);
    for (let time = 0; time < 2; time++) {
      await server.kill();
      await until(t, async () => lines.length % 2 === 1);
      for (let asked = 0; asked < 20; asked++) await isAway(t, () => right.tickets.get('a'));
      await server.restart();
      await operator.send('CONFIG', 'SET', 'requirepass', 'pass-nobody-may-log').catch(() => undefined);
      await untilBack(t, right);
    }
    const commands = lines.map((line) => line.split(' ').slice(0, 3).join(' '));
    t.deepEqual(commands, ['redis is unavailable', 'redis is back', 'redis is unavailable', 'redis is back']);
    t.notRegex(lines.join('\n'), /nobody-may-log/);
  });
});

/** A connection to do with the server what its operators do. */
async function openOperator(t: ExecutionContext, url: string): Promise<Redis> {
  const config = { REDIS_URL: url, REDIS_KEY_PREFIX: '', REDIS_TIMEOUT_MS: 10_000 };
  const operator = await openRedis({ config, log: silentLog });
  t.teardown(() => operator[Symbol.asyncDispose]());
  await until(t, async () => (await operator.send('PING')) === 'PONG');
  return operator;
}
