import { AIMessage } from '@langchain/core/messages';
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { textOf } from '@agent-workflow/graph';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** As the service keeps a thread: every part of it becomes JSON between two steps. */
const stored = (walked: Walked): Walked => JSON.parse(JSON.stringify(walked)) as Walked;

const texts = ({ state }: Walked): string[] => state.context.map(textOf);
const Items = Annotation.Root({
  ...MessagesAnnotation.spec,
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  count: Annotation<number>({ reducer: (_before, now) => now, default: () => 0 }),
});

test('a question of a node is one of the run, and its answer lets the node go on', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('ask', () => {
      const answer: unknown = interrupt({ question: 'Send it?' });
      return { messages: [new AIMessage(`The answer is ${JSON.stringify(answer)}.`)] };
    })
    .addEdge(START, 'ask')
    .compile();
  const agent = fromLangGraph(graph);
  const asked = stored(await walk(agent, { context: [user('Send')] }));
  t.true(asked.waiting);
  t.deepEqual(
    asked.interrupts.map(({ value }) => value),
    [{ question: 'Send it?' }],
  );
  const [{ id } = { id: '' }] = asked.interrupts;
  const answered = await walk(agent, { from: asked, answers: { [id]: { ok: true } } });
  t.is(texts(answered).at(-1), 'The answer is {"ok":true}.');
  t.false(answered.waiting);
});

test('questions of one super-step are open at once, and what ran beside them does not run again', async (t) => {
  const ran: string[] = [];
  const graph = new StateGraph(Items)
    .addNode('one', () => ({ items: [`one ${String(interrupt('One?'))}`] }))
    .addNode('two', () => ({ items: [`two ${String(interrupt('Two?'))}`] }))
    .addNode('busy', () => {
      ran.push('busy');
      return { items: ['busy'] };
    })
    .addNode('end', ({ items }) => ({ messages: [new AIMessage(items.toSorted().join(', '))] }))
    .addEdge(START, 'one')
    .addEdge(START, 'two')
    .addEdge(START, 'busy')
    .addEdge(['one', 'two', 'busy'], 'end')
    .compile();
  const agent = fromLangGraph(graph);
  const asked = stored(await walk(agent, { context: [user('Go')] }));
  t.deepEqual(asked.interrupts.map(({ value }) => value).toSorted(), ['One?', 'Two?']);
  const idOf = (question: string): string => asked.interrupts.find(({ value }) => value === question)?.id ?? '';
  const half = stored(await walk(agent, { from: asked, answers: { [idOf('Two?')]: 2 } }));
  t.deepEqual(
    half.interrupts.map(({ value }) => value),
    ['One?'],
  );
  const done = await walk(agent, { from: half, answers: { [idOf('One?')]: 1 } });
  t.is(texts(done).at(-1), 'busy, one 1, two 2');
  t.deepEqual(ran, ['busy']);
});

test('a node that asks twice asks its second question after the first answer', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('ask', () => ({
      messages: [new AIMessage(`${String(interrupt('First?'))} ${String(interrupt(undefined))}`)],
    }))
    .addEdge(START, 'ask')
    .compile();
  const agent = fromLangGraph(graph);
  let walked = stored(await walk(agent, { context: [user('Go')] }));
  for (const answer of ['yes', null]) {
    const [{ id } = { id: '' }] = walked.interrupts;
    walked = stored(await walk(agent, { from: walked, answers: { [id]: answer } }));
  }
  t.is(texts(walked).at(-1), 'yes null');
});

test('a new message to a thread that waits is a new input, and the question is gone', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('agent', ({ messages }) =>
      messages.at(-1)?.text === 'Ask' ? { items: [String(interrupt('Well?'))] } : { messages: [new AIMessage('Done')] },
    )
    .addEdge(START, 'agent')
    .compile();
  const agent = fromLangGraph(graph);
  const asked = stored(await walk(agent, { context: [user('Ask')] }));
  t.true(asked.waiting);
  const next = await walk(agent, { from: { ...asked, next: [] }, context: [user('Never mind')] });
  t.deepEqual([texts(next), next.waiting], [['Ask', 'Never mind', 'Done'], false]);
});

test('of two nodes that asked and were answered, only the one that asks again has an open question', async (t) => {
  const graph = new StateGraph(Items)
    .addNode('twice', () => ({ items: [`${String(interrupt('First?'))} ${String(interrupt('Second?'))}`] }))
    .addNode('once', () => ({ items: [String(interrupt('Only?'))] }))
    .addNode('end', ({ items }) => ({ messages: [new AIMessage(items.toSorted().join(', '))] }))
    .addEdge(START, 'twice')
    .addEdge(START, 'once')
    .addEdge(['twice', 'once'], 'end')
    .compile();
  const agent = fromLangGraph(graph);
  const asked = stored(await walk(agent, { context: [user('Go')] }));
  const answers = Object.fromEntries(asked.interrupts.map(({ id, value }) => [id, `to ${String(value)}`]));
  const again = stored(await walk(agent, { from: asked, answers }));
  t.deepEqual(
    again.interrupts.map(({ value }) => value),
    ['Second?'],
  );
  const [{ id } = { id: '' }] = again.interrupts;
  const done = await walk(agent, { from: again, answers: { [id]: 'to Second?' } });
  t.is(texts(done).at(-1), 'to First? to Second?, to Only?');
});
