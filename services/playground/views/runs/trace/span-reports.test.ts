import type { RunEvent, TraceSpan } from '@agent-workflow/client';
import test from 'ava';
import { addEvent, createRunLog } from '../log/run-log.ts';
import { placeOf, reportsOf } from './span-reports.ts';
import { findNode, toTree, type SpanNode } from './span-tree.ts';

const second = (at: number): string => new Date(Date.UTC(2026, 0, 1, 12, 0, at)).toISOString();

const spanOf = (
  id: string,
  kind: TraceSpan['kind'],
  parent: string | null,
  parts: Partial<TraceSpan> = {},
): TraceSpan => ({
  ...{ id, kind, parent_id: parent, name: '', step: 1, status: 'completed' },
  ...{ started_at: second(0), ended_at: second(10), ...parts },
});

const tree = toTree([
  spanOf('s1', 'step', null),
  spanOf('s1.1', 'node', 's1', { name: 'read' }),
  spanOf('s1.2', 'branch', 's1.1', { name: 'read', branch: 0 }),
  spanOf('s1.3', 'branch', 's1.1', { name: 'read', branch: 1 }),
  spanOf('s1.4', 'tool', 's1.3', { name: 'shop', started_at: second(4), ended_at: second(6) }),
  spanOf('t1', 'takeover', null),
]);
function nodeOf(id: string): SpanNode {
  const node = findNode(tree, id);
  if (!node) throw new Error(`no span ${id}`);
  return node;
}

const log = createRunLog();
const report = (seq: number, at: number, data: object, step = 1): void => {
  const event: RunEvent = {
    ...{ id: `run:${String(seq)}`, event: 'on_chain_stream', thread_id: 't', run_id: 'run', timestamp: second(at) },
    ...{ data: { node: 'read', step, status: 'progress', ...data }, metadata: { node: 'read', step } },
  };
  addEvent(log, event, { isLive: true });
};
report(1, 1, { branch: 0, custom: 'page 0' });
report(2, 5, { branch: 1, custom: 'the shop is slow' });
report(3, 7, { branch: 1, custom: { waited: 2 } });
report(4, 8, { custom: 'of the node' });
report(5, 8, { status: 'restarted', branch: 1 });
report(6, 8, { branch: 1, custom: 'of another step' }, 2);
report(7, 9, { node: 'other', custom: 'of another node' });

const seqs = (id: string): readonly number[] => reportsOf(log.events, nodeOf(id), 10).reports.map(({ seq }) => seq);

test('a branch has its own reports, its node those of all branches, and a tool those of its time', (t) => {
  t.deepEqual(seqs('s1.2'), [1]);
  t.deepEqual(seqs('s1.3'), [2, 3]);
  t.deepEqual(seqs('s1.1'), [1, 2, 3, 4]);
  t.deepEqual(seqs('s1.4'), [2]);
  t.deepEqual(seqs('t1'), []);
});

test('more reports than are shown are counted', (t) => {
  const { reports, count } = reportsOf(log.events, nodeOf('s1.1'), 2);
  t.is(reports.length, 2);
  t.is(count, 4);
});

test('the place of a span is what its events name', (t) => {
  t.deepEqual(placeOf(nodeOf('s1.4')), { step: 1, node: 'read', branch: 1 });
  t.deepEqual(placeOf(nodeOf('s1.1')), { step: 1, node: 'read' });
  t.is(placeOf(nodeOf('t1')), undefined);
});
