import { Annotation, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

const State = Annotation.Root({ ...MessagesAnnotation.spec, topic: Annotation<string> });

test('a graph is drawn with its own edges, and with its sub-graphs in place of their nodes', (t) => {
  const inner = new StateGraph(State)
    .addNode('read', () => ({}))
    .addNode('write', () => ({}))
    .addEdge(START, 'read')
    .addEdge('read', 'write')
    .compile();
  const { drawing } = fromLangGraph(
    new StateGraph(State)
      .addNode('sub', inner)
      .addNode('last', () => ({}))
      .addEdge(START, 'sub')
      .addEdge('sub', 'last')
      .compile(),
  );
  t.deepEqual(drawing.nodes, [
    { id: '__start__', type: 'start' },
    { id: 'sub', type: 'graph' },
    { id: 'last', type: 'node' },
    { id: '__end__', type: 'end' },
  ]);
  t.deepEqual(drawing.edges, [
    { source: '__start__', target: 'sub', conditional: false },
    { source: 'sub', target: 'last', conditional: false },
    { source: 'last', target: '__end__', conditional: false },
  ]);
  t.true(drawing.mermaid.includes('"last"'));
  t.deepEqual(
    drawing.xray?.map(({ nodes }) => nodes.map(({ id }) => id)),
    [['__start__', 'sub:read', 'sub:write', 'last', '__end__']],
  );
  t.deepEqual(drawing.subgraphs, { sub: { fields: ['messages', 'topic'] } });
});

type Builder = StateGraph<typeof State, typeof State.State, typeof State.Update, string>;
const build = (): Builder => new StateGraph(State);

test('a drawing that is too large to be registered leaves its sub-graphs out', (t) => {
  const builder = build();
  for (let index = 0; index < 40; index += 1) {
    const inner = build();
    for (let node = 0; node < 120; node += 1) inner.addNode(`${'n'.repeat(40)}${node}`, () => ({}));
    for (let node = 0; node < 120; node += 1) inner.addEdge(START, `${'n'.repeat(40)}${node}`);
    builder.addNode(`sub${index}`, inner.compile()).addEdge(START, `sub${index}`);
  }
  const { drawing } = fromLangGraph(builder.compile());
  t.deepEqual(Object.keys(drawing), ['nodes', 'edges', 'mermaid']);
  t.is(drawing.nodes.length, 42);
});
