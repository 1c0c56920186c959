import test from 'ava';
import { unavailable } from '@agent-workflow/kit/errors';
import { createRoutings } from './routings.ts';

/** Routings of a record that counts how often it is read, and a clock. */
function counted() {
  const seen = { reads: 0, now: 0, isAway: false };
  const listRoutings = async () => {
    seen.reads += 1;
    if (seen.isAway) throw unavailable('the record is unavailable');
    return Promise.resolve(new Map([['support', { version: seen.reads, retired: [] }]]));
  };
  return { seen, routings: createRoutings({ listRoutings }, { elapsed: () => seen.now, now: () => seen.now }) };
}

test('routings are read once in two seconds, for agents that are not registered too', async (t) => {
  const { seen, routings } = counted();
  for (const now of [0, 1, 1999]) {
    seen.now = now;
    const known = await routings.get();
    t.deepEqual([known.get('support')?.version, known.get('other')], [1, undefined]);
  }
  t.is(seen.reads, 1);
  seen.now = 2000;
  t.is((await routings.get()).get('support')?.version, 2);
});

test('calls at the same time share one read', async (t) => {
  const { seen, routings } = counted();
  await Promise.all([routings.get(), routings.get(), routings.get()]);
  t.is(seen.reads, 1);
});

test('a change that this process made is seen by the next call', async (t) => {
  const { seen, routings } = counted();
  await routings.get();
  routings.forget();
  await routings.get();
  t.is(seen.reads, 2);
});

test('a read that failed is made again', async (t) => {
  const { seen, routings } = counted();
  seen.isAway = true;
  await t.throwsAsync(async () => routings.get());
  seen.isAway = false;
  t.is((await routings.get()).get('support')?.version, 2);
});
