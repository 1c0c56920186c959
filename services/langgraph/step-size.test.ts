import { AIMessage, RemoveMessage, type BaseMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import {
  Annotation,
  interrupt,
  MessagesAnnotation,
  REMOVE_ALL_MESSAGES,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { textOf, type CompiledGraph, type Message } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

/** The bytes that a commit of the step between two walks writes: changed fields, new messages, what is removed, and what goes on. */
function writtenBytes(before: Walked, after: Walked): number {
  const known = new Map(before.state.context.map((message) => [message.message_id, JSON.stringify(message)]));
  const there = new Set(after.state.context.map(({ message_id: id }) => id));
  const parts = [
    ...Object.entries(after.state.values).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before.state.values[name]),
    ),
    ...after.state.context.filter((message) => known.get(message.message_id) !== JSON.stringify(message)),
    ...[...known.keys()].filter((id) => !there.has(id)),
    after.continuation ?? {},
    after.next,
  ];
  return parts.reduce<number>((sum, part) => sum + Buffer.byteLength(JSON.stringify(part)), 0);
}

/** Walks to the end, step by step, and gives the bytes and the milliseconds of each. */
async function measure(graph: CompiledGraph, context: readonly Message[]): Promise<{ bytes: number[]; ms: number[] }> {
  let last = await walk(graph, { context, maxSteps: 0 });
  const [bytes, ms]: [number[], number[]] = [[], []];
  while (last.next.length > 0 && !last.waiting) {
    const start = performance.now();
    const next = await walk(graph, { from: last, maxSteps: 1 });
    ms.push(performance.now() - start);
    bytes.push(writtenBytes(last, next));
    last = next;
  }
  return { bytes, ms };
}

const history = (count: number): Message[] =>
  Array.from({ length: count }, (_, index) => ({
    ...user(`Message ${index} of a thread that has some of them already`),
    ...(index % 2 === 1 && { role: 'assistant' as const }),
    message_id: `m${String(index).padStart(4, '0')}`,
  }));

const add = tool(({ a }: { a: number }) => String(a + 1), {
  ...{ name: 'add', description: 'Adds one.' },
  schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
});

/** Calls its tool three times, each call by a `Send` with the whole state, as prebuilt agents do it. */
const agent = fromLangGraph(
  new StateGraph(MessagesAnnotation)
    .addNode('agent', ({ messages }) => {
      const calls = messages.filter(({ type }) => type === 'tool').length;
      const call = { name: 'add', args: { a: calls }, id: `call_${calls}` };
      const answer = new AIMessage({ id: `a${calls}`, content: 'Let me see', tool_calls: calls < 3 ? [call] : [] });
      return { messages: [answer] };
    })
    .addNode('tools', new ToolNode([add]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => {
      const [call] = (state.messages.at(-1) as AIMessage).tool_calls ?? [];
      return call ? [new Send('tools', { ...state, lg_tool_call: call })] : [];
    })
    .addEdge('tools', 'agent')
    .compile(),
);

test('the bytes of a step do not grow with the thread, also where a Send takes the whole state along', async (t) => {
  await measure(agent, history(10));
  const all = [];
  for (const count of [10, 100, 1000]) {
    const { bytes, ms } = await measure(agent, history(count));
    all.push(bytes);
    const median = ms.toSorted((one, other) => one - other)[Math.floor(ms.length / 2)] ?? 0;
    t.log(`${count} messages: ${Math.max(...bytes)} bytes at most, ${median.toFixed(1)} ms a step`);
  }
  const [few = [], some = [], many = []] = all;
  t.is(few.length, 7);
  for (const [index, bytes] of few.entries()) {
    t.true((some[index] ?? Infinity) / bytes < 1.2, `step ${index}: ${bytes} and ${some[index]} bytes`);
    t.true((many[index] ?? Infinity) / bytes < 1.2, `step ${index}: ${bytes} and ${many[index]} bytes`);
  }
});

test('a sub-graph that asks keeps the messages of the thread by their places, and goes on with all of them', async (t) => {
  const seen: number[] = [];
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('say', () => ({ messages: [new AIMessage({ id: 'said', content: 'I would like to know' })] }))
    .addNode('ask', ({ messages }) => {
      seen.push(messages.length);
      return { messages: [new AIMessage({ id: 'got', content: `Got ${String(interrupt('Which?'))}` })] };
    })
    .addEdge(START, 'say')
    .addEdge('say', 'ask')
    .compile();
  const graph = fromLangGraph(new StateGraph(MessagesAnnotation).addNode('sub', inner).addEdge(START, 'sub').compile());
  const sizes = [];
  for (const count of [10, 1000]) {
    const before = await walk(graph, { context: history(count), maxSteps: 0 });
    const asked = stored(await walk(graph, { from: before, maxSteps: 1 }));
    sizes.push(writtenBytes(before, asked));
    const done = await walk(graph, { from: asked, answer: 'this' });
    t.deepEqual(done.state.context.slice(-2).map(textOf), ['I would like to know', 'Got this']);
    t.deepEqual(seen.splice(0), [count + 1, count + 1]);
  }
  const [few = 0, many = 0] = sizes;
  t.true(many / few < 1.2, `${few} and ${many} bytes`);
});

test('the order that a graph gives to its messages is kept, where the thread has them in another', async (t) => {
  const seen: string[][] = [];
  const note = ({ messages }: { messages: BaseMessage[] }): string[] => messages.map(({ text }) => text);
  const graph = fromLangGraph(
    new StateGraph(MessagesAnnotation)
      .addNode('sum', ({ messages }) =>
        messages.length < 4
          ? {}
          : {
              messages: [
                new RemoveMessage({ id: REMOVE_ALL_MESSAGES }),
                new AIMessage({ id: 'summary', content: 'What was' }),
                ...messages.slice(-2),
              ],
            },
      )
      .addNode('agent', (state) => {
        seen.push(note(state));
        return { messages: [new AIMessage(`Answer ${seen.length}`)] };
      })
      .addEdge(START, 'sum')
      .addEdge('sum', 'agent')
      .compile(),
  );
  const walked = stored(await walk(graph, { context: [user('One'), user('Two'), user('Three'), user('Four')] }));
  await walk(graph, { from: walked, context: [user('Five')] });
  t.deepEqual(seen, [
    ['What was', 'Three', 'Four'],
    ['What was', 'Answer 1', 'Five'],
  ]);
});

test('a channel that holds objects of LangChain gives them back, but not what a caller writes in their form', async (t) => {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, draft: Annotation<unknown>, gone: Annotation<unknown> });
  const seen: unknown[] = [];
  const graph = fromLangGraph(
    new StateGraph(State)
      .addNode('write', ({ draft, gone }) => {
        seen.push(draft, gone);
        return { draft: new AIMessage({ id: 'd', content: 'Draft' }), gone: undefined };
      })
      .addNode('read', ({ draft, gone }) => {
        seen.push(draft instanceof AIMessage && draft.text, gone);
        return {};
      })
      .addEdge(START, 'write')
      .addEdge('write', 'read')
      .compile(),
  );
  const form = {
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', 'AIMessage'],
    kwargs: { content: 'x' },
  };
  const empty = await walk(graph, { maxSteps: 0 });
  const values = { ...empty.state.values, draft: form, gone: null };
  const from = { ...empty, next: [], state: { ...empty.state, values } };
  const first = stored(await walk(graph, { from, context: [user('Go')], maxSteps: 1 }));
  await walk(graph, { from: first });
  t.deepEqual(seen, [JSON.stringify(form), null, 'Draft', undefined]);
});
