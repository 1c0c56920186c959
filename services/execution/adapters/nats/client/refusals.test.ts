import test from 'ava';
import { createLog } from '@agent-workflow/kit/log';
import { createRefusals } from './refusals.ts';

test('each refusal is counted, and those of one kind are logged once, whatever the ids in their subjects are', (t) => {
  const lines: unknown[] = [];
  const silentLog = createLog('test', 'silent');
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    error: (fields: unknown) => lines.push(fields),
  });
  const counted: string[] = [];
  const refuse = createRefusals(log, (operation) => counted.push(operation));
  for (let run = 0; run < 1000; run++) refuse({ operation: 'publish', subject: `p.events.37a8eec1.run-${run}` });
  refuse({ operation: 'subscription', subject: 'p.told.>' });
  t.is(counted.length, 1001);
  t.deepEqual(lines, [
    { operation: 'publish', subject: 'p.events.37a8eec1.run-0' },
    { operation: 'subscription', subject: 'p.told.>' },
  ]);
});
