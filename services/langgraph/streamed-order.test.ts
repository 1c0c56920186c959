import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { Command, interrupt, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { textOf, type Block, type CompiledGraph, type Message } from '@agent-workflow/graph';
import { user, walk, type Walked, type WalkOptions } from '@agent-workflow/graph/testing';
import test, { type ExecutionContext } from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

const add = tool(({ a, b }: { a: number; b: number }) => String(a + b), {
  ...{ name: 'add', description: 'Adds.' },
  schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
});

/** An agent that adds twice before it answers. */
const adding = () =>
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- what authors use who have not moved to `createAgent`
  createReactAgent({
    llm: fakeModel()
      .respond(new AIMessage({ content: 'Let me add.', tool_calls: [callOf('c1', 1)] }))
      .respond(new AIMessage({ content: '', tool_calls: [callOf('c2', 2), callOf('c3', 3)] }))
      .respond(new AIMessage('It is done.')),
    tools: [add],
  });

const callOf = (id: string, b: number) => ({ type: 'tool_call' as const, id, name: 'add', args: { a: 1, b } });

interface Chunk {
  readonly id: string;
  readonly data: string | Block;
}

const chunksOf = ({ events }: Walked): readonly Chunk[] =>
  events.flatMap((event) => (event.event === 'messages_chunk' ? [{ id: event.message_id, data: event.data }] : []));

const run = async (graph: CompiledGraph, options: WalkOptions = {}): Promise<Walked> =>
  JSON.parse(JSON.stringify(await walk(graph, { context: [user('Add')], ...options }))) as Walked;

/** Checks that what was published of each new message is all of it, in the order of the messages. */
function holdsOrder(t: ExecutionContext, walked: Walked, made: readonly Message[]): void {
  const chunks = chunksOf(walked);
  t.deepEqual(
    [...new Set(chunks.map(({ id }) => id))],
    made.map(({ message_id: id }) => id),
  );
  for (const message of made) {
    const own = chunks.filter(({ id }) => id === message.message_id).map(({ data }) => data);
    t.is(own.filter((data) => typeof data === 'string').join(''), textOf(message));
    t.deepEqual(
      own.filter((data) => typeof data !== 'string'),
      message.content.filter(({ type }) => type !== 'text'),
    );
  }
}

const kinds = (messages: readonly Message[]): string[] => messages.map(({ role }) => role);
const answers = ['assistant', 'tool', 'assistant', 'tool', 'tool', 'assistant'];

test('the calls, results and answers of a createReactAgent that is a node are published as they are made', async (t) => {
  const graph = new StateGraph(MessagesAnnotation).addNode('agent', adding()).addEdge(START, 'agent').compile();
  const walked = await run(fromLangGraph(graph));
  const made = walked.state.context.slice(1);
  t.deepEqual(kinds(made), answers);
  holdsOrder(t, walked, made);
  const again = await run(fromLangGraph(graph), { from: walked, context: [user('Thanks')] }).catch(() => undefined);
  t.is(again, undefined, 'the fake model has no answer left');
});

test('so they are in a sub-graph of a sub-graph', async (t) => {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('agent', adding())
    .addNode('note', () => ({ messages: [new AIMessage('Noted.')] }))
    .addEdge(START, 'agent')
    .addEdge('agent', 'note')
    .compile();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('inner', inner)
    .addNode('end', () => ({ messages: [new AIMessage('The end.')] }))
    .addEdge(START, 'inner')
    .addEdge('inner', 'end')
    .compile();
  const walked = await run(fromLangGraph(graph));
  const made = walked.state.context.slice(1);
  t.deepEqual(kinds(made), [...answers, 'assistant', 'assistant']);
  holdsOrder(t, walked, made);
});

test('agents beside each other are published as they are made, each in its own order', async (t) => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('one', adding())
    .addNode('two', adding())
    .addEdge(START, 'one')
    .addConditionalEdges(START, ({ messages }) => [new Send('two', { messages })], ['two'])
    .compile();
  const walked = await run(fromLangGraph(graph));
  const chunks = chunksOf(walked);
  const made = walked.state.context.slice(1);
  t.deepEqual(kinds(made).toSorted(), [...answers, ...answers].toSorted());
  const first = (id: string | undefined): number => chunks.findIndex((chunk) => chunk.id === id);
  for (const half of [made.slice(0, 6), made.slice(6)]) {
    const places = half.map(({ message_id: id }) => first(id));
    t.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
    t.false(places.includes(-1));
  }
});

test('the messages of a node without a model, also in a command, are published when they are made', async (t) => {
  const sub = new StateGraph(MessagesAnnotation)
    .addNode('first', () => ({ messages: [new AIMessage('first')] }))
    .addNode('second', () => new Command({ update: { messages: [new AIMessage('second')] }, goto: 'third' }), {
      ends: ['third'],
    })
    .addNode('third', () => ({ messages: new AIMessage('third') }))
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .compile();
  const graph = new StateGraph(MessagesAnnotation).addNode('sub', sub).addEdge(START, 'sub').compile();
  const walked = await run(fromLangGraph(graph));
  const made = walked.state.context.slice(1);
  t.deepEqual(made.map(textOf), ['first', 'second', 'third']);
  holdsOrder(t, walked, made);
});

