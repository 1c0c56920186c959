import { unavailable } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import test from 'ava';
import { logFailures, logRetries } from './retries.ts';

test('a reason is logged in one line without a stack, and again after ten seconds; another reason is logged at once', (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    warn: (fields: unknown, text: string) => void lines.push([fields, text]),
  });
  let time = 0;
  const onRetry = logRetries({ log, text: 'it is tried again', now: () => time });
  const refused = (): Error => unavailable('the record is unavailable', new Error('connect ECONNREFUSED\nand more'));
  for (; time < 10_000; time += 1000) onRetry(refused());
  onRetry(unavailable('the nodes do not agree'));
  onRetry(refused());
  const line = (reason: string): unknown => [{ reason }, 'it is tried again'];
  const away = line('the record is unavailable: connect ECONNREFUSED');
  t.deepEqual(lines, [away, line('the nodes do not agree'), away]);
});

test('a failure of work that is repeated is logged with its error, and the same one at growing intervals', (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    error: ({ err }: { readonly err: Error }, text: string) => void lines.push([err.message, text]),
  });
  let time = 0;
  const onError = logFailures({ log, text: 'the sweep failed', now: () => time });
  for (; time <= 4 * 60_000; time += 2000) onError(unavailable('away', new Error(`at ${String(time)}`)));
  onError(new TypeError('a fault'));
  t.deepEqual(
    lines,
    ['away', 'away', 'away', 'a fault'].map((message) => [message, 'the sweep failed']),
  );
});
