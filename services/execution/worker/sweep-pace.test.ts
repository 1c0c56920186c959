import test from 'ava';
import { createSweepPace } from './sweep-pace.ts';

const longestMs = 30_000;

function paceFor() {
  const clock = { ms: 0 };
  const queue = { waiting: 0 };
  const living = new Set<string>();
  const leases = { living: () => new Set(living) };
  const pace = createSweepPace({ leases, longestMs, waiting: () => queue.waiting, elapsed: () => clock.ms });
  return { clock, queue, living, pace };
}

test('sweeps are the rarer the more runs are open, and never rarer than the longest time', (t) => {
  const { clock, pace } = paceFor();
  t.true(pace.isDue(), 'the first one');
  for (const [openRuns, ms] of [
    [50, 1000],
    [1000, 20_000],
    [1_000_000, longestMs],
  ] as const) {
    pace.begin().end(openRuns);
    const begun = clock.ms;
    clock.ms = begun + ms - 1;
    t.false(pace.isDue(), `${openRuns} runs, a millisecond before`);
    clock.ms = begun + ms;
    t.true(pace.isDue(), `${openRuns} runs`);
  }
});

test('a backlog that was taken from the queue since delays no sweep', (t) => {
  const { clock, queue, pace } = paceFor();
  queue.waiting = 2000;
  pace.begin().end(2020);
  clock.ms = 500;
  t.false(pace.isDue());
  queue.waiting = 3000;
  t.false(pace.isDue(), 'more runs came');
  queue.waiting = 0;
  t.true(pace.isDue());
});

test('the death of a process makes a sweep due at once, until one has ended that began after it', (t) => {
  const { living, pace } = paceFor();
  living.add('one').add('two');
  const first = pace.begin();
  living.delete('one');
  first.end(1000);
  t.false(first.isAfterDeath);
  t.true(pace.isDue(), 'it died while the sweep was under way');
  const second = pace.begin();
  second.end(1000);
  t.true(second.isAfterDeath);
  t.false(pace.isDue());
  living.add('three');
  t.false(pace.isDue(), 'a birth is no reason');
  living.delete('three');
  t.true(pace.isDue(), 'it came and went between two sweeps');
});

test('a sweep that fails is due again, whatever it began for', (t) => {
  const { living, pace } = paceFor();
  living.add('one');
  pace.begin().end(1000);
  living.delete('one');
  t.true(pace.isDue());
  pace.begin();
  t.true(pace.isDue());
  const again = pace.begin();
  t.true(again.isAfterDeath, 'no whole sweep has begun after the death');
  again.end(1000);
  t.false(pace.begin().isAfterDeath);
});

test('a sweep reads few runs at a time, takes no longer than the longest time for pauses, and gives way to one after a death', (t) => {
  const { living, pace } = paceFor();
  living.add('one');
  const first = pace.begin();
  t.deepEqual([first.partRuns, first.pauseMs], [100, 0], 'it does not know how many runs there are');
  let sweep = first;
  for (const [openRuns, partRuns, pauseMs] of [
    [0, 10, 200],
    [1000, 10, 200],
    [9000, 60, 200],
    [100_000, 100, 30],
  ] as const) {
    sweep.end(openRuns);
    sweep = pace.begin();
    t.deepEqual([sweep.partRuns, sweep.pauseMs], [partRuns, pauseMs], `${openRuns} runs`);
    t.true((openRuns / partRuns) * pauseMs <= longestMs);
  }
  t.false(sweep.isOutdated());
  living.delete('one');
  t.true(sweep.isOutdated(), 'a process died meanwhile');
  t.true(pace.isDue());
  const after = pace.begin();
  t.deepEqual([after.partRuns, after.pauseMs, after.isAfterDeath], [100, 0, true]);
  living.add('two');
  after.isOutdated();
  living.delete('two');
  t.false(after.isOutdated(), 'it ends, however often processes die');
});
