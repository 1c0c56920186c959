import { AIMessage, HumanMessage, RemoveMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { textOf } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';
import type { LangGraph } from './compiled.ts';

type State = typeof MessagesAnnotation.State;

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

const textsOf = (messages: readonly BaseMessage[]): string[] => messages.map(({ text }) => text);
const write = (text: string) => () => ({ messages: [new AIMessage({ id: text, content: text })] });

/** What nodes saw when LangGraph ran the graph by itself, and when the service did. */
async function seenBy(
  graph: LangGraph & { invoke: (input: { messages: BaseMessage[] }) => Promise<unknown> },
  seen: string[][],
): Promise<{ native: string[][]; ours: string[][]; thread: string[] }> {
  await graph.invoke({ messages: [new HumanMessage({ id: 'hi', content: 'hi' })] });
  const native = seen.splice(0);
  const { state } = await walk(fromLangGraph(graph), { context: [user('hi')] });
  return { native, ours: seen.splice(0), thread: state.context.map(textOf) };
}

test('nodes see messages of the step before in the order of LangGraph, also what a branch took along', async (t) => {
  const seen: string[][] = [];
  const see =
    (name: string) =>
    ({ messages }: State) => {
      seen.push([name, ...textsOf(messages)]);
      return {};
    };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('z', write('from z'))
    .addNode('a', write('from a'))
    .addNode('w', see('w'))
    .addNode('end', see('end'), { defer: true })
    .addEdge(START, 'z')
    .addEdge(START, 'a')
    .addConditionalEdges('a', (state) => [new Send('w', state)], ['w'])
    .addEdge(['z', 'a'], 'end')
    .compile();
  const { native, ours, thread } = await seenBy(graph, seen);
  t.deepEqual(thread, ['hi', 'from a', 'from z']);
  t.deepEqual(native.toSorted(), [
    ['end', 'hi', 'from a', 'from z'],
    ['w', 'hi', 'from a'],
  ]);
  t.deepEqual(ours.toSorted(), native.toSorted());
});

test('branches of several nodes leave their messages in the order in which they were sent', async (t) => {
  const seen: string[][] = [];
  const work = ({ text }: { text: string }) => ({ messages: [new AIMessage({ id: text, content: text })] });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('plan', () => ({}))
    .addNode('x', work)
    .addNode('y', work)
    .addNode('end', ({ messages }) => {
      seen.push(textsOf(messages));
      return {};
    })
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', () => ['x0', 'y1', 'x2'].map((text) => new Send(text.slice(0, 1), { text })), [
      'x',
      'y',
    ])
    .addEdge('x', 'end')
    .addEdge('y', 'end')
    .compile();
  const { native, ours } = await seenBy(graph, seen);
  t.deepEqual(native, [['hi', 'x0', 'y1', 'x2']]);
  t.deepEqual(ours, native);
});

test('a message that leaves the thread leaves what a branch took along, and nothing else does', async (t) => {
  const seen: string[][] = [];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('plan', () => ({}))
    .addNode('w', ({ messages }: State) => {
      seen.push(textsOf(messages));
      return {};
    })
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', ({ messages }) => [new Send('w', { messages: messages.slice(0, 2) })], ['w'])
    .compile();
  const agent = fromLangGraph(graph);
  const context = ['One', 'Two', 'Three'].map(user);
  const before = stored(await walk(agent, { context, maxSteps: 1 }));
  t.deepEqual(before.next, ['w']);
  for (const gone of [0, 1, 2]) {
    const state = { ...before.state, context: before.state.context.toSpliced(gone, 1) };
    await walk(agent, { from: { ...before, state } });
  }
  t.deepEqual(seen, [['Two'], ['One'], ['One', 'Two']]);
});

test('of the results that share one message of the thread, one is replaced or removed alone', async (t) => {
  const results = ['c1', 'c2'].map((id) => ({
    ...{ type: 'tool_result', call_id: id, output: `of ${id}`, status: 'completed', is_error: false },
  }));
  const calls = ['c1', 'c2'].map((id) => ({ type: 'tool_call', id, name: 'find', args: {}, tool_type: 'function' }));
  const context = [
    user('Go'),
    { ...user(''), message_id: 'calls', role: 'assistant' as const, content: calls },
    { ...user(''), message_id: 'm', role: 'tool' as const, content: results },
  ];
  const outputs = async (change: BaseMessage): Promise<unknown[]> => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('change', () => ({ messages: [change] }))
      .addEdge(START, 'change')
      .compile();
    const { state } = await walk(fromLangGraph(graph), { context });
    return (state.context.find(({ message_id: id }) => id === 'm')?.content ?? []).map(({ output }) => output);
  };
  const redacted = { content: 'redacted', tool_call_id: 'c2' };
  t.deepEqual(await outputs(new ToolMessage({ id: 'm:1', ...redacted })), ['of c1', 'redacted']);
  t.deepEqual(await outputs(new ToolMessage({ id: 'm', ...redacted })), ['redacted', 'of c2']);
  t.deepEqual(await outputs(new RemoveMessage({ id: 'm:1' })), ['of c1']);
  t.deepEqual(await outputs(new RemoveMessage({ id: 'm' })), ['of c2']);
});
