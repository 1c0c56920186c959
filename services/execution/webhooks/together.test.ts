import test from 'ava';
import { createTogether } from './together.ts';

test('work waits for the next time that work is done now, or for some other work, or for a while', async (t) => {
  const together = createTogether({ ms: 3_600_000, most: 3 });
  const done: number[] = [];
  const add = (number: number): Promise<void> =>
    together.later(() => {
      done.push(number);
      return Promise.resolve();
    });
  const first = add(1);
  await Promise.resolve();
  t.deepEqual(done, []);
  together.now();
  await first;
  await Promise.all([add(2), add(3), add(4)]);
  t.deepEqual(done, [1, 2, 3, 4]);
  const soon = createTogether({ ms: 1, most: 3 });
  await t.notThrowsAsync(soon.later(() => Promise.resolve()));
  const error = await t.throwsAsync(soon.later(() => Promise.reject(new Error('no'))));
  t.is(error.message, 'no');
});
