import test from 'ava';
import fc from 'fast-check';
import { pairSteps } from './paired-steps.ts';
import { toTree, type SpanNode } from './span-tree.ts';
import type { TraceSpan } from '@agent-workflow/client';

const run = (names: readonly string[]): readonly SpanNode[] =>
  toTree(
    names.map((name, step): TraceSpan => ({
      ...{ id: `s${String(step)}`, parent_id: null, kind: 'step', name, step, status: 'completed' },
      ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: '2026-01-01T00:00:01.000Z' },
    })),
  );

const paired = (left: readonly string[], right: readonly string[]): string[] =>
  pairSteps(run(left), run(right)).map((pair) => `${pair.left?.span.name ?? '-'} ${pair.right?.span.name ?? '-'}`);

test('steps of one name are paired in their order, the others stand alone', (t) => {
  t.deepEqual(paired(['plan', 'fetch', 'sum'], ['plan', 'check', 'fetch', 'sum']), [
    'plan plan',
    '- check',
    'fetch fetch',
    'sum sum',
  ]);
  t.deepEqual(paired(['agent', 'tools', 'agent'], ['agent']), ['agent agent', 'tools -', 'agent -']);
  t.deepEqual(paired([], ['a']), ['- a']);
});

test('no step is lost, and none is paired with one of another name', (t) => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
  fc.assert(
    fc.property(names, names, (left, right) => {
      const pairs = pairSteps(run(left), run(right));
      t.deepEqual(
        pairs.flatMap((pair) => pair.left?.span.name ?? []),
        left,
      );
      t.deepEqual(
        pairs.flatMap((pair) => pair.right?.span.name ?? []),
        right,
      );
      for (const pair of pairs) if (pair.left && pair.right) t.is(pair.left.span.name, pair.right.span.name);
    }),
  );
});
