import test from 'ava';
import { field } from '../state/field.ts';
import { END, START } from './names.ts';
import { isCompiledGraph, StateGraph } from './graph.ts';
import { remoteTool, tool, toolNode } from './tool.ts';

const nothing = (): undefined => undefined;
const draft = (): StateGraph<Record<string, never>> => new StateGraph({}).addNode('a', nothing);

for (const [what, build, fault] of [
  ['without a way in', () => draft().compile(), 'no edge leaves START'],
  [
    'with a node to which no edge leads',
    () => draft().addNode('b', nothing).addEdge(START, 'a').compile(),
    'no edge leads to the node "b"',
  ],
  [
    'with an edge to an unknown node',
    () => draft().addEdge(START, 'a').addEdge('a', 'b').compile(),
    'an edge from "a" leads to the unknown node "b"',
  ],
  [
    'with an edge from an unknown node',
    () => draft().addEdge(START, 'a').addEdge('b', 'a').compile(),
    'an edge leaves the unknown node "b"',
  ],
  [
    'with an edge out of END',
    () => draft().addEdge(START, 'a').addEdge(END, 'a').compile(),
    `an edge leaves the unknown node "${END}"`,
  ],
  [
    'with an edge back to START',
    () => draft().addEdge(START, 'a').addEdge('a', START).compile(),
    `an edge from "a" leads to the unknown node "${START}"`,
  ],
  [
    'with an unknown conditional target',
    () =>
      draft()
        .addEdge(START, 'a')
        .addConditionalEdges('a', () => 'b', ['b'])
        .compile(),
    'an edge from "a" leads to the unknown node "b"',
  ],
  [
    'with a conditional edge from an unknown node',
    () =>
      draft()
        .addEdge(START, 'a')
        .addConditionalEdges('b', () => 'a')
        .compile(),
    'an edge leaves the unknown node "b"',
  ],
  [
    'with a graph that is not compiled',
    () => draft().addNode('b', draft() as never),
    'node "b" is a graph that is not compiled: add graph.compile()',
  ],
  [
    'with a node that is none',
    () => draft().addNode('b', 'a' as never),
    'node "b" is no function, no tool node and no compiled graph',
  ],
  [
    'with a tool without parameters',
    () =>
      draft()
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .addNode('b', toolNode([tool({ name: 'look', description: '' } as never, nothing)]))
        .compile(),
    'the parameters of tool "look" must be a JSON Schema: an object',
  ],
  [
    'with a default that does not fit its field',
    () =>
      new StateGraph({ count: field({ type: 'number', default: 'x' }) })
        .addNode('a', nothing)
        .addEdge(START, 'a')
        .compile(),
    'the default of field "count" must be a number, not string',
  ],
  [
    'with a field of an unknown member',
    () => field({ type: 'number', defualt: 1 } as never),
    'what field is given has defualt, which is none of type, description, schema, check, default, required, callers, reducer',
  ],
  [
    'with a check that is a function',
    () => field({ type: 'number', check: nothing } as never),
    'the check of a field must be a schema of a validation library, as zod, not function',
  ],
  [
    'with a field of nothing',
    () => (field as unknown as () => unknown)(),
    'what field is given must be an object, not undefined',
  ],
  [
    'with a field of the name of a type',
    () => field('string' as never),
    'what field is given must be an object, not string',
  ],
  ['with a field of a class', () => field(String as never), 'what field is given must be an object, not function'],
  ['with a field of a list', () => field(['string'] as never), 'what field is given must be an object, not array'],
  [
    'with a reducer that is no function',
    () => field({ type: 'number', reducer: 'add' } as never),
    'the reducer of a field must be a function, not string',
  ],
  [
    'with a tool of an unknown member',
    () => tool({ name: 'look', description: '', parameters: {}, replayy: 'once' } as never, nothing),
    'tool "look" has replayy, which is none of name, description, parameters, schema, replay',
  ],
  [
    'with a node whose name is a number',
    () => draft().addNode(5 as never, nothing),
    'the name of a node must be a text, not number',
  ],
  [
    'with a field that is not made by field()',
    () => new StateGraph({ x: { type: 'string' } } as never),
    'field "x" must be made by field({ type, default, … })',
  ],
  [
    'with a conditional edge without a route',
    () => draft().addConditionalEdges('a', undefined as never),
    'the conditional edge from "a" must have a function that returns names of nodes, not undefined',
  ],
  [
    'of nothing',
    () => new (StateGraph as unknown as new () => unknown)(),
    'what StateGraph is given must be an object, not undefined',
  ],
  [
    'with an edge from nothing',
    () => draft().addEdge(undefined as never, 'a'),
    'an edge must leave a node by its name, or several by a list of names, not undefined',
  ],
  [
    'with an edge from a list of functions',
    () => draft().addEdge(['a', nothing] as never, 'a'),
    'the list of nodes that an edge leaves must be one of names: [1] is function',
  ],
  [
    'with an edge to nothing',
    () => draft().addEdge('a', undefined as never),
    'the edge from "a" must lead to one node by its name, not undefined',
  ],
  [
    'with an edge to several nodes',
    () => draft().addEdge(START, ['a'] as never),
    'the edge from START must lead to one node by its name, not array',
  ],
  [
    'with a conditional edge from a list',
    () => draft().addConditionalEdges(['a'] as never, () => 'a'),
    'a conditional edge must leave a node by its name, not array',
  ],
  [
    'with a policy of null',
    () => draft().addNode('b', nothing, null as never),
    'the policy of node "b" must be an object, not null',
  ],
  [
    'with a tool of nothing',
    () => (tool as unknown as () => unknown)(),
    'the declaration of a tool must be an object, not undefined',
  ],
  [
    'with a tool whose function comes first',
    () => tool(nothing as never, nothing),
    'the declaration of a tool must be an object, not function',
  ],
  [
    'with a tool without a name',
    () => tool({ description: '', parameters: {} } as never, nothing),
    'the name of a tool must be a text, not undefined',
  ],
  [
    'with a remote tool of nothing',
    () => remoteTool(undefined as never),
    'the declaration of a tool must be an object, not undefined',
  ],
  [
    'with a remote tool that has a function',
    () => remoteTool({ name: 'look', description: '', parameters: {}, run: nothing } as never),
    'remote tool "look" has run, which is none of name, description, parameters',
  ],
  [
    'with a tool whose parameters are null',
    () =>
      draft()
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .addNode('b', toolNode([tool({ name: 'look', description: '', parameters: null } as never, nothing)]))
        .compile(),
    'the parameters of tool "look" must be a JSON Schema: an object',
  ],
  [
    'with a map of targets',
    () => draft().addConditionalEdges(START, () => 'a', { next: 'a' } as never),
    'the targets of the conditional edge from START must be a list of the names that its function returns, not object',
  ],
  [
    'with a target that is no name',
    () => draft().addConditionalEdges('a', () => 'a', ['a', undefined] as never),
    'the targets of the conditional edge from "a" must be names of nodes: [1] is undefined',
  ],
  [
    'with a tool node of one tool without a list',
    () => toolNode(remoteTool({ name: 'look', description: '', parameters: {} }) as never),
    'what toolNode is given must be a list of tools, not object',
  ],
  [
    'with a tool node of a promise',
    () => toolNode(Promise.resolve([]) as never),
    'what toolNode is given must be a list of tools, not promise',
  ],
  [
    'with a tool node of a function',
    () => toolNode([nothing] as never),
    'what toolNode is given must be tools made by tool() or remoteTool(): [0] is function',
  ],
  [
    'with tools that are no list',
    () => draft().addNode('b', { tools: {} } as never),
    'the tools of node "b" must be a list of tools, not object',
  ],
  [
    'with a tool whose function is none',
    () => tool({ name: 'look', description: '', parameters: {} }, {} as never),
    'tool "look" must have a function after its declaration, not object',
  ],
  [
    'with a tool whose function is undefined',
    () => tool({ name: 'look', description: '', parameters: {} }, undefined as never),
    'tool "look" must have a function after its declaration, not undefined',
  ],
  [
    'with a tool whose function is in its declaration',
    () => tool({ name: 'look', description: '', parameters: {}, run: nothing } as never, undefined as never),
    'tool "look" has run in its declaration: give the function after it',
  ],
  ['with a node added twice', () => draft().addNode('a', nothing), 'node "a" is added twice'],
  ['with a node named as START', () => draft().addNode(START, nothing), `"${START}" cannot be the name of a node`],
  [
    'with a default that a function gives',
    () =>
      new StateGraph({ x: field<unknown>({ type: 'any', default: () => [] }) })
        .addNode('a', nothing)
        .addEdge(START, 'a')
        .compile(),
    'the default of field "x" must be the value itself, not a function that gives it',
  ],
  [
    'with a default of which JSON keeps nothing',
    () =>
      new StateGraph({ x: field<unknown>({ type: 'object', default: { seen: new Set() } }) })
        .addNode('a', nothing)
        .addEdge(START, 'a')
        .compile(),
    'the default of field "x" holds a Set at default.seen, of which JSON keeps nothing',
  ],
  [
    'with a default that is no JSON',
    () =>
      new StateGraph({ x: field<unknown>({ type: 'any', default: [1n] }) })
        .addNode('a', nothing)
        .addEdge(START, 'a')
        .compile(),
    'the default of field "x" holds a value that is not JSON: default[0] is a bigint',
  ],
  [
    'with a field that has a name of the service',
    () => new StateGraph({ context: field<string>({ type: 'string' }) }),
    'field "context" is the service\'s own name',
  ],
  [
    'with a field by the name of an update',
    () => new StateGraph({ removed_from_context: field<string>({ type: 'string' }) }),
    'field "removed_from_context" is the service\'s own name',
  ],
] as const) {
  test(`a graph ${what} is refused`, (t) => {
    t.throws(build, { message: fault });
  });
}

