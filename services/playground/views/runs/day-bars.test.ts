import test from 'ava';
import { dayBars } from './day-bars.ts';

const day = (name: string, counts: object, total: number) => ({ day: name, total, counts });

test('every day of the range has a bar, also across months and without runs', (t) => {
  const bars = dayBars({ days: [day('2026-03-01', { completed: 4 }, 4)] }, '2026-02-27', '2026-03-02');
  t.deepEqual(
    bars.map((bar) => [bar.day, bar.total]),
    [
      ['2026-02-27', 0],
      ['2026-02-28', 0],
      ['2026-03-01', 4],
      ['2026-03-02', 0],
    ],
  );
  t.deepEqual(dayBars({ days: [] }, '2026-03-02', '2026-03-01'), []);
  t.deepEqual(dayBars({ days: [] }, '', '2026-03-01'), []);
});

test('parts stand on each other, failures on the ground, and none leaves the chart', (t) => {
  const counts = { completed: 6, failed: 2, interrupted: 1, running: 1 };
  const [bar] = dayBars({ days: [day('2026-03-01', counts, 10)] }, '2026-03-01', '2026-03-01');
  t.deepEqual(bar?.parts, [
    { tone: 'failed', from: 0, size: 20 },
    { tone: 'waiting', from: 20, size: 10 },
    { tone: 'running', from: 30, size: 10 },
    { tone: 'done', from: 40, size: 60 },
  ]);
  t.is(bar?.failed, 2);
});

test('one failure among thousands is seen', (t) => {
  const [bar] = dayBars(
    { days: [day('2026-03-01', { completed: 5000, failed: 1 }, 5001)] },
    '2026-03-01',
    '2026-03-01',
  );
  t.is(bar?.parts[0]?.size, 3);
  const sum = bar?.parts.reduce((all, { size }) => all + size, 0) ?? 0;
  t.true(sum <= 100);
});

test('of a long range the newest days are drawn', (t) => {
  const bars = dayBars({ days: [] }, '2020-01-01', '2026-03-01');
  t.is(bars.length, 92);
  t.is(bars.at(-1)?.day, '2026-03-01');
});
