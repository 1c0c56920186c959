import test, { type ExecutionContext } from 'ava';
import { createPoolLimits, type PoolLimiting } from './pool-limits.ts';

type Bounds = PoolLimiting['bounds'];

const wide: Bounds = { calls: 1000, bytes: 1_000_000, callsPerSecond: 1000 };

function limitsOf(bounds: Partial<Bounds>) {
  const clock = { ms: 0 };
  const limited: string[] = [];
  const limits = createPoolLimits(
    {
      bounds: { ...wide, ...bounds },
      onLimited: ({ pool, bound, most }) => limited.push(`${pool} ${bound} ${String(most)}`),
    },
    { elapsed: () => clock.ms, worked: () => clock.ms },
  );
  return { ...limits, clock, limited };
}

test('a pool has no more calls under way than its bound, and another pool is not affected', (t) => {
  const { enter, limited } = limitsOf({ calls: 2 });
  const { onEnd: leave } = enter('billing', 10);
  enter('billing', 10);
  t.throws(() => enter('billing', 10), {
    code: 'RateLimited',
    message: 'pool "billing" may have 2 calls under way at this process',
  });
  t.deepEqual(limited, ['billing calls 2']);
  t.notThrows(() => enter('support', 10));
  leave();
  leave();
  t.notThrows(() => enter('billing', 10));
  t.throws(() => enter('billing', 10), { code: 'RateLimited' }, 'a call that ends twice makes room once');
});

test('the requests of a pool have no more bytes together than its bound, and a larger one is let in alone', (t) => {
  const { enter, limited } = limitsOf({ bytes: 10_000 });
  const { onEnd: leave } = enter('billing', 8000);
  t.throws(() => enter('billing', 5000), { code: 'RateLimited', message: /10000 bytes of requests under way/ });
  t.notThrows(() => enter('billing', 200), 'a small request is let in beside them');
  leave();
  const { onEnd: leaveLarge } = enter('billing', 50_000);
  t.throws(() => enter('billing', 5000), { code: 'RateLimited' });
  leaveLarge();
  t.notThrows(() => enter('billing', 5000));
  t.deepEqual(limited, ['billing bytes 10000', 'billing bytes 10000']);
});

test('a pool calls no more often than its rate, and learns when it may call again', (t) => {
  const { enter, clock, limited } = limitsOf({ callsPerSecond: 4 });
  for (let call = 0; call < 4; call++) enter('billing', 10).onEnd();
  const error = t.throws(() => enter('billing', 10), { code: 'RateLimited', message: /4 calls a second/ });
  t.like(error, { retryAfterMs: 250 });
  clock.ms += 250;
  t.notThrows(() => enter('billing', 10));
  t.throws(() => enter('billing', 10), { code: 'RateLimited' });
  clock.ms += 60_000;
  for (let call = 0; call < 4; call++) enter('billing', 10).onEnd();
  t.throws(
    () => enter('billing', 10),
    { code: 'RateLimited' },
    'time without calls adds no more than a second of them',
  );
  t.deepEqual([...new Set(limited)], ['billing callsPerSecond 4']);
});

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('of the calls of a pool so many are worked on at once, the others have their turns in their order', async (t) => {
  const { enter, clock } = limitsOf({});
  const atOnce = 64;
  let working = 0;
  const calls = Array.from({ length: atOnce + 3 }, () => enter('billing', 10));
  for (const { turn } of calls) void turn?.then(() => (working += 1));
  const atFirst = calls.filter(({ turn }) => !turn).length;
  t.is(atFirst, atOnce / 2);
  await calls[atOnce - 1]?.turn;
  for (let turn = 0; turn < 3; turn++) await turnOfLoop();
  t.is(atFirst + working, atOnce);
  t.is(enter('support', 10).turn, undefined);
  const [first, second, third] = calls.slice(atOnce);
  const begun: string[] = [];
  void first?.turn?.then(() => begun.push('first'));
  void third?.turn?.then(() => begun.push('third'));
  second?.onEnd();
  calls[0]?.onEnd();
  await first?.turn;
  t.deepEqual(begun, ['first']);
  first?.onEnd();
  await third?.turn;
  t.deepEqual(begun, ['first', 'third']);

  const { turn } = enter('billing', 10);
  t.not(turn, undefined);
  clock.ms += 61_000;
  enter('billing', 10);
  await turn;
  t.pass('work that never ends keeps nothing waiting for ever');
});

test('more calls are worked on again after the event loop was late, also while none ends', async (t) => {
  const { enter, clock } = limitsOf({});
  const calls = Array.from({ length: 64 }, () => enter('billing', 10));
  clock.ms += 100;
  await calls.at(-1)?.turn;
  t.pass();
});

test('no call of a pool begins while its callers have not read as many bytes as it may have, and the others go on', async (t) => {
  const { enter, hold, limited } = limitsOf({ bytes: 1000 });
  const drop = (): void => t.fail();
  const first = hold('billing', 600, drop);
  t.is(enter('billing', 10).turn, undefined);
  const second = hold('billing', 600, drop);
  const { turn } = enter('billing', 10);
  let hasBegun = false;
  void turn?.then(() => (hasBegun = true));
  t.is(enter('support', 10).turn, undefined);
  for (let count = 0; count < 3; count++) await turnOfLoop();
  t.false(hasBegun);
  first();
  first();
  await turn;
  t.true(hasBegun);
  second();
  t.is(enter('billing', 10).turn, undefined);
  t.deepEqual(limited, []);
});

test('the connection that has left a reply unread for half a minute is closed when calls of its pool wait for that', (t) => {
  const { enter, hold, clock, limited } = limitsOf({ bytes: 1000 });
  const dropped: string[] = [];
  const ends = ['old', 'new'].map((name) => hold('billing', 500, () => void dropped.push(name)));
  clock.ms += 30_000;
  enter('billing', 10);
  t.deepEqual(dropped, []);
  clock.ms += 1;
  enter('billing', 10);
  t.deepEqual([dropped, limited], [['old'], ['billing replies 1000']]);
  for (const end of ends) end();
  hold('billing', 500, () => void dropped.push('alone'));
  clock.ms += 30_001;
  enter('billing', 10);
  t.deepEqual(dropped, ['old'], 'one that nothing waits for is left');
});

/** How many calls of a pool that has many begin in one turn of the event loop, at most, once its bound has settled. Each takes so long. */
async function mostInTurn(t: ExecutionContext, workMs: number): Promise<number> {
  const { enter, clock } = limitsOf({ calls: 2000, callsPerSecond: 2000 });
  const begun: number[] = [];
  let inTurn = 0;
  const work = async ({ turn, onEnd }: ReturnType<typeof enter>): Promise<void> => {
    await turn;
    clock.ms += workMs;
    inTurn += 1;
    await turnOfLoop();
    onEnd();
  };
  const works = Array.from({ length: 1000 }, () => work(enter('billing', 10)));
  for (let ended = 0; ended < works.length; ended += inTurn) {
    inTurn = 0;
    await turnOfLoop();
    begun.push(inTurn);
  }
  await Promise.all(works);
  const settled = begun.slice(begun.length / 2);
  t.true(settled.length > 5);
  return Math.max(...settled);
}

test('fewer calls of a pool are worked on at once while they make the event loop late', async (t) => {
  const [large, small] = [await mostInTurn(t, 20), await mostInTurn(t, 0)];
  t.true(large <= 4, String(large));
  t.true(small >= 16, String(small));
});
