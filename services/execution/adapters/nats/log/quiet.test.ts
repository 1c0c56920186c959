import test from 'ava';
import { checkQuiet } from './quiet.ts';
import { createTail, type Tail } from './tail.ts';

/** The times at which a followed log is found quiet, in milliseconds, looked at every half a second. */
function quietTimes(tail: Tail, untilMs: number): number[] {
  const times: number[] = [];
  for (let at = 0; at <= untilMs; at += 500)
    checkQuiet({ tails: () => [tail], onQuiet: () => times.push(at), now: () => at });
  return times;
}

test('a followed log that stays quiet is found less and less often, and never less than every 16 seconds', (t) => {
  const tail = createTail('r', 'events.0.r');
  tail.listeners = 1;
  t.deepEqual(quietTimes(tail, 70_000), [1000, 3000, 7000, 15_000, 31_000, 47_000, 63_000]);
});

test('a log that nobody follows, or that has ended, is never found quiet', (t) => {
  const idle = createTail('r', 'events.0.r');
  const ended = createTail('s', 'events.0.s');
  ended.listeners = 1;
  ended.ended = true;
  for (const tail of [idle, ended]) t.deepEqual(quietTimes(tail, 10_000), []);
});