test('a tool may be declared by another one, with a function in place of its own', (t) => {
  const base = tool({ name: 'look', description: '', parameters: {}, replay: 'once' }, () => 1);
  const other = tool({ ...base, name: 'look_again' }, () => 2);
  t.like(other, { name: 'look_again', replay: 'once' });
  t.is(other.run?.({}, {} as never), 2);
});

test('a tool of a declaration alone, which JavaScript lets pass, is a remote one', (t) => {
  const declare = tool as unknown as (declaration: object) => ReturnType<typeof tool>;
  t.is(declare({ name: 'look', description: '', parameters: {} }).run, undefined);
});

test('a conditional edge without targets may lead anywhere', (t) => {
  const graph = draft()
    .addNode('b', nothing)
    .addConditionalEdges(START, () => 'b')
    .compile();
  t.true(isCompiledGraph(graph));
  t.false(isCompiledGraph(draft()));
  t.false(isCompiledGraph(null));
});

test('what is added after compile() is in the next graph, and not in the one that was checked', (t) => {
  const builder = draft().addEdge(START, 'a');
  const before = builder.compile();
  builder
    .addNode('b', nothing, { timeoutMs: 5 })
    .addNode('c', nothing)
    .addEdge('a', 'b')
    .addEdge(['a', 'b'], 'c')
    .addConditionalEdges('b', () => END, [END]);
  const sizesOf = ({ nodes, policies, edges, joins, conditional }: typeof before): readonly number[] => [
    ...[nodes.size, policies.size, edges.size],
    ...[joins.length, conditional.size],
  ];
  t.deepEqual(sizesOf(before), [1, 0, 1, 0, 0]);
  t.deepEqual(sizesOf(builder.compile()), [3, 1, 2, 1, 1]);
});

