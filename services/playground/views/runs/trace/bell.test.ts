import test from 'ava';
import { createBell } from './bell.ts';

const never = 60_000;
const { signal } = new AbortController();

test('who waits goes on when it rings, also when it has rung before', async (t) => {
  const bell = createBell();
  bell.ring();
  await bell.rung(never, signal);
  const waiting = bell.rung(never, signal);
  bell.ring();
  await waiting;
  t.pass();
});

test('who waits goes on after a time, and when the wait is aborted', async (t) => {
  const bell = createBell();
  await bell.rung(1, signal);
  const aborting = new AbortController();
  const waiting = bell.rung(never, aborting.signal);
  aborting.abort();
  await waiting;
  t.pass();
});
