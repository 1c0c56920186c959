import { isServiceError } from '@agent-workflow/kit/errors';
import test from 'ava';
import type { RunRow } from '../ports/lists.ts';
import { createRunCounts } from './run-counts.ts';

const completed = { status: 'completed', iterations: 1, recursionLimitReached: false } as const;

const run = (at: string | number, parts: Partial<RunRow> = {}): RunRow => {
  const createdAt = typeof at === 'number' ? at : Date.parse(at);
  return {
    ...{ runId: 'r1', threadId: 't1', requestId: 'q', status: 'completed', granularity: 'low', isNewThread: false },
    ...{ createdAt, updatedAt: createdAt + 1000, end: completed },
    ...parts,
  };
};

function countsIn(timeZone: string, runs: readonly RunRow[]) {
  const counts = createRunCounts(timeZone);
  for (const one of runs) counts.add(one, 0);
  return counts.read();
}

test('runs are counted by the days of a time zone, also those on which its clocks are set', (t) => {
  const times = ['2026-03-28T23:30:00Z', '2026-03-29T21:59:59.999Z', '2026-03-29T22:00:00Z', '2026-10-25T22:30:00Z'];
  const daysIn = (zone: string): unknown =>
    countsIn(
      zone,
      times.map((at) => run(at)),
    ).days.map(({ day, counts }) => [day, counts[0]?.count]);
  t.deepEqual(daysIn('Europe/Berlin'), [
    ['2026-03-29', 2],
    ['2026-03-30', 1],
    ['2026-10-25', 1],
  ]);
  t.deepEqual(daysIn('UTC'), [
    ['2026-03-28', 1],
    ['2026-03-29', 2],
    ['2026-10-25', 1],
  ]);
  t.deepEqual(daysIn('Asia/Kathmandu'), [
    ['2026-03-29', 1],
    ['2026-03-30', 2],
    ['2026-10-26', 1],
  ]);
});

test('a day has the number of each status, and durations are those of runs that have ended', (t) => {
  const day = '2026-11-28T10:00:00Z';
  const slow = Array.from({ length: 19 }, () => run(day));
  const { end: _, ...open } = run(day, { status: 'running' });
  const { days, medianMs, p95Ms } = countsIn('UTC', [
    ...slow,
    run(day, { status: 'failed', updatedAt: Date.parse(day) + 90_000 }),
    open,
  ]);
  t.deepEqual(days[0]?.counts, [
    { status: 'completed', count: 19 },
    { status: 'failed', count: 1 },
    { status: 'running', count: 1 },
  ]);
  t.deepEqual([medianMs, p95Ms], [1000, 1000]);
  t.deepEqual(countsIn('UTC', [open]).medianMs, undefined);
  t.deepEqual(countsIn('UTC', []), { days: [] });
});

test('a run whose time is none is left out, and the others are counted', (t) => {
  const broken = [Number.NaN, 9e15, -9e15].map((at) => run(at));
  t.is(countsIn('UTC', [...broken, run('2026-11-28T10:00:00Z')]).days.length, 1);
});

test('what is no time zone is refused', (t) => {
  const error = t.throws(() => createRunCounts('Mars/Olympus'));
  t.true(isServiceError(error, 'Invalid'));
});
