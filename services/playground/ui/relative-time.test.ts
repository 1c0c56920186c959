import test from 'ava';
import { relativeTime, timeAgo } from './relative-time.ts';
import { shortDay } from './time-text.ts';

const now = Date.UTC(2026, 10, 28, 12);
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

test('a time is told by its largest unit, and by its day from a week on', (t) => {
  const texts = [0, 29 * second, 31 * second, 4 * minute, 59.6 * minute, 2 * hour, 23.6 * hour, 6 * day];
  t.deepEqual(
    texts.map((ago) => relativeTime(now - ago, now)),
    ['now', 'now', '1 min', '4 min', '1 h', '2 h', '1 d', '6 d'],
  );
  t.is(relativeTime(now - 8 * day, now), shortDay(now - 8 * day, now));
  t.regex(relativeTime(now - 400 * day, now), /24.*2025/);
});

test('a time to come says so, and what is no time is empty', (t) => {
  t.is(relativeTime(now + 4 * minute, now), 'in 4 min');
  t.is(relativeTime(now + second, now), 'now');
  t.is(relativeTime(NaN, now), '');
});

test('in a sentence a time has its preposition', (t) => {
  t.is(timeAgo(now, now), 'just now');
  t.is(timeAgo(now - 4 * minute, now), '4 min ago');
  t.is(timeAgo(now + 2 * hour, now), 'in 2 h');
  t.is(timeAgo(now - 8 * day, now), `on ${shortDay(now - 8 * day, now)}`);
});
