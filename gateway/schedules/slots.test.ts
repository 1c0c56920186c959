import test from 'ava';
import { dueTime, faultOfCron, newestSlot, slotAfter, slotsAfter, type Timing } from './slots.ts';
import { zoneOf } from './zone.ts';

const ms = (iso: string): number => Date.parse(iso);
const newYork = (cron: string): Timing => ({ cron, timezone: 'America/New_York' });
const runs = (timing: Timing, from: string, count: number): string[] =>
  slotsAfter(timing, {}, ms(from), count).map((at) => new Date(at).toISOString().slice(5, 16));

test('in a gap of the clocks a slot is at the first moment after it, and only one', (t) => {
  const before = '2026-03-07T12:00:00Z';
  t.deepEqual(runs(newYork('30 2 * * *'), before, 3), ['03-08T07:00', '03-09T06:30', '03-10T06:30']);
  t.deepEqual(runs(newYork('10,30 2 * * *'), before, 3), ['03-08T07:00', '03-09T06:10', '03-09T06:30']);
  t.deepEqual(runs(newYork('0,30 2,3 * * *'), before, 3), ['03-08T07:00', '03-08T07:30', '03-09T06:00']);
  t.deepEqual(runs(newYork('30 2 8 3 *'), before, 2), ['03-08T07:00', '03-08T07:30']);
  t.deepEqual(runs({ cron: '0 0 * * *', timezone: 'Africa/Cairo' }, '2026-04-22T12:00:00Z', 3), [
    '04-22T22:00',
    '04-23T22:00',
    '04-24T21:00',
  ]);
  t.deepEqual(runs({ cron: '10 2 * * *', timezone: 'Australia/Lord_Howe' }, '2026-10-03T00:00:00Z', 2), [
    '10-03T15:30',
    '10-04T15:10',
  ]);
});

test('of an hour that the clocks show twice the first counts', (t) => {
  const before = '2026-10-31T12:00:00Z';
  t.deepEqual(runs(newYork('30 1 * * *'), before, 2), ['11-01T05:30', '11-02T06:30']);
  t.deepEqual(runs(newYork('0,30 1-2 * * *'), before, 5), [
    '11-01T05:00',
    '11-01T05:30',
    '11-01T07:00',
    '11-01T07:30',
    '11-02T06:00',
  ]);
  // From within the second showing.
  t.deepEqual(runs(newYork('45 1 * * *'), '2026-11-01T06:10:00Z', 1), ['11-02T06:45']);
});

test('what is due in every hour goes on while the clocks are set', (t) => {
  t.deepEqual(runs(newYork('30 * * * *'), '2026-03-08T05:45:00Z', 3), ['03-08T06:30', '03-08T07:30', '03-08T08:30']);
  t.deepEqual(runs(newYork('*/20 * * * *'), '2026-03-08T06:30:00Z', 3), ['03-08T06:40', '03-08T07:00', '03-08T07:20']);
  t.deepEqual(runs(newYork('*/30 * * * *'), '2026-11-01T04:45:00Z', 6), [
    '11-01T05:00',
    '11-01T05:30',
    '11-01T06:00',
    '11-01T06:30',
    '11-01T07:00',
    '11-01T07:30',
  ]);
});

test('slots of any expression follow each other over every change of the clocks, none twice', (t) => {
  const zones = [
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Africa/Casablanca',
    'UTC',
  ];
  for (const timezone of zones)
    for (const cron of ['30 2 * * *', '15,45 0-3 * * *', '7 * * * *', '0 0 1 * *']) {
      const slots = slotsAfter({ cron, timezone }, {}, ms('2026-01-01T00:00:00Z'), 900);
      t.is(slots.length, 900);
      t.true(
        slots.every((slot, index) => index === 0 || slot > (slots[index - 1] ?? 0)),
        `${cron} ${timezone}`,
      );
    }
  const days = slotsAfter({ cron: '30 2 * * *', timezone: 'Europe/Berlin' }, {}, ms('2026-01-01T00:00:00Z'), 365);
  t.is(new Date(days.at(-1) ?? 0).toISOString().slice(0, 10), '2026-12-31', 'one a day');
});

test('an interval counts from its anchor, however long ago that is', (t) => {
  const timing = { everyMs: 90_000, anchor: 1000 };
  t.is(slotAfter(timing, {}, 0), 91_000);
  t.is(slotAfter(timing, {}, 91_000), 181_000);
  t.is(slotAfter(timing, {}, 1000 + 90_000 * 1e7 + 5), 1000 + 90_000 * (1e7 + 1));
  t.is(slotAfter(timing, { startsAt: 181_000 }, 0), 181_000);
  t.is(slotAfter(timing, { endsAt: 180_999 }, 91_000), undefined);
});

test('one moment is one slot, and an expression that never comes has none', (t) => {
  t.is(slotAfter({ at: 5 }, {}, 4), 5);
  t.is(slotAfter({ at: 5 }, {}, 5), undefined);
  t.is(slotAfter(newYork('0 0 30 2 *'), {}, 0), undefined);
});

test('the newest slot of a time is found without those before it', (t) => {
  const every = { everyMs: 10_000, anchor: 0 };
  t.is(newestSlot(every, {}, 0, 1e12), 1e12);
  t.is(
    newestSlot(newYork('0 9 1 1 *'), {}, ms('2020-01-01T00:00:00Z'), ms('2026-11-01T00:00:00Z')),
    ms('2026-01-01T14:00:00Z'),
  );
  t.is(newestSlot({ at: 5 }, {}, 6, 1e9), undefined);
});

test('jitter is the same for a schedule and slot, within its bound, and differs between schedules', (t) => {
  const due = Array.from({ length: 200 }, (_, index) => dueTime(`s${String(index)}`, 1000, 60_000));
  t.true(due.every((at) => at >= 1000 && at <= 61_000));
  t.true(new Set(due).size > 150);
  t.is(dueTime('s1', 1000, 60_000), due[1] ?? NaN);
  t.is(dueTime('s1', 1000, 0), 1000);
});

test('what is no expression is refused with the reason, and an offset is no zone', (t) => {
  for (const cron of ['61 * * * *', '* * * * * *', '@reboot', '', '*/0 * * * *', '*'.repeat(256)])
    t.true((faultOfCron(cron) ?? '').length > 0, cron);
  for (const cron of ['0 0 * * MON-FRI', '@daily', '0 0 L * *', '5 4 * * 1#2']) t.is(faultOfCron(cron), undefined);
  for (const name of ['', '+05:00', 'Mars/Base', 'Local']) t.is(zoneOf(name), undefined);
});