test('a compiled graph is drawn with its kinds of node and edge', (t) => {
  const search = tool({ name: 'search', description: '', parameters: { type: 'object' } }, () => 1);
  const choose = remoteTool({ name: 'choose', description: '', parameters: { type: 'object' } });
  const { drawing, tools } = draft()
    .addNode('say "hi"', toolNode([search, choose]))
    .addEdge(START, 'a')
    .addConditionalEdges('a', () => END, ['say "hi"', END])
    .addEdge('say "hi"', 'a')
    .compile();
  t.deepEqual(drawing.nodes, [
    { id: START, type: 'start' },
    { id: 'a', type: 'node' },
    { id: 'say "hi"', type: 'tools' },
    { id: END, type: 'end' },
  ]);
  t.deepEqual(drawing.edges, [
    { source: START, target: 'a', conditional: false },
    { source: 'say "hi"', target: 'a', conditional: false },
    { source: 'a', target: 'say "hi"', conditional: true },
    { source: 'a', target: END, conditional: true },
  ]);
  t.is(
    drawing.mermaid,
    `graph TD\n  n0["${START}"]\n  n1["a"]\n  n2["say #quot;hi#quot;"]\n  n3["${END}"]\n  n0 --> n1\n  n2 --> n1\n  n1 -.-> n2\n  n1 -.-> n3`,
  );
  t.deepEqual(
    tools.map(({ name }) => name),
    ['search', 'choose'],
  );
});
