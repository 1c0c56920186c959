import test from 'ava';
import { noteDate, serviceNow, toServiceTime } from './clock.ts';

const replyOf = (at: number): string => new Date(at).toUTCString();

test.serial('a clock that differs by seconds is none that differs, as replies name whole seconds', (t) => {
  noteDate(replyOf(100_000), 101_400);
  t.is(toServiceTime(5000), 5000);
  noteDate(null, 0);
  t.is(toServiceTime(5000), 5000);
});

test.serial('a time of a clock that is wrong by minutes is the one that the service has', (t) => {
  const wrong = 10 * 60_000;
  noteDate(replyOf(Date.now() + wrong), Date.now());
  t.true(Math.abs(toServiceTime(5000) - wrong - 5000) < 2000);
  t.true(Math.abs(serviceNow() - Date.now() - wrong) < 2000);
  noteDate(replyOf(Date.now()), Date.now());
  t.is(toServiceTime(5000), 5000);
});
