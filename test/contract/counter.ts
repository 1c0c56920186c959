import type { ExecutionContext, TestFn } from 'ava';
import type { Counter } from '@agent-workflow/gateway/limits';
import fc from 'fast-check';

/** An empty counter, and its clock. */
interface OpenCounter {
  readonly counter: Counter;
  /** Lets so many milliseconds of the counter's own time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/** What any counter must promise. `open` gives an empty one each time. */
export function counterContract(test: TestFn, name: string, open: (t: ExecutionContext) => Promise<OpenCounter>): void {
  const check = (title: string, body: (t: ExecutionContext, opened: OpenCounter) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      await using counter = opened.counter;
      await body(t, { ...opened, counter });
    });
  };
  const rate = { limit: 5, windowMs: 1000 };

  check('the limit may be taken at once, and nothing beyond it', async (t, { counter }) => {
    const taken = await Promise.all(Array.from({ length: 12 }, () => counter.take('a', rate)));
    t.deepEqual(
      taken.map(({ allowed }) => allowed),
      taken.map((_, index) => index < 5),
    );
    t.deepEqual(
      taken.slice(0, 6).map(({ remaining }) => remaining),
      [4, 3, 2, 1, 0, 0],
    );
  });

  check('a refusal says when to come back, and whoever does so is let through once', async (t, { counter, pass }) => {
    await takeAll(counter, 'a', rate);
    const { retryAfterMs, resetMs } = await counter.take('a', rate);
    t.true(retryAfterMs > 0 && retryAfterMs <= 200, String(retryAfterMs));
    t.true(resetMs > retryAfterMs && resetMs <= 1000, String(resetMs));
    await pass(Math.ceil(retryAfterMs));
    t.true((await counter.take('a', rate)).allowed);
    t.false((await counter.take('a', rate)).allowed);
  });

  check('refusals are not counted: who keeps asking is let through as soon as who waits', async (t, opened) => {
    const { counter, pass } = opened;
    await takeAll(counter, 'a', rate);
    for (let asked = 0; asked < 50; asked++) t.false((await counter.take('a', rate)).allowed);
    await pass(250);
    t.true((await counter.take('a', rate)).allowed);
  });

  check('the whole limit is there again after the window', async (t, { counter, pass }) => {
    t.is(await takeAll(counter, 'a', rate), 5);
    await pass(1001);
    t.is((await counter.take('a', rate, 0)).remaining, 5);
    t.is(await takeAll(counter, 'a', rate), 5);
  });

  check('looking takes nothing and tells whether one would be given', async (t, { counter }) => {
    for (let round = 0; round < 20; round++)
      t.like(await counter.take('a', rate, 0), { allowed: true, remaining: 5, retryAfterMs: 0 });
    await takeAll(counter, 'a', rate);
    t.like(await counter.take('a', rate, 0), { allowed: false, remaining: 0 });
  });

  check('a cost takes as many at once, whole or not at all', async (t, { counter }) => {
    t.like(await counter.take('a', rate, 3), { allowed: true, remaining: 2 });
    t.like(await counter.take('a', rate, 3), { allowed: false, remaining: 2 });
    t.like(await counter.take('a', rate, 2), { allowed: true, remaining: 0 });
  });

  check('keys are counted apart, whatever characters they are of', async (t, { counter }) => {
    const keys = ['a', 'A', 'a ', 'a:b', 'ä', '\u0000', '__proto__', 'x'.repeat(1000), ''];
    for (const key of keys) t.is(await takeAll(counter, key, rate), 5, key);
    for (const key of keys) t.false((await counter.take(key, rate)).allowed, key);
  });

  check(
    'in no window is more let through than twice the limit, in the long run no more than the rate',
    async (t, opened) => {
      const { counter, pass } = opened;
      let key = 0;
      const steps = fc.array(
        fc.record({ ms: fc.integer({ min: 0, max: 400 }), takes: fc.integer({ min: 0, max: 8 }) }),
        {
          maxLength: 25,
        },
      );
      const rates = fc.record({ limit: fc.integer({ min: 1, max: 9 }), windowMs: fc.constantFrom(100, 333, 1000) });
      const slots = fc.asyncProperty(rates, steps, async (each, script) => {
        const name = String(key++);
        const given: number[] = [];
        let now = 0;
        for (const { ms, takes } of script) {
          await pass(ms);
          now += ms;
          for (let take = 0; take < takes; take++) if ((await counter.take(name, each)).allowed) given.push(now);
        }
        for (const start of given) {
          const inWindow = given.filter((time) => time >= start && time < start + each.windowMs).length;
          t.true(inWindow <= 2 * each.limit, `${String(inWindow)} of ${JSON.stringify(each)}`);
        }
        t.true(given.length <= each.limit + (now / each.windowMs) * each.limit + 1);
      });
      await fc.assert(slots, { numRuns: 50 });
      t.pass();
    },
  );

  check('so many places are held at once, also when all ask together', async (t, { counter }) => {
    const slots = await Promise.all(Array.from({ length: 7 }, () => counter.acquire('a', 3)));
    t.is(slots.filter((slot) => slot !== undefined).length, 3);
    t.not(await counter.acquire('b', 3), undefined);
  });

  check('a place given back is there again, and given back twice is one place', async (t, { counter }) => {
    const first = await counter.acquire('a', 2);
    await counter.acquire('a', 2);
    t.is(await counter.acquire('a', 2), undefined);
    await first?.release();
    await first?.release();
    t.not(await counter.acquire('a', 2), undefined);
    t.is(await counter.acquire('a', 2), undefined);
  });

  check('rates and places of one key do not touch each other', async (t, { counter }) => {
    await takeAll(counter, 'a', rate);
    t.not(await counter.acquire('a', 1), undefined);
    t.false((await counter.take('a', rate)).allowed);
  });
}

/** Takes until refused. @returns how many were given. */
async function takeAll(counter: Counter, key: string, rate: Parameters<Counter['take']>[1]): Promise<number> {
  let given = 0;
  while (given < 1000 && (await counter.take(key, rate)).allowed) given++;
  return given;
}
