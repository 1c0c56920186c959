import test from 'ava';
import { eachOf } from './each.ts';

test('every item is worked on, and never more than so many at once', async (t) => {
  const done: number[] = [];
  let underWay = 0;
  await eachOf([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    underWay += 1;
    t.true(underWay <= 3);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    done.push(item);
  });
  t.deepEqual(done.toSorted(), [1, 2, 3, 4, 5, 6, 7]);
});

test('a failure begins no further item, and is thrown once those under way have ended', async (t) => {
  const held = Promise.withResolvers<undefined>();
  const begun: number[] = [];
  let hasEnded = false;
  const working = eachOf([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error('broken');
    await held.promise;
    hasEnded = true;
  });
  held.resolve(undefined);
  await t.throwsAsync(working, { message: 'broken' });
  t.true(hasEnded);
  t.deepEqual(begun, [1, 2]);
});
