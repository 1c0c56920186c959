import type { TraceSpan } from '@agent-workflow/client';
import test from 'ava';
import { costsIn } from './call-cost.ts';

const span = (parts: Partial<TraceSpan>): TraceSpan => ({
  ...{ id: 's0.1', parent_id: 's0', kind: 'tool', name: 'add', step: 0, status: 'completed' },
  ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: '2026-01-01T00:00:00.250Z' },
  ...parts,
});

test('the calls of a trace have their times and tokens by their ids', (t) => {
  const usage = { input_tokens: 40, output_tokens: 2, models: {} };
  t.deepEqual(
    costsIn([
      span({ kind: 'node', usage }),
      span({ call_id: 'a', usage }),
      span({ call_id: 'b', ended_at: null }),
      span({}),
    ]),
    [
      ['a', { tokens: 42, ms: 250 }],
      ['b', { tokens: 0 }],
    ],
  );
});
