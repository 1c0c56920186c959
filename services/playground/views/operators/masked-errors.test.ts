import test from 'ava';
import type { OwnedRun } from '@agent-workflow/client';
import { runInWords } from './masked-errors.ts';

const failed = (message: string | null): OwnedRun => ({
  ...{ run_id: 'r', thread_id: 't', status: 'failed', user_id: 'ada' },
  error: { code: 'NODE_ERROR', message, node: 'talk', reason: 'timed_out' },
});

test('an error whose text is masked says why by its reason', (t) => {
  t.is(runInWords(failed(null)).error?.message, 'timed_out');
  t.is(runInWords(failed('it hung')).error?.message, 'it hung');
});
