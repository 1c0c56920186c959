import test from 'ava';
import { dayName, dayOf, groupByDay } from './day-groups.ts';

const at = (...given: [number, number, number, number]): number => new Date(...given).getTime();

test('items are parted by the days of the reader, in their order', (t) => {
  const times = [at(2026, 10, 29, 9), at(2026, 10, 29, 0), at(2026, 10, 28, 23)];
  const entries = groupByDay(times, { keyOf: String, timeOf: (time) => time });
  t.deepEqual(
    entries.map(({ kind, key }) => (kind === 'day' ? key.slice(0, 14) : 'item')),
    ['day 2026-11-29', 'item', 'item', 'day 2026-11-28', 'item'],
  );
  t.deepEqual(entries[0]?.kind === 'day' && entries[0].items, times.slice(0, 2));
  t.deepEqual(groupByDay([], { keyOf: String, timeOf: Number }), []);
});

test('every entry has a key of its own, also where times are none', (t) => {
  const entries = groupByDay(['a', 'b', 'c'], {
    keyOf: (item) => item,
    timeOf: (item) => (item === 'b' ? 0 : Number.NaN),
  });
  t.is(new Set(entries.map(({ key }) => key)).size, entries.length);
  t.is(dayOf(Number.NaN), '');
});

test('a day is called as people call it', (t) => {
  const now = at(2026, 10, 29, 12);
  t.is(dayName(at(2026, 10, 29, 1), now), 'Today');
  t.is(dayName(at(2026, 10, 28, 23), now), 'Yesterday');
  t.regex(dayName(at(2026, 10, 27, 12), now), /^Friday,? (27 November|November 27)$/);
  t.regex(dayName(at(2025, 10, 27, 12), now), /^(27 November,?|November 27,) 2025$/);
  t.is(dayName(Number.NaN, now), 'Unknown day');
});
