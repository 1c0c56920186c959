import test from 'ava';
import fc from 'fast-check';
import { slotAfter } from '@agent-workflow/gateway/schedules/slots';
import { processEnv } from '@agent-workflow/kit/env';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { hourMs, minuteMs, ScheduleGround } from './schedule-ground.ts';
import { schedulesContract } from './schedules.ts';
import { testedStores } from './thread-stores/list.ts';
import { changesOf, cronOf, dueIn, shownIn, type DailyTimes } from './wall-clocks.ts';

/** Campaigns at full length. */
const long = processEnv()['CAMPAIGNS'] === '1';

for (const { isEmbedded, withStore } of testedStores)
  if (isEmbedded) withStore(test, (store) => schedulesContract(test, store));

/** A number from a seed, so that a campaign that fails can be played again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('a thousand schedules over three gateways that die anywhere: each slot once, none early', async (t) => {
  await using on = new ScheduleGround(openSqliteThreadStore({ path: ':memory:' }));
  const schedules = 1000;
  for (let index = 0; index < schedules; index++)
    await on.put(`s${String(index)}`, {
      ...on.every((5 + (index % 7)) * minuteMs),
      ...{ overlap: 'allow', catchUp: 'all', catchUpMs: 24 * hourMs, jitterMs: index % 2 === 0 ? 0 : minuteMs },
    });
  const random = seeded(36);
  /** A gateway whose calls fail, before they have an effect or after it. */
  const dying = (): Threads => {
    const fail =
      <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>, share: number) =>
      async (...args: A): Promise<R> => {
        const fate = random();
        if (fate < share) throw unavailable('killed before it');
        const reply = await work(...args);
        if (fate < 2 * share) throw unavailable('killed after it');
        return reply;
      };
    return {
      ...on.threads,
      putResource: fail(on.threads.putResource, 0.05),
      acceptRun: fail(on.threads.acceptRun, 0.05),
      getResource: fail(on.threads.getResource, 0.01),
    };
  };
  const minutes = 30;
  for (let passed = 0; passed < minutes; passed++) {
    on.clock += minuteMs;
    await Promise.all(
      [1, 2, 3].map(() =>
        on
          .sweeper(dying())()
          .catch(() => undefined),
      ),
    );
  }
  // Whatever waits after a failure is fired now.
  for (let passed = 0; passed < 12; passed++) {
    on.clock += 10_000;
    await on.sweeper()();
  }
  const until = on.clock;
  const runs = await on.runs();
  t.is(runs, on.accepted.length, 'doubled: a slot has two runs');
  t.true(
    on.accepted.every(({ slot, at }) => at >= slot),
    'early',
  );
  let due = 0;
  let listed = 0;
  for (let index = 0; index < schedules; index++) {
    const { next, past, pending, firing } = await on.get(`s${String(index)}`);
    t.deepEqual([pending.length, firing], [0, undefined]);
    t.true((next ?? 0) > until - minuteMs);
    const everyMs = (5 + (index % 7)) * minuteMs;
    due += ((next ?? 0) - on.start) / everyMs - 1;
    listed += past.filter(({ outcome }) => outcome === 'started').length;
  }
  t.is(on.accepted.length, due, 'lost: a slot has no run');
  t.is(listed, due);
});

/** Zones that set their clocks by an hour or by half of one, at midnight or at night, north and south. */
const zones = [
  ...['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns'],
  ...['Africa/Cairo', 'America/Santiago', 'Asia/Beirut', 'Pacific/Auckland'],
];
const changes = zones.flatMap((timezone) => changesOf(timezone, 2026).map((at) => ({ timezone, at })));

const dailyTimes = fc.record({
  minutes: fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
  hours: fc.option(fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 4 }), { nil: undefined }),
});

/** The days around a change, which begin at a midnight of the zone, so that none is cut. */
function daysAround({ timezone, at }: (typeof changes)[number]): ReturnType<typeof shownIn> {
  const shown = shownIn(timezone, at - 60 * hourMs, at + 60 * hourMs);
  const days = [...new Set(shown.map(({ day }) => day))].slice(1, -1);
  return shown.filter(({ day }) => days.includes(day));
}

test('over every change of the clocks slots are where the clocks of the zone show their times', (t) => {
  t.is(changes.length, 2 * zones.length);
  const around = changes.map((change) => ({ ...change, shown: daysAround(change) }));
  const isAsShown = ({ timezone, shown }: (typeof around)[number], times: DailyTimes): void => {
    const [from, to] = [shown[0]?.at ?? 0, shown.at(-1)?.at ?? 0];
    const timing = { cron: cronOf(times), timezone };
    const slots: number[] = [];
    for (let slot = slotAfter(timing, {}, from - 1); slot !== undefined && slot <= to;) {
      slots.push(slot);
      slot = slotAfter(timing, {}, slot);
    }
    t.deepEqual(slots, [...dueIn(shown, times)], `${cronOf(times)} ${timezone}`);
  };
  fc.assert(fc.property(fc.constantFrom(...around), dailyTimes, isAsShown), { numRuns: long ? 5000 : 200 });
});

test('schedules that are fired minute by minute over changes of the clocks have each run once, none early', async (t) => {
  const each = long ? 60 : 4;
  for (const change of changes) {
    const { timezone } = change;
    const shown = daysAround(change).filter(({ at }) => Math.abs(at - change.at) <= (long ? 30 : 5) * hourMs);
    const from = (shown[0]?.at ?? 0) - minuteMs;
    await using on = new ScheduleGround(openSqliteThreadStore({ path: ':memory:' }), from);
    const given = fc.sample(dailyTimes, { numRuns: each, seed: 36 + each });
    for (const [index, times] of given.entries()) {
      const timing = { cron: cronOf(times), timezone };
      await on.put(`s${String(index)}`, { ...on.every(1), timing, overlap: 'allow', jitterMs: index % 2 });
    }
    const sweepers = [on.sweeper(), on.sweeper()];
    for (const { at } of shown) {
      on.clock = at;
      await Promise.all(sweepers.map((sweep) => sweep()));
      on.clock = at + 1;
      await Promise.all(sweepers.map((sweep) => sweep()));
    }
    const whole = daysAround(change);
    const expected = given.flatMap((times) => dueIn(whole, times).filter((at) => at > from && at <= on.clock));
    t.deepEqual(
      on.accepted.map(({ slot }) => slot).toSorted((a, b) => a - b),
      expected.toSorted((a, b) => a - b),
      timezone,
    );
    t.true(on.accepted.every(({ slot, at }) => at >= slot && at <= slot + 1));
    t.is(await on.runs(), on.accepted.length);
  }
});
