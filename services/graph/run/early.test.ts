import test from 'ava';
import { START } from '../build/names.ts';
import { StateGraph } from '../build/graph.ts';
import { toolNode } from '../build/tool.ts';
import type { Continuation } from './continuation.ts';
import { mayBeginEarly } from './early.ts';
import type { EngineState } from '../state/state.ts';

const noState: EngineState = { values: {}, context: [] };
const nothing = (): undefined => undefined;
const speculative = { speculative: true };
const graph = new StateGraph({})
  .addNode('a', nothing, speculative)
  .addNode('b', nothing, speculative)
  .addNode('c', nothing, { speculative: false })
  .addEdge(START, 'a')
  .addEdge('a', 'b')
  .addEdge('b', 'c')
  .compile();

for (const [nodes, continuation, expected] of [
  [['a'], undefined, true],
  [['a', 'b'], undefined, true],
  [['a', 'c'], undefined, false],
  [['c'], undefined, false],
  [['a'], { joins: { j: ['b'] } }, true],
  [['a'], { branches: { a: [{ index: 0, input: 1 }] } }, false],
  [['a'], { joins: {}, sleeping: [{ node: 'a', answers: [], until: 0 }] }, false],
] as const satisfies readonly (readonly [readonly string[], Continuation | undefined, boolean])[])
  test(`a step of ${nodes.join(' and ')} with ${continuation ? JSON.stringify(continuation) : 'no continuation'} may begin early: ${String(expected)}`, (t) => {
    t.is(mayBeginEarly(graph, { nodes, continuation, state: noState, isRemote: () => false }), expected);
  });

test('only a function can be speculative', (t) => {
  const message = 'node "n" cannot be speculative: only a function can, no tool node and no sub-graph';
  t.throws(() => new StateGraph({}).addNode('n', graph, speculative), { message });
  t.throws(() => new StateGraph({}).addNode('n', toolNode([]), speculative), { message });
});

test('speculative is true or false', (t) => {
  t.throws(() => new StateGraph({}).addNode('n', nothing, { speculative: 'yes' as never }), {
    message: 'speculative of node "n" is "yes": it must be true or false',
  });
});
