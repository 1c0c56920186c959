import test from 'ava';
import { clockMinute, clockTime, dayMinute, dayTime, longDay, momentText, shortDay, timeText } from './time-text.ts';

const now = new Date(2026, 10, 29, 15, 30, 7).getTime();
const yesterday = now - 86_400_000;

test('one clock for all: what a time says of the hour is the same everywhere', (t) => {
  const clock = clockMinute(now);
  t.regex(clock, /^(15|0?3):30/);
  t.is(dayMinute(now, now), clock);
  t.is(dayTime(now, now), clockTime(now));
  for (const text of [dayMinute(yesterday, now), momentText(now)]) t.true(text.endsWith(clock), text);
  for (const text of [dayTime(yesterday, now), timeText(new Date(now).toISOString())])
    t.true(text.endsWith(clockTime(now)), text);
});

test('a day of another year has its year', (t) => {
  t.notRegex(shortDay(yesterday, now), /2026/);
  t.regex(shortDay(now - 400 * 86_400_000, now), /2025/);
  t.regex(longDay(yesterday, now), /Saturday/);
});

test('what is no time is not shown as one', (t) => {
  t.is(clockTime(NaN), '');
  t.is(dayTime(NaN, now), '');
  t.is(timeText('soon'), 'soon');
});
