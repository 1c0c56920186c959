import test from 'ava';
import {
  distanceMetrics as metricsOfService,
  memoryTypes as typesOfService,
  retrievalStrategies,
} from '@agent-workflow/protos/lists';
import { fakeMemory, walk } from '../testing.ts';
import { END, field, send, START, StateGraph, type CompiledGraph } from '../index.ts';
import { distanceMetrics, memoryStrategies, memoryTypes } from './memory-lists.ts';

const own = { n: field<number>({ type: 'integer', default: 2 }) };
type Own = typeof own;
const draft = () => new StateGraph(own).addNode('a', () => undefined).addNode('b', () => undefined);

test('an edge to what is no node is found by the types, and when the graph is compiled', (t) => {
  const typo = draft().addEdge(START, 'a').addEdge('a', 'tpyo').addEdge('b', END);
  // @ts-expect-error: no node is named "tpyo"
  t.throws(() => typo.compile(), { message: 'an edge from "a" leads to the unknown node "tpyo"' });
  const join = draft().addEdge(START, 'a').addEdge(['a', 'c'], 'b');
  // @ts-expect-error: no node is named "c"
  t.throws(() => join.compile(), { message: 'an edge leaves the unknown node "c"' });
});

test('a route outside of its targets is found by the types, and by a walk, also in a sub-graph', async (t) => {
  const graph = draft()
    .addEdge(START, 'a')
    // @ts-expect-error: "b" is none of the targets
    .addConditionalEdges('a', ({ n }) => (n > 1 ? 'b' : END), ['a', END])
    .addEdge(START, 'b')
    .compile();
  const fault = 'leads to "b", which is none of its targets: a, __end__';
  await t.throwsAsync(walk(graph), { message: `the edge from "a" failed: the route from "a" ${fault}` });
  const around = new StateGraph(own).addNode('sub', graph).addEdge(START, 'sub').compile();
  await t.throwsAsync(walk(around), { message: new RegExp(`the route from "a" ${fault}`) });
  const sending = draft()
    .addConditionalEdges(START, ({ n }) => [send('b', n)], ['a'])
    .addEdge('a', 'b')
    .compile();
  await t.throwsAsync(walk(sending), { message: /the route from START leads to "b", which is none of its targets: a/ });
});

test('routes within their targets, without targets, and graphs whose names are not known before they run are let be', async (t) => {
  const add = (builder: StateGraph<Own>): CompiledGraph =>
    builder
      .addNode('x', () => undefined)
      .addEdge(START, 'x')
      .addConditionalEdges('x', ({ n }) => (n > 1 ? END : 'x'), ['x', END])
      .compile();
  t.deepEqual((await walk(add(new StateGraph(own)))).steps, [['x']]);
  let later = new StateGraph<Own>(own);
  for (const name of ['a', 'b']) later = later.addNode(name, () => undefined);
  t.deepEqual((await walk(later.addEdge(START, 'a').addEdge('a', 'b').compile())).steps, [['a'], ['b']]);
  const next: (state: object) => string = () => 'b';
  const free = draft().addEdge(START, 'a').addConditionalEdges('a', next).compile();
  t.deepEqual((await walk(free)).steps, [['a'], ['b']]);
});

test('a strategy or type of memories that there is not is found by the types, and by a walk', async (t) => {
  const known: unknown = [memoryStrategies, memoryTypes, distanceMetrics];
  t.deepEqual(known, [retrievalStrategies, typesOfService, metricsOfService]);
  const searching = (strategy: string): CompiledGraph =>
    new StateGraph({})
      .addNode('ask', async (_state, { memory }) => {
        await memory.search('tea', {
          // @ts-expect-error: a text may be no strategy
          strategy,
        });
      })
      .addEdge(START, 'ask')
      .compile();
  const message =
    'node "ask" failed: strategy must be one of similarity, temporal, relevance, hybrid, graph_traversal, not "hybird"';
  await t.throwsAsync(walk(searching('hybird')), { message });
  await t.throwsAsync(walk(searching('hybird'), { run: { memory: fakeMemory() } }), { message });
  t.is((await walk(searching('hybrid'))).ended, 'done');
  const memory = fakeMemory();
  await t.throwsAsync(memory.store({ content: 'tea', memoryType: 'semantics' as never }), {
    message: /memoryType must be one of/,
  });
});
