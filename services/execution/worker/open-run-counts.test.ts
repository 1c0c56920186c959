import test from 'ava';
import { createOpenRunCounts, type OpenRunCounts, type SweptRuns } from './open-run-counts.ts';

type Seen = Parameters<ReturnType<OpenRunCounts['begin']>['add']>[0];

function sweep(counts: OpenRunCounts, at: number, runs: readonly Seen[]): void {
  const counting = counts.begin({ at, registered: [] });
  for (const run of runs) counting.add(run);
  counting.end();
}

const v1: Seen = { agent: 'support', revision: 'v1', status: 'queued', runnable: true, createdAt: 9 };

test('runs that wait or are driven are counted by agent and revision, those that sleep are not', (t) => {
  const counts = createOpenRunCounts();
  const unnamed: Seen = { agent: 'default', status: 'queued', runnable: true, createdAt: 9 };
  sweep(counts, 1, [v1, { ...v1, status: 'running' }, unnamed, { ...v1, status: 'sleeping' }]);
  t.deepEqual(counts.read(), {
    counts: [
      { agent: 'support', revision: 'v1', runs: 2 },
      { agent: 'default', runs: 1 },
    ],
  });
});

test('a revision that one of the last two sweeps found is named, and after two without it is not', (t) => {
  const counts = createOpenRunCounts();
  const v1Runs = (): number | undefined => counts.read().counts.find(({ revision }) => revision === 'v1')?.runs;
  sweep(counts, 1, [v1]);
  sweep(counts, 2, []);
  t.deepEqual([v1Runs(), counts.read().twoSweepsSince], [0, 1]);
  sweep(counts, 3, []);
  t.deepEqual([v1Runs(), counts.read().twoSweepsSince], [undefined, 2]);
});

test('a sweep that did not end counts for nothing', (t) => {
  const counts = createOpenRunCounts();
  sweep(counts, 1, [v1]);
  counts.begin({ at: 2, registered: [] }).add({ ...v1, revision: 'v2' });
  t.deepEqual(counts.read(), { counts: [{ agent: 'support', revision: 'v1', runs: 1 }] });
});

test('a whole sweep is shown once, with what waits, what is driven, and the oldest run that a worker could take', (t) => {
  const shown: SweptRuns[] = [];
  const counts = createOpenRunCounts((swept) => shown.push(swept));
  sweep(counts, 1, [
    { ...v1, createdAt: 5 },
    { ...v1, createdAt: 3 },
    { ...v1, createdAt: 2, runnable: false },
    { ...v1, createdAt: 1, status: 'running', workerId: 'w1' },
  ]);
  sweep(counts, 2, []);
  t.deepEqual(
    shown.map(({ at, oldestAt, pools }) => ({ at, oldestAt, pools: [...pools.values()] })),
    [
      {
        at: 1,
        oldestAt: 3,
        pools: [{ agent: 'support', revision: 'v1', waiting: 3, runnable: 2, drivenBy: new Map([['w1', 1]]) }],
      },
      { at: 2, oldestAt: undefined, pools: [] },
    ],
  );
});
