import { once } from 'node:events';
import test from 'ava';
import { limitTime } from './limit-time.ts';

test('the signal fires when the time is over, or with the other signal', async (t) => {
  // The timer of a limit keeps no process alive.
  const alive = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(alive));
  const other = new AbortController();
  using short = limitTime(1, other.signal);
  if (!short.signal.aborted) await once(short.signal, 'abort');
  using long = limitTime(3_600_000, other.signal);
  t.false(long.signal.aborted);
  other.abort(new Error('it closes'));
  t.is((long.signal.reason as Error).message, 'it closes');
  using late = limitTime(3_600_000, other.signal);
  t.true(late.signal.aborted);
});

test('once it is disposed of it does not fire', (t) => {
  const other = new AbortController();
  const time = limitTime(3_600_000, other.signal);
  time[Symbol.dispose]();
  other.abort();
  t.false(time.signal.aborted);
});
