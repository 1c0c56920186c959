import { MessagesAnnotation, Annotation, START, StateGraph } from '@langchain/langgraph';
import type { BaseMessage } from '@langchain/core/messages';
import { textOf } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';
import { plainData } from './plain-data.ts';

const loadable = [
  { lc: 1, type: 'constructor', id: ['zzz', 'A'], kwargs: {} },
  {
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'prompts', 'prompt', 'PromptTemplate'],
    kwargs: { template: 'x' },
  },
  { lc: 2, type: 'constructor', id: ['Set'], args: [[1]] },
  { lc: 1, type: 'secret', id: ['PATH'] },
];

for (const data of loadable)
  test(`a message with ${JSON.stringify(data)} reaches the graph as data, and the thread goes on`, async (t) => {
    const seen: BaseMessage[] = [];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('agent', ({ messages }) => {
        seen.push(...messages);
        return { messages: [{ role: 'assistant', content: 'ok' }] };
      })
      .addEdge(START, 'agent')
      .compile();
    const agent = fromLangGraph(graph);
    const message = { ...user('x'), content: [{ type: 'data', data }] };
    const first = await walk(agent, { context: [message] });
    t.deepEqual(seen[0]?.content, [{ type: 'data', data: JSON.stringify(data) }] as never);
    const second = await walk(agent, {
      from: JSON.parse(JSON.stringify(first)) as typeof first,
      context: [user('again')],
    });
    t.deepEqual(second.state.context.slice(-2).map(textOf), ['again', 'ok']);
  });

test('data without a key that LangChain reads stays as it is', (t) => {
  const data = { a: [1, null, { b: 'lc' }], c: { d: true } };
  t.deepEqual(plainData(data), data);
});

test('a value that the serializer cannot write fails its super-step, and the thread stays as it was', async (t) => {
  const state = Annotation.Root({ ...MessagesAnnotation.spec, v: Annotation<unknown>() });
  const graph = new StateGraph(state)
    .addNode('bad', () => ({ v: 10n }))
    .addEdge(START, 'bad')
    .compile();
  await t.throwsAsync(walk(fromLangGraph(graph), { context: [user('x')] }), { message: /cannot serialize/ });
});

test('what is no compiled graph, and options that there are not, are refused', (t) => {
  t.throws(() => fromLangGraph({} as never), { message: /call compile\(\)/ });
  t.throws(() => fromLangGraph(new StateGraph(MessagesAnnotation) as never), { message: /call compile\(\)/ });
  for (const [given, what] of [
    [undefined, 'undefined'],
    [null, 'null'],
    ['graph', 'string'],
  ] as const)
    t.throws(() => fromLangGraph(given as never), {
      message: `fromLangGraph takes a graph that LangGraph.js has compiled, not ${what}`,
    });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('a', () => ({}))
    .addEdge(START, 'a')
    .compile();
  t.throws(() => fromLangGraph(graph, { stream: [] } as never), { message: /no option "stream"/ });
});
