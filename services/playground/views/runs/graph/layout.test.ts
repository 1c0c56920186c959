import test from 'ava';
import fc from 'fast-check';
import { toLayers } from './layers.ts';
import { toLayout, type PlacedNode } from './layout.ts';
import { readGraph, type GraphShape } from './shape.ts';

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 14 });
const anyGraph: fc.Arbitrary<GraphShape> = names.chain((ids) =>
  fc
    .array(fc.record({ source: fc.constantFrom(...ids), target: fc.constantFrom(...ids), conditional: fc.boolean() }), {
      maxLength: 40,
    })
    .map((edges) =>
      readGraph({
        nodes: ids.map((id, index) => ({ id, type: index === 0 ? 'start' : index === 1 ? 'end' : 'node' })),
        edges,
      }),
    ),
);

const overlap = (a: PlacedNode, b: PlacedNode): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

test('any graph is drawn whole: each node in the box and clear of the others, each edge once', (t) => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const layout = toLayout(graph);
      if (!layout) return t.fail();
      t.deepEqual(
        layout.nodes.map(({ id }) => id),
        graph.nodes.map(({ id }) => id),
      );
      t.is(layout.edges.length, graph.edges.length);
      for (const [index, node] of layout.nodes.entries()) {
        t.true(node.x >= 0 && node.x + node.width <= layout.width && node.y >= 0);
        t.true(node.y + node.height <= layout.height);
        t.false(layout.nodes.slice(index + 1).some((other) => overlap(node, other)));
      }
      for (const { path, head } of layout.edges) t.notRegex(path + head, /NaN|Infinity|undefined/);
      t.deepEqual(toLayout(graph), layout);
    }),
    { numRuns: 200 },
  );
});

test('edges lead to a lower layer, except as few as close a cycle', (t) => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const { layers, down, back } = toLayers(graph);
      t.is(down.length + back.length, graph.edges.length);
      const layer = (id: string): number => layers.get(id) as number;
      for (const { source, target } of down) t.true(layer(source) < layer(target));
    }),
    { numRuns: 300 },
  );
});

test('a loop of an agent and its tools stands between start and end, and the way back is the one to the agent', (t) => {
  const nodes = ['__start__', 'agent', 'tools', '__end__'].map((id) => ({ id, type: id.replaceAll('_', '') }));
  const edge = (source: string, target: string, conditional = false): object => ({ source, target, conditional });
  const graph = readGraph({
    nodes,
    edges: [
      edge('tools', 'agent'),
      edge('__start__', 'agent'),
      edge('agent', 'tools', true),
      edge('agent', '__end__', true),
    ],
  });
  const { layers, back } = toLayers(graph);
  t.deepEqual(Object.fromEntries(layers), { __start__: 0, agent: 1, tools: 2, __end__: 3 });
  t.deepEqual(
    back.map(({ source, target }) => [source, target]),
    [['tools', 'agent']],
  );
});

test('of edges between the same nodes one is drawn, dashed if no other always leads there', (t) => {
  const nodes = [{ id: 'a' }, { id: 'b' }];
  const edges = [true, false, true].map((conditional) => ({ source: 'a', target: 'b', conditional }));
  t.deepEqual(readGraph({ nodes, edges }).edges, [{ source: 'a', target: 'b', conditional: false }]);
  t.true(readGraph({ nodes, edges: [edges[0], edges[2]] }).edges[0]?.conditional);
  t.deepEqual(readGraph({ nodes, edges: [{ source: 'a', target: 'gone' }, null, 'text'] }).edges, []);
});

test('a graph that nobody could follow is not drawn', (t) => {
  const nodes = Array.from({ length: 151 }, (_, index) => ({ id: String(index) }));
  t.is(toLayout(readGraph({ nodes, edges: [] })), undefined);
});
