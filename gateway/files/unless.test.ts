import test from 'ava';
import { unless } from './unless.ts';

test('work that hangs ends with the reason of the signal, whether it fired before or fires later', async (t) => {
  const hung = new Promise<never>(() => undefined);
  const reason = new Error('stopped');
  t.is(await t.throwsAsync(unless(AbortSignal.abort(reason), hung)), reason);
  const stop = new AbortController();
  const work = unless(stop.signal, hung);
  stop.abort(reason);
  t.is(await t.throwsAsync(work), reason);
});

test('work that ends is given as it ended', async (t) => {
  const { signal } = new AbortController();
  t.is(await unless(signal, Promise.resolve(1)), 1);
  const fault = new Error('failed');
  t.is(await t.throwsAsync(unless(signal, Promise.reject(fault))), fault);
});
