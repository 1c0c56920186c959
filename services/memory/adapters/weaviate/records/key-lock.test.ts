import test from 'ava';
import { createKeyLock } from './key-lock.ts';

test('functions that share a key run one after another, others concurrently', async (t) => {
  const lock = createKeyLock();
  const seen: string[] = [];
  const gate = Promise.withResolvers<undefined>();
  const first = lock(['a', 'b'], async () => {
    seen.push('first begins');
    await gate.promise;
    seen.push('first ends');
  });
  const second = lock(['b', 'c'], async () => Promise.resolve(seen.push('second')));
  const third = lock(['c'], async () => Promise.resolve(seen.push('third')));
  await lock(['d'], async () => Promise.resolve(seen.push('apart')));
  gate.resolve(undefined);
  await Promise.all([first, second, third]);
  t.deepEqual(seen, ['first begins', 'apart', 'first ends', 'second', 'third']);
});

test('a function that fails does not stop the next one', async (t) => {
  const lock = createKeyLock();
  const failing = lock(['a'], async () => Promise.reject(new RangeError('no')));
  const next = lock(['a'], async () => Promise.resolve('done'));
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await next, 'done');
});
