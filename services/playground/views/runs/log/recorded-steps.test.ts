import test from 'ava';
import type { Checkpoint } from '@agent-workflow/client';
import { recordedSteps } from './recorded-steps.ts';

const checkpoint = (run: string, step: number | null, more: object = {}): Checkpoint => ({
  ...{ checkpoint_id: 'c', thread_id: 't', source: step === null ? 'input' : 'step', run_id: run, step },
  ...{ nodes: [], next: [], metadata: null, created_at: '1970-01-01T00:00:02.000Z' },
  ...more,
});

test('the steps of a run are those of its checkpoints, counted from 0, with the times that the record knows', (t) => {
  const work = { attempt: 2, retries: 1, usage: { input_tokens: 5, output_tokens: 7 } };
  const steps = recordedSteps(
    [
      checkpoint('run', 1, { started_at: '1970-01-01T00:00:01.000Z', ended_at: '1970-01-01T00:00:01.500Z', ...work }),
      checkpoint('run', 0, { started_at: null, ended_at: null, attempt: null, retries: null, usage: null }),
      checkpoint('run', null),
      checkpoint('other', 1),
    ],
    'run',
  );
  t.deepEqual(
    [...steps.values()],
    [
      { step: 1, startedAt: 1000, endedAt: 1500, attempt: 2, retries: 1, tokens: work.usage },
      { step: 0, endedAt: 2000 },
    ],
  );
});
