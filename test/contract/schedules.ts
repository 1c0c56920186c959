import type { ExecutionContext, TestFn } from 'ava';
import { paused, resumed } from '@agent-workflow/gateway/schedules/advance';
import { pendingSlot, type FiringCause, type Schedule } from '@agent-workflow/gateway/schedules/schedule';
import { dueTime } from '@agent-workflow/gateway/schedules/slots';
import { conflict, invalid, unavailable } from '@agent-workflow/kit/errors';
import type { Threads } from '@agent-workflow/protos/threads';
import { hourMs, kind, minuteMs, ScheduleGround } from './schedule-ground.ts';
import { call, interrupted, owner } from './thread-calls.ts';
import type { TestedStore } from './thread-stores/tested.ts';

/** A schedule with slots that a caller asked for. */
const asked = (
  id: string,
  { waitUntil: _, ...schedule }: Schedule,
  cause: FiringCause,
  slots: readonly number[],
): Schedule => ({
  ...schedule,
  pending: [...slots.map((slot) => pendingSlot(id, schedule, { slot, cause })), ...schedule.pending],
});

/** How slots are fired, whatever store keeps the schedules. */
export function schedulesContract(test: TestFn, { name, openPart }: TestedStore): void {
  const check = (title: string, body: (t: ExecutionContext, on: ScheduleGround) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using on = new ScheduleGround(await openPart());
      await body(t, on);
    });
  };

  check('each slot is fired once when its time has come, none before', async (t, on) => {
    await on.put('s', { ...on.every(10 * minuteMs), overlap: 'allow' });
    const sweep = on.sweeper();
    await sweep();
    t.deepEqual(on.slots(), []);
    for (let passed = 0; passed < 60; passed++) {
      on.clock += minuteMs;
      await sweep();
      await sweep();
    }
    t.deepEqual(on.slots(), [10, 20, 30, 40, 50, 60]);
    t.true(on.accepted.every(({ slot, at }) => at >= slot));
    const { past, next } = await on.get('s');
    t.is(next, on.start + 70 * minuteMs);
    t.is(past.length, 6);
    t.like(past[0], { outcome: 'started', slot: on.start + 60 * minuteMs, runId: on.accepted.at(-1)?.runId ?? '' });
  });

  check('a slot that is due while the run before it goes on is left out, waits, or ends that run', async (t, on) => {
    await on.put('skip', { ...on.every(10 * minuteMs), overlap: 'skip' });
    const sweep = on.sweeper();
    const pass = async (minutes: number): Promise<void> => {
      for (let passed = 0; passed < minutes; passed++) {
        on.clock += minuteMs;
        await sweep();
      }
    };
    await pass(20);
    t.deepEqual(on.slots(), [10]);
    t.like((await on.get('skip')).past[0], { outcome: 'skipped', slot: on.start + 20 * minuteMs });
    await on.end(on.accepted[0]?.runId ?? '');
    await pass(10);
    t.deepEqual(on.slots(), [10, 30]);

    for (const overlap of ['queue', 'cancel_other'] as const) {
      on.accepted.splice(0);
      const from = on.clock;
      await on.put(overlap, { ...on.every(10 * minuteMs), overlap, timing: { everyMs: 10 * minuteMs, anchor: from } });
      await on.change('skip', ({ next: _, ...rest }) => ({ ...rest, paused: true }));
      await pass(20);
      const minutes = (): number[] => on.accepted.map(({ slot }) => (slot - from) / minuteMs);
      if (overlap === 'cancel_other') {
        t.deepEqual(minutes(), [10, 20]);
        t.deepEqual(on.stopped, [on.accepted[0]?.runId]);
        continue;
      }
      t.deepEqual(minutes(), [10]);
      t.is((await on.get(overlap)).pending.length, 1);
      await on.end(on.accepted[0]?.runId ?? '');
      await pass(3);
      t.deepEqual(minutes(), [10, 20]);
      await on.change(overlap, ({ next: _, ...rest }) => ({ ...rest, paused: true }));
    }
  });

  for (const [catchUp, what, expected] of [
    ['none', 'left out', [180]],
    ['one', 'made up for by the newest', [170, 180]],
    ['all', 'all fired in their order, but for those before the window', [120, 130, 140, 150, 160, 170, 180]],
  ] as const)
    check(`slots that were missed are ${what}`, async (t, on) => {
      await on.put('s', { ...on.every(10 * minuteMs), catchUp, catchUpMs: hourMs + minuteMs, overlap: 'allow' });
      on.clock += 3 * hourMs;
      const sweep = on.sweeper();
      await sweep();
      t.deepEqual(on.slots(), [...expected]);
      const { past } = await on.get('s');
      t.is(past.filter(({ outcome }) => outcome === 'missed').length, 1);
      await sweep();
      t.is(on.accepted.length, expected.length);
    });

  check('a year without a gateway makes neither many slots nor a long loop', async (t, on) => {
    await on.put('one', { ...on.every(10_000), overlap: 'allow' });
    await on.put('all', { ...on.every(10_000), catchUp: 'all', catchUpMs: 7 * 24 * hourMs, overlap: 'allow' });
    on.clock += 365 * 24 * hourMs;
    await on.sweeper()();
    t.true((await on.get('all')).pending.length <= 100);
    t.true(on.accepted.length <= 20);
  });

  check(
    'while the authorization backend is unavailable a slot waits; a denial disables the schedule and says so',
    async (t, on) => {
      await on.put('s', on.every(10 * minuteMs));
      const sweep = on.sweeper();
      on.clock += 10 * minuteMs;
      on.mayStart = () => Promise.reject(unavailable('the backend does not answer'));
      await sweep();
      on.clock += minuteMs;
      await sweep();
      t.deepEqual(on.slots(), []);
      t.is((await on.get('s')).disabled, undefined);
      on.mayStart = () => Promise.resolve(true);
      on.clock += minuteMs;
      await sweep();
      t.deepEqual(on.slots(), [10]);
      await on.end(on.accepted[0]?.runId ?? '');
      on.mayStart = () => Promise.resolve(false);
      on.clock += 10 * minuteMs;
      await sweep();
      t.deepEqual(on.slots(), [10]);
      const { disabled, next, past } = await on.get('s');
      t.regex(disabled?.reason ?? '', /does not allow/);
      t.is(next, undefined);
      t.like(past[0], { outcome: 'refused', code: 'PermissionDenied', slot: on.start + 20 * minuteMs });
      on.clock += hourMs;
      await sweep();
      t.deepEqual(on.slots(), [10]);
    },
  );

  check('a slot whose run was accepted before a denial counts as fired', async (t, on) => {
    await on.put('s', on.every(10 * minuteMs));
    on.clock += 10 * minuteMs;
    let writes = 0;
    const dying: Threads = {
      ...on.threads,
      putResource: (request, at) =>
        ++writes === 1 ? on.threads.putResource(request, at) : Promise.reject(unavailable('killed')),
    };
    await on.sweeper(dying)();
    t.is(on.accepted.length, 1);
    on.mayStart = () => Promise.resolve(false);
    await on.sweeper()();
    t.like((await on.get('s')).past, [{ outcome: 'started' }]);
  });

  check('what another attempt would meet again is noted with its slot, and the next one is fired', async (t, on) => {
    await on.put('s', on.every(10 * minuteMs));
    on.before = ({ slot }) => {
      if (slot === on.start + 10 * minuteMs) throw invalid(['messages'], 'must have an agent that is there');
      if (slot === on.start + 20 * minuteMs) throw conflict('ä'.repeat(500));
    };
    const sweep = on.sweeper();
    for (let passed = 0; passed < 3; passed++) {
      on.clock += 10 * minuteMs;
      await sweep();
    }
    t.deepEqual(on.slots(), [30]);
    const { past } = await on.get('s');
    t.deepEqual(
      past.map(({ outcome }) => outcome),
      ['started', 'refused', 'refused'],
    );
    t.deepEqual(
      past.map(({ code }) => code),
      [undefined, 'Conflict', 'Invalid'],
    );
    t.regex(past[2]?.reason ?? '', /must have an agent/);
    t.true(Buffer.byteLength(past[1]?.reason ?? '') < 300);
    t.true((past[1]?.reason ?? '').isWellFormed());
  });

  check('a schedule that cannot be fired holds up no other', async (t, on) => {
    for (let index = 0; index < 20; index++) await on.put(`s${String(index)}`, on.every(10 * minuteMs));
    await on.threads.putResource(
      { kind, owner, id: 'broken', version: 1, json: Buffer.from('1'), dueAt: on.start },
      call(),
    );
    on.clock += 10 * minuteMs;
    await on.sweeper()();
    t.is(on.accepted.length, 20);
  });

  check(
    'threads that are not kept go some minutes after their run has ended, and stay where it asks something',
    async (t, on) => {
      await on.put('s', { ...on.every(60 * minuteMs), keepThreads: false });
      const sweep = on.sweeper();
      on.clock += hourMs;
      await sweep();
      const [first] = on.accepted;
      for (let passed = 0; passed < 20; passed++) {
        on.clock += minuteMs;
        await sweep();
      }
      t.deepEqual(on.removed, [], 'its run goes on');
      await on.end(first?.runId ?? '');
      on.clock += 6 * minuteMs;
      await sweep();
      t.deepEqual(on.removed, [first?.threadId]);
      t.deepEqual((await on.get('s')).unkept, []);
    },
  );

  check('a thread that is not kept stays where its run asks something', async (t, on) => {
    await on.put('s', { ...on.every(hourMs), keepThreads: false });
    const sweep = on.sweeper();
    on.clock += hourMs;
    await sweep();
    await on.end(on.accepted[0]?.runId ?? '', interrupted);
    on.clock += 6 * minuteMs;
    await sweep();
    t.deepEqual(on.removed, []);
    t.deepEqual((await on.get('s')).unkept, []);
  });

  check('a schedule that was deleted goes after the threads that it does not keep', async (t, on) => {
    await on.put('s', { ...on.every(60 * minuteMs), keepThreads: false });
    const sweep = on.sweeper();
    on.clock += hourMs;
    await sweep();
    await on.change('s', ({ next: _, ...rest }) => ({ ...rest, pending: [], deleted: true }));
    await sweep();
    await on.end(on.accepted[0]?.runId ?? '');
    on.clock += 10 * minuteMs;
    await sweep();
    t.is(on.removed.length, 1);
    await t.throwsAsync(on.get('s'), { message: /does not exist/ });
  });

  check('a delayed run has the id of its schedule, which goes once the run is accepted', async (t, on) => {
    await on.put('delayed', { ...on.every(1), timing: { at: on.start + 5000 } }, { delayed: true });
    const sweep = on.sweeper();
    on.clock += 4999;
    await sweep();
    t.is(on.accepted.length, 0);
    // Nothing was up for a month.
    on.clock += 30 * 24 * hourMs;
    await sweep();
    t.like(on.accepted, [{ runId: 'delayed' }]);
    await t.throwsAsync(on.get('delayed'), { message: /does not exist/ });
  });

  check('a paused schedule fires only what a caller asks for, and goes on with what is to come', async (t, on) => {
    await on.put('s', { ...on.every(10 * minuteMs), catchUp: 'all' });
    const sweep = on.sweeper();
    await on.change('s', paused);
    on.clock += 25 * minuteMs;
    await sweep();
    t.deepEqual(on.slots(), []);
    await on.change('s', (schedule) => asked('s', schedule, 'manual', [on.clock]));
    await sweep();
    t.deepEqual(on.slots(), [25]);
    await on.change('s', (schedule) => resumed(schedule, on.clock));
    await sweep();
    t.deepEqual(on.slots(), [25], 'what was missed stays missed');
    await on.end(on.accepted[0]?.runId ?? '');
    on.clock += 5 * minuteMs;
    await sweep();
    t.deepEqual(on.slots(), [25, 30]);
  });

  check('the slots of a backfill wait for each other, and a run now waits for none', async (t, on) => {
    await on.put('s', on.every(hourMs));
    const sweep = on.sweeper();
    const slots = [1, 2, 3].map((hours) => on.start - hours * hourMs).toReversed();
    await on.change('s', (schedule) => asked('s', schedule, 'backfill', slots));
    for (let passed = 0; passed < 3; passed++) {
      await sweep();
      on.clock += minuteMs;
    }
    t.deepEqual(on.slots(), [-180]);
    await on.change('s', (schedule) => asked('s', schedule, 'manual', [on.clock]));
    await sweep();
    t.deepEqual(on.slots(), [-180, 3]);
    for (const expected of [-120, -60]) {
      await on.end(on.accepted.at(-1)?.runId ?? '');
      on.clock += 2 * minuteMs;
      await sweep();
      t.is(on.slots().at(-1), expected);
    }
  });

  check('no slot is fired after the end, nor before the start', async (t, on) => {
    const [startsAt, endsAt] = [on.start + 15 * minuteMs, on.start + 40 * minuteMs];
    await on.put('s', { ...on.every(10 * minuteMs), overlap: 'allow', startsAt, endsAt });
    const sweep = on.sweeper();
    for (let passed = 0; passed < 60; passed += 5) {
      on.clock += 5 * minuteMs;
      await sweep();
    }
    t.deepEqual(on.slots(), [20, 30, 40]);
    t.is((await on.get('s')).next, undefined);
  });

  check('jitter makes a slot later by the same on every replica, and never earlier', async (t, on) => {
    const ids = Array.from({ length: 10 }, (_, index) => `s${String(index)}`);
    for (const id of ids) await on.put(id, { ...on.every(10 * minuteMs), jitterMs: 5 * minuteMs });
    for (let passed = 0; passed < 16; passed++) {
      await on.sweeper()();
      on.clock += minuteMs;
    }
    t.is(on.accepted.length, ids.length);
    const slot = on.start + 10 * minuteMs;
    const due = ids.map((id) => Math.ceil((dueTime(id, slot, 5 * minuteMs) - on.start) / minuteMs));
    t.deepEqual(
      on.accepted.map(({ at }) => (at - on.start) / minuteMs),
      due.toSorted((a, b) => a - b),
    );
    t.true(new Set(due).size > 1);
  });

  check('at most 100 slots wait for a run that goes on, and none of them is lost', async (t, on) => {
    await on.put('s', { ...on.every(minuteMs), overlap: 'queue', catchUp: 'all', catchUpMs: 24 * hourMs });
    const sweep = on.sweeper();
    for (let passed = 0; passed < 13; passed++) {
      on.clock += 10 * minuteMs;
      await sweep();
    }
    t.deepEqual(on.slots(), [1]);
    t.is((await on.get('s')).pending.length, 100);
    await on.end(on.accepted[0]?.runId ?? '');
    on.clock += 2 * minuteMs;
    await sweep();
    t.deepEqual(on.slots(), [1, 2]);
    t.is((await on.get('s')).pending.length, 100);
  });
}
