import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { textOf } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

const texts = ({ state }: Walked): string[] => state.context.map(textOf);

const chunksOf = (...words: string[]) => words.map((content) => new AIMessageChunk({ content }));

test('text is streamed as the model gives it, and the whole message has the same id and content', async (t) => {
  const model = new FakeStreamingChatModel({ sleep: 0, chunks: chunksOf('Good ', 'day ', 'to you') });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge(START, 'agent')
    .compile();
  const chunks: { messageId: string; chunk: unknown }[] = [];
  const walked = await walk(fromLangGraph(graph), {
    context: [user('Hello')],
    onChunk: (_node, chunk) => chunks.push(chunk),
  });
  t.deepEqual(
    chunks.map(({ chunk }) => chunk),
    ['Good ', 'day ', 'to you'],
  );
  t.deepEqual(texts(walked), ['Hello', 'Good day to you']);
  t.deepEqual([...new Set(chunks.map(({ messageId }) => messageId))], [walked.state.context[1]?.message_id]);
});

test('text of many runs at once is streamed to each of them', async (t) => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => {
      const word = messages.at(-1)?.text ?? '';
      const model = new FakeStreamingChatModel({ sleep: 0, chunks: chunksOf(`${word}, `, `${word}!`) });
      return { messages: [await model.invoke(messages)] };
    })
    .addEdge(START, 'agent')
    .compile();
  const agent = fromLangGraph(graph);
  const words = Array.from({ length: 30 }, (_, index) => `word ${index}`);
  const streamed = await Promise.all(
    words.map(async (word) => {
      const chunks: unknown[] = [];
      await walk(agent, { context: [user(word)], onChunk: (_node, { chunk }) => chunks.push(chunk) });
      return chunks;
    }),
  );
  t.deepEqual(
    streamed,
    words.map((word) => [`${word}, `, `${word}!`]),
  );
});

test('text that a node makes into a message of its own is not there twice', async (t) => {
  const model = new FakeStreamingChatModel({ sleep: 0, chunks: chunksOf('Good ', 'day') });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [new AIMessage((await model.invoke(messages)).text)] }))
    .addEdge(START, 'agent')
    .compile();
  const agent = fromLangGraph(graph);
  const ids = new Set<string>();
  const onChunk = (_node: string, { messageId }: { readonly messageId: string }): unknown => ids.add(messageId);
  const first = stored(await walk(agent, { context: [user('Hello')], onChunk }));
  t.deepEqual([...ids], [first.state.context[1]?.message_id]);
  t.deepEqual(texts(first), ['Hello', 'Good day']);
  const second = await walk(agent, { from: first, context: [user('Again')] });
  t.deepEqual(texts(second), ['Hello', 'Good day', 'Again', 'Good day']);
});

test('text of a model whose answer the graph does not keep leaves the context', async (t) => {
  const judge = new FakeStreamingChatModel({ sleep: 0, chunks: chunksOf('harm', 'less') });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('judge', async ({ messages }) => {
      const { text } = await judge.invoke(messages);
      return { messages: [new AIMessage(`It is ${text}.`)] };
    })
    .addEdge(START, 'judge')
    .compile();
  const walked = stored(await walk(fromLangGraph(graph), { context: [user('Hello')] }));
  t.deepEqual(texts(walked), ['Hello', 'It is harmless.']);
  const chunks: unknown[] = [];
  const silent = fromLangGraph(graph, { streamedNodes: ['another'] });
  await walk(silent, { context: [user('Hello')], onChunk: (_node, { chunk }) => chunks.push(chunk) });
  t.deepEqual(chunks, []);
});

test('the calls of a streamed message are streamed after its text', async (t) => {
  const call = { type: 'tool_call', id: 'c1', name: 'find', args: { word: 'bee' } } as const;
  const last = new AIMessageChunk({ content: 'see.', tool_calls: [call] });
  const model = new FakeStreamingChatModel({ sleep: 0, chunks: [...chunksOf('Let me '), last] });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => {
      const { id = '', text } = await model.invoke(messages);
      return { messages: [new AIMessage({ id, content: text, tool_calls: [call] })] };
    })
    .addEdge(START, 'agent')
    .compile();
  const chunks: unknown[] = [];
  const walked = await walk(fromLangGraph(graph), {
    context: [user('Find')],
    onChunk: (_node, { chunk }) => chunks.push(chunk),
  });
  const block = { ...call, tool_type: 'function' };
  t.deepEqual(chunks, ['Let me ', 'see.', block]);
  t.deepEqual(walked.state.context[1]?.content, [{ type: 'text', text: 'Let me see.' }, block]);
});
