import test from 'ava';
import { createSlots } from './slots.ts';

const { signal } = new AbortController();

/** Work that runs until it is ended. */
function work(): { readonly run: () => Promise<string>; readonly end: () => void; readonly began: () => boolean } {
  const { promise, resolve } = Promise.withResolvers<string>();
  let began = false;
  return {
    run: () => {
      began = true;
      return promise;
    },
    end: () => resolve('done'),
    began: () => began,
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('work waits for a free slot, and what needs all of them is not overtaken', async (t) => {
  const slots = createSlots(2);
  const [one, two, all, late] = [work(), work(), work(), work()];
  const done = [
    slots.run(signal, 1, one.run),
    slots.run(signal, 1, two.run),
    slots.run(signal, 2, all.run),
    slots.run(signal, 1, late.run),
  ];
  await turn();
  t.deepEqual(
    [one, two, all, late].map(({ began }) => began()),
    [true, true, false, false],
  );
  one.end();
  await turn();
  t.deepEqual(
    [all, late].map(({ began }) => began()),
    [false, false],
  );
  two.end();
  await turn();
  t.deepEqual(
    [all, late].map(({ began }) => began()),
    [true, false],
  );
  all.end();
  late.end();
  t.deepEqual(await Promise.all(done), ['done', 'done', 'done', 'done']);
});

test('work that stops waiting makes way for what is behind it', async (t) => {
  const slots = createSlots(1);
  const [first, behind] = [work(), work()];
  const stop = new AbortController();
  const running = slots.run(signal, 1, first.run);
  const stopped = slots.run(stop.signal, 1, work().run);
  const last = slots.run(signal, 1, behind.run);
  stop.abort(new Error('stopped'));
  await t.throwsAsync(stopped, { message: 'stopped' });
  first.end();
  behind.end();
  t.deepEqual(await Promise.all([running, last]), ['done', 'done']);
});

test('slots of failed work are free again', async (t) => {
  const slots = createSlots(1);
  await t.throwsAsync(
    slots.run(signal, 1, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.is(await slots.run(signal, 1, () => Promise.resolve('yes')), 'yes');
});
