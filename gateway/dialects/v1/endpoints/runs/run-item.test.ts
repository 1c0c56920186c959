import test from 'ava';
import type { Run } from '@agent-workflow/protos/threads';
import { toRunItems } from './run-item.ts';

const run: Run = {
  ...{ runId: 'r1', threadId: 't1', owner: 'anon', requestId: 'q', status: 'completed', granularity: 'low' },
  ...{ agent: 'default', createdAt: 1, updatedAt: 1, runnable: false, isNewThread: false },
};

test('a run that cannot be shown is left out of a list and named in the log; the others are shown', (t) => {
  const lines: object[] = [];
  const log = { error: (line: object) => void lines.push(line) };
  const shown = toRunItems([run, { ...run, runId: 'r2', wakeAt: 9e15 }, { ...run, runId: 'r3', usageJson: '{{' }], log);
  t.deepEqual(
    shown.map((item) => item['run_id']),
    ['r1', 'r3'],
  );
  t.like(lines, [{ runId: 'r2' }]);
});
