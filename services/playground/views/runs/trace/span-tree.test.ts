import test from 'ava';
import fc from 'fast-check';
import { allOf, errorOfNode, findNode, firstChosen, holdersOf, idOf, statusOfNode, toTree } from './span-tree.ts';
import type { SpanKind, TraceSpan } from '@agent-workflow/client';

const at = (ms: number): string => new Date(ms).toISOString();

interface Given extends Partial<Omit<TraceSpan, 'kind' | 'id'>> {
  readonly from?: number;
  readonly to?: number | null;
}

/** A span from one second to another. */
function span(id: string, kind: SpanKind, { from = 0, to = from + 1, ...given }: Given = {}): TraceSpan {
  return {
    ...{ id, kind, parent_id: null, name: id, step: 0, status: 'completed' },
    ...{ started_at: at(from * 1000), ended_at: to === null ? null : at(to * 1000) },
    ...given,
  };
}

test('a step in which one node ran is one with it, and is found by either id', (t) => {
  const tree = toTree([
    span('s0', 'step', { checkpoint_id: '7' }),
    span('s0.1', 'node', { parent_id: 's0', name: 'plan' }),
    span('s0.2', 'model', { parent_id: 's0.1' }),
  ]);
  t.is(tree.length, 1);
  const [node] = tree;
  t.is(node && idOf(node), 's0');
  t.is(node?.span.name, 'plan');
  t.is(node?.step?.checkpoint_id, '7');
  t.is(findNode(tree, 's0'), node);
  t.is(findNode(tree, 's0.1'), node);
  const model = findNode(tree, 's0.2');
  t.deepEqual(model && holdersOf(model), [node]);
});

test('a step of several nodes holds them, and so does a sub-graph its steps', (t) => {
  const tree = toTree([
    span('s0', 'step'),
    span('s0.1', 'node', { parent_id: 's0' }),
    span('s0.2', 'node', { parent_id: 's0' }),
    span('s0.3', 'step', { parent_id: 's0.2', inner_step: 1 }),
    span('s0.4', 'node', { parent_id: 's0.3', name: 'inner' }),
  ]);
  t.deepEqual([...allOf(tree)].map(idOf), ['s0', 's0.1', 's0.2', 's0.3']);
  t.is(findNode(tree, 's0.4')?.span.name, 'inner');
});

test('the end of a step counts for its node, which does not know of it', (t) => {
  const [node] = toTree([
    span('s0', 'step', { status: 'failed', error: { message: 'lost' } }),
    span('s0.1', 'node', { parent_id: 's0', status: 'running', to: null }),
  ]);
  t.is(node && statusOfNode(node), 'failed');
  t.is(node && errorOfNode(node)?.message, 'lost');
});

test('of a failed run the innermost that failed is chosen, of any other what took longest', (t) => {
  const spans = [
    span('s0', 'step', { to: 9 }),
    span('s0.1', 'node', { parent_id: 's0', to: 9 }),
    span('s0.2', 'tool', { parent_id: 's0.1', to: 8 }),
    span('s1', 'step', { status: 'failed', step: 1 }),
    span('s1.1', 'node', { parent_id: 's1', status: 'failed' }),
    span('s1.2', 'attempt', { parent_id: 's1.1', status: 'failed' }),
    span('s1.3', 'attempt', { parent_id: 's1.1', status: 'failed' }),
    span('s1.4', 'model', { parent_id: 's1.3', status: 'completed' }),
  ];
  const tree = toTree(spans);
  t.is(firstChosen(tree, true, 0)?.span.id, 's1.3');
  t.is(firstChosen(tree, false, 0)?.span.id, 's0.2');
  t.is(firstChosen([], true, 0), undefined);
});

/** Spans whose parents may be missing, come later, or be themselves. */
const spans = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 12 }).map((id) => `s${String(id)}`),
    parent_id: fc.option(fc.integer({ min: 0, max: 12 }).map((id) => `s${String(id)}`)),
    kind: fc.constantFrom<SpanKind>('step', 'node', 'branch', 'attempt', 'model', 'tool', 'takeover'),
  }),
  { maxLength: 20 },
);

test('whatever comes, each span stands in the tree once, below what holds it', (t) => {
  fc.assert(
    fc.property(spans, (given) => {
      const tree = toTree(given.map(({ id, kind, parent_id: parent }) => span(id, kind, { parent_id: parent })));
      const ids = [...allOf(tree)].flatMap(({ span: own, step }) => [own.id, ...(step ? [step.id] : [])]);
      t.deepEqual([...ids].sort(), [...new Set(given.map(({ id }) => id))].sort());
      for (const node of allOf(tree)) for (const child of node.children) t.is(child.parent, node);
    }),
  );
});
