import test from 'ava';
import fc from 'fast-check';
import { field } from '../state/field.ts';
import { END, START } from './names.ts';
import { StateGraph } from './graph.ts';
import { walk } from '../testing.ts';

const fields = {
  seen: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
type Graph = StateGraph<typeof fields>;
const build = (): Graph => new StateGraph(fields);
const seenBy = (name: string) => (): { seen: string[] } => ({ seen: [name] });

test('a join waits for all of its nodes, also when they finish in different steps', async (t) => {
  const graph = build()
    .addNode('fast', seenBy('fast'))
    .addNode('slow', seenBy('slow'))
    .addNode('slower', seenBy('slower'))
    .addNode('last', seenBy('last'))
    .addEdge(START, 'fast')
    .addEdge(START, 'slow')
    .addEdge('slow', 'slower')
    .addEdge(['fast', 'slower'], 'last')
    .compile();
  const halfway = await walk(graph, { maxSteps: 1 });
  t.deepEqual(halfway.continuation, { joins: { '["fast","slower","last"]': ['fast'] } });
  const { steps, continuation } = await walk(graph);
  t.deepEqual(steps, [['fast', 'slow'], ['slower'], ['last']]);
  t.is(continuation, undefined);
});

test('a join in a cycle waits for all of its nodes each time', async (t) => {
  const graph = build()
    .addNode('a', seenBy('a'))
    .addNode('b', seenBy('b'))
    .addNode('c', seenBy('c'))
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge(['a', 'b'], 'c')
    .addConditionalEdges('c', ({ seen }) => (seen.length < 6 ? ['a', 'b'] : END), ['a', 'b', END])
    .compile();
  const { steps } = await walk(graph);
  t.deepEqual(steps, [['a', 'b'], ['c'], ['a', 'b'], ['c']]);
});

test('a node that finishes twice counts once for a join', async (t) => {
  const graph = build()
    .addNode('a', seenBy('a'))
    .addNode('b', seenBy('b'))
    .addNode('c', seenBy('c'))
    .addEdge(START, 'a')
    .addConditionalEdges('a', ({ seen }) => (seen.length < 3 ? 'a' : 'b'), ['a', 'b'])
    .addEdge(['a', 'b', 'a'], 'c')
    .compile();
  t.deepEqual((await walk(graph)).steps, [['a'], ['a'], ['a'], ['b'], ['c']]);
});

test('a graph ends although a join still waits for a branch that is not taken', async (t) => {
  const graph = build()
    .addNode('a', seenBy('a'))
    .addNode('b', seenBy('b'))
    .addNode('c', seenBy('c'))
    .addConditionalEdges(START, () => 'a', ['a', 'b'])
    .addEdge(['a', 'b'], 'c')
    .compile();
  const { steps, next, continuation } = await walk(graph);
  t.deepEqual([steps, next, continuation], [[['a']], [], undefined]);
});

for (const [what, build_, fault] of [
  ['of no node', () => build().addEdge([], 'a'), 'an edge to "a" leaves no node'],
  ['of START', () => build().addEdge([START, 'a'], 'b'), 'an edge to "b" waits for START, which is no node'],
  [
    'of an unknown node',
    () => build().addNode('a', seenBy('a')).addEdge(START, 'a').addEdge(['a', 'b'], 'a').compile(),
    'an edge leaves the unknown node "b"',
  ],
  [
    'to an unknown node',
    () => build().addNode('a', seenBy('a')).addEdge(START, 'a').addEdge(['a'], 'b').compile(),
    'an edge from "a" leads to the unknown node "b"',
  ],
] as const) {
  test(`a join ${what} is refused`, (t) => {
    t.throws(build_, { message: fault });
  });
}

test('a join is drawn as an edge from each of its nodes', (t) => {
  const graph = build()
    .addNode('a', seenBy('a'))
    .addNode('b', seenBy('b'))
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge(['a', 'b'], END)
    .compile();
  t.deepEqual(graph.drawing.edges.slice(2), [
    { source: 'a', target: END, conditional: false },
    { source: 'b', target: END, conditional: false },
  ]);
});

/** A graph whose nodes lead only forward, with joins, and how many turns each node takes. */
const shapes = fc.integer({ min: 3, max: 7 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    edges: fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 12 }),
    joins: fc.array(fc.tuple(fc.uniqueArray(fc.nat(size - 2), { minLength: 2, maxLength: 3 }), fc.nat(size - 1)), {
      maxLength: 3,
    }),
    delays: fc.tuple(...[0, 1].map(() => fc.array(fc.nat(5), { minLength: size, maxLength: size }))),
  }),
);
type Shape = typeof shapes extends fc.Arbitrary<infer S> ? S : never;

const forward = ({ edges, joins }: Shape): { edges: [number, number][]; joins: (readonly [number[], number])[] } => ({
  edges: edges.filter(([from, to]) => from < to),
  joins: joins.filter(([from, to]) => from.every((node) => node < to)),
});

/** Every node is entered from START when nothing else leads to it, so that no graph is refused. */
function graphOf(shape: Shape, delays: readonly number[]): ReturnType<Graph['compile']> {
  const { edges, joins } = forward(shape);
  const graph = build();
  for (let node = 0; node < shape.size; node++) {
    graph.addNode(String(node), async () => {
      for (let turn = delays[node] ?? 0; turn > 0; turn--) await Promise.resolve();
      return { seen: [String(node)] };
    });
    if (!edges.some(([, to]) => to === node) && !joins.some(([, to]) => to === node))
      graph.addEdge(START, String(node));
  }
  for (const [from, to] of edges) graph.addEdge(String(from), String(to));
  for (const [from, to] of joins) graph.addEdge(from.map(String), String(to));
  return graph.compile();
}

test('the end of a graph does not depend on how long its nodes take, and joins wait for all of their nodes', async (t) => {
  await fc.assert(
    fc.asyncProperty(shapes, async (shape) => {
      const [first, second] = await Promise.all(shape.delays.map((delays) => walk(graphOf(shape, delays))));
      t.deepEqual(first?.steps, second?.steps);
      t.deepEqual(first?.state.values, second?.state.values);
      const seen = first?.state.values['seen'] as string[];
      const { edges, joins } = forward(shape);
      for (const [from, to] of joins) {
        if (edges.some(([, target]) => target === to) || joins.filter(([, target]) => target === to).length > 1)
          continue;
        const at = seen.indexOf(String(to));
        if (at >= 0) t.true(from.every((node) => seen.slice(0, at).includes(String(node))));
        else t.false(from.every((node) => seen.includes(String(node))));
      }
    }),
    { numRuns: 200 },
  );
});