test('of an agent that the code of a node calls only what the node returns becomes a message, and the text of its models', async (t) => {
  const agent = adding();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('caller', async ({ messages }) => ({
      messages: [(await agent.invoke({ messages })).messages.at(-1) ?? ''],
    }))
    .addEdge(START, 'caller')
    .compile();
  const walked = await run(fromLangGraph(graph));
  t.deepEqual(kinds(walked.state.context.slice(1)), ['assistant']);
  t.false(chunksOf(walked).some(({ data }) => typeof data !== 'string' && data.type === 'tool_result'));
});

test('a sub-graph that asks goes on with its messages, and each is in the context once', async (t) => {
  const sub = new StateGraph(MessagesAnnotation)
    .addNode('agent', adding())
    .addNode('ask', () => ({ messages: [new AIMessage(`You said ${String(interrupt('Well?'))}`)] }))
    .addNode('again', () => ({ messages: [new AIMessage(`And ${String(interrupt('And?'))}`)] }))
    .addEdge(START, 'agent')
    .addEdge('agent', 'ask')
    .addEdge('ask', 'again')
    .compile();
  const graph = fromLangGraph(new StateGraph(MessagesAnnotation).addNode('sub', sub).addEdge(START, 'sub').compile());
  const first = await run(graph);
  const ids = [...new Set(chunksOf(first).map(({ id }) => id))];
  t.is(ids.length, answers.length);
  t.deepEqual(kinds(first.state.context), ['user']);
  let last = first;
  for (const answer of ['yes', 'no']) last = await run(graph, { from: last, context: [], answer });
  const made = last.state.context.slice(1);
  t.deepEqual(kinds(made), [...answers, 'assistant', 'assistant']);
  t.deepEqual(made.map(({ message_id: id }) => id).slice(0, 6), ids);
});

test('models that give their answers one id are published as a message each, and the graph keeps the last', async (t) => {
  // These fakes number their answers with calls, each for itself.
  const asking = (id: string) => {
    const model = fakeModel().respondWithTools([callOf(id, 1)]);
    return async ({ messages }: typeof MessagesAnnotation.State) => ({ messages: [await model.invoke(messages)] });
  };
  const sub = new StateGraph(MessagesAnnotation)
    .addNode('one', asking('c1'))
    .addNode('two', asking('c2'))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .compile();
  const graph = new StateGraph(MessagesAnnotation).addNode('sub', sub).addEdge(START, 'sub').compile();
  const walked = await run(fromLangGraph(graph));
  const [kept, ...others] = walked.state.context.slice(1);
  t.deepEqual(others, []);
  const published = [...Map.groupBy(chunksOf(walked), ({ id }) => id)];
  t.deepEqual(
    published.map(([, chunks]) => chunks.map(({ data }) => (typeof data === 'string' ? 'text' : data['id']))),
    [
      ['text', 'c1'],
      ['text', 'c2'],
    ],
  );
  t.is(kept?.message_id, published[1]?.[0]);
});

test('two messages without ids of one node stay two, and a sub-graph that leads to a node beside it is published first', async (t) => {
  const sub = new StateGraph(MessagesAnnotation)
    .addNode('say', () => ({ messages: [new AIMessage('one'), new AIMessage('two')] }))
    .addNode('lead', () => new Command({ goto: 'after', graph: Command.PARENT }))
    .addEdge(START, 'say')
    .addEdge('say', 'lead')
    .compile();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('sub', sub, { ends: ['after'] })
    .addNode('after', () => ({ messages: [new AIMessage('three')] }))
    .addEdge(START, 'sub')
    .compile();
  const walked = await run(fromLangGraph(graph));
  const texts = [...Map.groupBy(chunksOf(walked), ({ id }) => id).values()].map((own) =>
    own.map(({ data }) => JSON.stringify(data)).join(),
  );
  t.deepEqual(texts, ['"one"', '"two"', '"three"']);
  const made = walked.state.context.slice(1).map(textOf);
  t.is(made.at(-1), 'three');
});

test('a message of the same text as the answer of a model beside it is a message of its own', async (t) => {
  const model = new FakeStreamingChatModel({ sleep: 0, chunks: [new AIMessageChunk({ content: 'Yes.' })] });
  const sub = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('echo', () => ({ messages: [new AIMessage('Yes.')] }))
    .addEdge(START, 'model')
    .addEdge('model', 'echo')
    .compile();
  const graph = new StateGraph(MessagesAnnotation).addNode('sub', sub).addEdge(START, 'sub').compile();
  const walked = await run(fromLangGraph(graph));
  const made = walked.state.context.slice(1);
  t.deepEqual(made.map(textOf), ['Yes.', 'Yes.']);
  holdsOrder(t, walked, made);
});

test('text of several models in one super-step is streamed, each as a message of its own', async (t) => {
  const models = ['one', 'two'].map(
    (word) =>
      new FakeStreamingChatModel({
        sleep: 0,
        chunks: [`${word}, `, `${word}!`].map((content) => new AIMessageChunk({ content })),
      }),
  );
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({
      messages: await Promise.all(models.map(async (model) => model.invoke(messages))),
    }))
    .addEdge(START, 'agent')
    .compile();
  const walked = await run(fromLangGraph(graph));
  const made = walked.state.context.slice(1);
  t.deepEqual(made.map(textOf), ['one, one!', 'two, two!']);
  holdsOrder(t, walked, made);
});
