import test from 'ava';
import fc from 'fast-check';
import { toTree } from './span-tree.ts';
import { wordsOf } from './row-words.ts';
import { toRows, type TraceRow } from './trace-rows.ts';
import type { TraceSpan } from '@agent-workflow/client';

const at = (ms: number): string => new Date(ms).toISOString();

type TraceView = Parameters<typeof toRows>[1];

const seen = (given: Partial<TraceView> = {}): TraceView => ({
  ...{ folds: new Map<string, boolean>(), chosen: undefined, wanted: '', now: 0, acceptedMs: 0 },
  ...given,
});

const span = (given: Partial<TraceSpan> & Pick<TraceSpan, 'id' | 'kind'>): TraceSpan => ({
  ...{ parent_id: null, name: given.id, step: 0, status: 'completed', started_at: at(0), ended_at: at(1000) },
  ...given,
});

/** A fan-out of so many branches, of which the one at 7 takes longest and the others 100 ms more each. */
const fanOut = (count: number, failed: readonly number[] = []): readonly TraceSpan[] => [
  span({ id: 's0', kind: 'step' }),
  span({ id: 's0.1', kind: 'node', parent_id: 's0', name: 'fetch' }),
  ...Array.from({ length: count }, (_, branch) =>
    span({
      ...{ id: `b${String(branch)}`, kind: 'branch', parent_id: 's0.1', name: 'fetch', branch },
      ended_at: at(branch === 7 ? 17_200 : 100 * (branch + 1)),
      status: failed.includes(branch) ? 'failed' : 'completed',
      ...(failed.includes(branch) && { error: { message: 'no answer' } }),
    }),
  ),
];

const shown = (rows: readonly TraceRow[]): string[] =>
  rows.map((row) => {
    const { name, note } = wordsOf(row, 0);
    return `${'  '.repeat(row.level - 1)}${name}${note === '' ? '' : ` (${note})`}`;
  });

test('a fan-out is one row; opened it shows the slowest first, and the others put together', (t) => {
  const tree = toTree(fanOut(20));
  t.deepEqual(shown(toRows(tree, seen())), ['fetch (20 branches)']);
  const folds = new Map([['s0', true]]);
  t.deepEqual(shown(toRows(tree, seen({ folds }))), [
    'fetch (20 branches)',
    '  fetch 7 (slowest)',
    '  fetch 19',
    '  18 more (median 1.1 s)',
  ]);
  folds.set('s0 rest', true);
  t.is(toRows(tree, seen({ folds })).length, 22);
});

test('branches that failed, and the one that is chosen, are never put together with others', (t) => {
  const tree = toTree(fanOut(100, [3]));
  const rows = shown(toRows(tree, seen({ folds: new Map([['s0', true]]), chosen: 'b12' })));
  t.deepEqual(rows, [
    'fetch (100 branches, 1 failed)',
    '  fetch 7 (slowest)',
    '  fetch 99',
    '  fetch 12',
    '  fetch 3 (no answer)',
    '  96 more (median 5.2 s)',
  ]);
  t.true(
    toRows(tree, seen({ chosen: 'b12' })).some(({ key }) => key === 'b12'),
    'what holds it is open',
  );
});

test('tries say how long after the one before they began, and how often it failed', (t) => {
  const tries = [0, 1000, 4000].map((from, index) =>
    span({
      ...{ id: `t${String(index)}`, kind: 'attempt', parent_id: 's0.1', name: 'sum', attempt: index + 1 },
      ...{ status: 'failed', error: { message: 'no feed' }, started_at: at(from), ended_at: at(from + 500) },
    }),
  );
  const tree = toTree([
    span({ id: 's0', kind: 'step', status: 'failed' }),
    span({ id: 's0.1', kind: 'node', parent_id: 's0', name: 'sum', status: 'failed', error: { message: 'no feed' } }),
    ...tries,
  ]);
  t.deepEqual(shown(toRows(tree, seen())), [
    'sum (failed after 3 tries)',
    '  try 1 (no feed)',
    '  try 2 (after 500 ms, no feed)',
    '  try 3 (after 2.5 s, no feed)',
  ]);
});

test('a wait in the queue, a takeover, a sub-graph and what is not kept have rows of their own', (t) => {
  const tree = toTree([
    span({ id: 't', kind: 'takeover', started_at: at(500), ended_at: at(500) }),
    span({ id: 's0', kind: 'step', omitted: 3, started_at: at(500) }),
    span({ id: 's0.1', kind: 'node', parent_id: 's0', name: 'review' }),
    span({ id: 's0.2', kind: 'step', parent_id: 's0.1', inner_step: 1 }),
    span({ id: 's0.3', kind: 'node', parent_id: 's0.2', name: 'score', replayed: true }),
    span({ id: 's0.4', kind: 'model', parent_id: 's0.3', name: '', usage: { input_tokens: 1000, output_tokens: 204 } }),
  ]);
  t.deepEqual(shown(toRows(tree, seen())), [
    'in the queue',
    'taken over (its worker was lost)',
    'review (sub-graph, 1 step)',
    '  score (replayed)',
    '    model (1,204 tokens)',
    '  3 more are not kept',
  ]);
});

test('a search shows what has the text, with what holds it', (t) => {
  const tree = toTree([...fanOut(20, [3]), span({ id: 's1', kind: 'step', name: 'sum' })]);
  t.deepEqual(shown(toRows(tree, seen({ wanted: 'NO ANSWER' }))), [
    'fetch (20 branches, 1 failed)',
    '  fetch 3 (no answer)',
  ]);
  t.deepEqual(toRows(tree, seen({ wanted: 'nowhere' })), []);
});

test('each row stands one level below its parent, which is open', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(30), fc.boolean())),
      (parents, folded) => {
        const spans = parents.map((parent, index) =>
          span({
            ...{ id: `s${String(index)}`, kind: index % 3 === 0 ? 'node' : 'branch' },
            parent_id: parent >= index ? null : `s${String(parent)}`,
          }),
        );
        const folds = new Map(folded.map(([index, isOpen]) => [`s${String(index)}`, isOpen]));
        const rows = toRows(toTree(spans), seen({ folds }));
        for (const [index, { level, parent }] of rows.entries()) {
          if (parent === undefined) t.is(level, 1);
          else {
            t.true(parent < index && rows[parent]?.isOpen === true);
            t.is(level, (rows[parent]?.level ?? 0) + 1);
          }
        }
        t.is(new Set(rows.map(({ key }) => key)).size, rows.length);
      },
    ),
  );
});
