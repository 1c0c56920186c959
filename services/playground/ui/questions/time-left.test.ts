import test from 'ava';
import { timeLeft } from './time-left.ts';

const now = Date.UTC(2026, 0, 1);
const after = (ms: number) => timeLeft(new Date(now + ms).toISOString(), now);

test('the time that is left is said in minutes, in seconds at the end, and in hours at the beginning', (t) => {
  t.deepEqual(after(26 * 60_000), { text: '26 min left', isSoon: true });
  t.deepEqual(after(41_500), { text: '42 s left', isSoon: true });
  t.deepEqual(after(4 * 3_600_000), { text: '4 h 0 min left', isSoon: false });
  t.deepEqual(after(-1), { text: 'time is over', isSoon: true });
});

test('a question without a deadline, or with one that is no time, has none', (t) => {
  t.is(timeLeft(undefined, now), undefined);
  t.is(timeLeft('soon', now), undefined);
});
