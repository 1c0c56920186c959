import test from 'ava';
import { createKeyLock } from './key-lock.ts';

test('works that share a key go one after the other, others side by side', async (t) => {
  const lock = createKeyLock();
  const told: string[] = [];
  const gate = Promise.withResolvers<undefined>();
  const first = lock(['a', 'b'], async () => {
    told.push('first begins');
    await gate.promise;
    told.push('first ends');
  });
  const second = lock(['b', 'c'], async () => Promise.resolve(told.push('second')));
  const third = lock(['c'], async () => Promise.resolve(told.push('third')));
  await lock(['d'], async () => Promise.resolve(told.push('apart')));
  gate.resolve(undefined);
  await Promise.all([first, second, third]);
  t.deepEqual(told, ['first begins', 'apart', 'first ends', 'second', 'third']);
});

test('a work that fails holds up nobody', async (t) => {
  const lock = createKeyLock();
  const failing = lock(['a'], async () => Promise.reject(new RangeError('no')));
  const next = lock(['a'], async () => Promise.resolve('done'));
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await next, 'done');
});
