import test from 'ava';
import { readRetryAfter } from './retry-after.ts';

const read = (headers: Readonly<Record<string, string>>): number => readRetryAfter((name) => headers[name]);

test('a server names its wait in milliseconds, in seconds or as a date', (t) => {
  t.is(read({ 'retry-after-ms': '250', 'retry-after': '7' }), 250);
  t.is(read({ 'retry-after': '7' }), 7000);
  const wait = read({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() });
  t.true(wait > 55_000 && wait <= 60_000);
});

test('a time in the past, nonsense and no header are no wait', (t) => {
  t.is(read({ 'retry-after': new Date(0).toUTCString() }), 0);
  t.is(read({ 'retry-after': 'soon' }), 0);
  t.is(read({ 'retry-after': '-3', 'retry-after-ms': 'soon' }), 0);
  t.is(read({}), 0);
});
