import { unavailable } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import test from 'ava';
import { createHealth } from './health.ts';

test('a part that fails is in the log at first, when its reason changes, and at growing intervals', (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    error: ({ part, reason }: { readonly part: string; readonly reason: string }) => lines.push(`${part} ${reason}`),
    info: (_: unknown, text: string) => lines.push(text),
  });
  let time = 0;
  const health = createHealth(log, undefined, () => time);
  const part = health.part('cassandra');
  for (; time < 60_000; time += 1000) part.fails('it is unavailable', unavailable('away'));
  t.deepEqual(lines.splice(0), ['cassandra it is unavailable']);
  for (; time < 30 * 60_000; time += 1000) part.fails('it is unavailable', unavailable('away'));
  t.is(lines.splice(0).length, 5, 'after 1, 3, 7, 15 and 25 minutes');
  part.fails('it has to be migrated', unavailable('away'));
  t.deepEqual(lines.splice(0), ['cassandra it has to be migrated']);
  t.deepEqual(health.degraded(), [{ name: 'cassandra', reason: 'it has to be migrated' }]);
  part.works();
  part.fails('it is unavailable', unavailable('away'));
  t.deepEqual(lines, ['a part works again', 'cassandra it is unavailable']);
});

test('a part of which several report fails while one of them says so, and what cannot be read stands for all of it', (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    error: ({ reason }: { readonly reason: string }) => lines.push(reason),
    info: (_: unknown, text: string) => lines.push(text),
  });
  const health = createHealth(log);
  const [file, check] = [health.part('record'), health.part('record', 'check')];
  t.is(health.unreadable('record'), undefined);
  file.fails('the disk is full', unavailable('full'), 'reading');
  t.is(health.unreadable('record'), undefined);
  check.works();
  t.deepEqual(health.degraded(), [{ name: 'record', reason: 'the disk is full' }]);
  check.fails('it does not answer', unavailable('slow'));
  t.is(health.unreadable('record'), 'it does not answer');
  t.deepEqual(health.degraded(), [{ name: 'record', reason: 'it does not answer' }]);
  check.works();
  t.is(health.unreadable('record'), undefined);
  file.works();
  t.deepEqual(health.degraded(), []);
  t.deepEqual(lines, ['the disk is full', 'it does not answer', 'a part works again']);
});
