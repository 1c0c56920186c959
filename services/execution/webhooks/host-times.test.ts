import test from 'ava';
import { createHostTimes } from './host-times.ts';

test('what waits at a host is due as late as those before it are expected to take', (t) => {
  const times = createHostTimes({ perHost: 1 });
  const guessMs = times.usualMs('a');
  const first = times.laterMs('a', 'x');
  t.is(times.laterMs('a', 'y'), first + guessMs);
  t.is(times.laterMs('a', 'y'), first + guessMs);
  t.is(times.laterMs('b', 'z'), first);
  times.forget('a', 'x');
  t.is(times.laterMs('a', 'y'), first);
});

test('the last attempts at a host say how long one takes', (t) => {
  const times = createHostTimes({ perHost: 1 });
  for (let count = 0; count < 50; count++) times.took('a', 2000);
  t.true(Math.abs(times.usualMs('a') - 2000) < 10);
  t.true(times.usualMs('b') < 1000);
});

test('what was due long ago was looked at by another replica, and is forgotten', (t) => {
  let ms = 0;
  const times = createHostTimes({ perHost: 1, now: () => ms });
  const first = times.laterMs('a', 'x');
  for (let count = 0; count < 20; count++) times.laterMs('a', String(count));
  ms = 60_000;
  t.is(times.laterMs('a', 'y'), first);
});

test('no more is remembered than bounds say, at one host and in all', (t) => {
  const times = createHostTimes({ perHost: 1, mostAtHost: 2, mostInAll: 3 });
  const guessMs = times.usualMs('a');
  const first = times.laterMs('a', '1');
  for (const id of ['2', '3', '4']) times.laterMs('a', id);
  t.is(times.laterMs('a', '5'), first + 2 * guessMs);
  for (const host of ['b', 'c', 'd']) t.is(times.laterMs(host, 'x'), first);
  t.is(times.laterMs('a', '6'), first);
});

test('many hosts for which nothing or little waits take little memory', (t) => {
  const times = createHostTimes({ perHost: 4 });
  const before = process.memoryUsage();
  for (let count = 0; count < 2000; count++) times.laterMs(`host-${String(count)}`, 'x');
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  t.true(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers < 32 * 1024 * 1024);
});
