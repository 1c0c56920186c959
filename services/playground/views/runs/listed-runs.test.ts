import test from 'ava';
import type { Run, RunStatus } from '@agent-workflow/client';
import { factsOf } from './listed-runs.ts';

const run = (id: number, status: RunStatus): Run => ({ run_id: String(id), thread_id: 't', status });

test('facts that a run lacks are absent', (t) => {
  t.deepEqual(factsOf({ ...run(1, 'queued'), created_at: '1970-01-01T00:00:01.000Z' }), {
    createdAt: 1000,
    updatedAt: NaN,
  });
});
