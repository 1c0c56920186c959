import test from 'ava';
import { withPage } from './merged-spans.ts';
import type { TraceSpan } from '@agent-workflow/client';

const of = (id: string, step: number, status: TraceSpan['status'] = 'completed'): TraceSpan => ({
  ...{ id, step, status, parent_id: null, kind: 'step', name: '' },
  ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: null },
});

test('a page takes the place of what was known of its steps', (t) => {
  const known = [of('s0', 0), of('s1', 1, 'running')];
  t.deepEqual(withPage(known, 0, [of('s1', 1), of('s2', 2, 'running')]), [
    of('s0', 0),
    of('s1', 1),
    of('s2', 2, 'running'),
  ]);
  t.deepEqual(withPage(known, undefined, [of('s0', 0)]), [of('s0', 0)]);
  t.deepEqual(withPage(known, 1, []), known);
});
