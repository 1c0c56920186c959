import { Annotation, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { user, walk, type Walked } from '@agent-workflow/graph/testing';
import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';
import type { Kept } from './kept.ts';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  last: Annotation<string>({ reducer: (_before, now) => now, default: () => '' }),
});

const keptOf = ({ state }: Walked): Kept => state.values['__langgraph'] as Kept;
const givenBy = (walked: Walked): StepTasks | undefined => keptOf(walked).given;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value ?? null));

/** Of what is kept beside the state, with its keys. */
const mostBytes = 128 * 1024 + 100;

/** The steps of a graph that has `count` branches. Without `work`, the first of them. */
async function walked(count: number, work?: () => Partial<typeof State.State>): Promise<readonly [Walked, Walked]> {
  const graph = fromLangGraph(
    new StateGraph(State)
      .addNode('plan', () => ({}))
      .addNode('work', () => work?.() ?? {})
      .addEdge(START, 'plan')
      .addConditionalEdges('plan', () => Array.from({ length: count }, (_, item) => new Send('work', { item })), [
        'work',
      ])
      .compile(),
  );
  const first = await walk(graph, { context: [user('Go')], maxSteps: 1 });
  if (!work) return [first, first];
  return [first, await walk(graph, { from: JSON.parse(JSON.stringify(first)) as Walked, maxSteps: 1 })];
}

test('nothing is kept of the tasks of a step whose changes say what its one node returned', async (t) => {
  const plain = fromLangGraph(
    new StateGraph(State)
      .addNode('one', () => ({ messages: [new AIMessage('Hello')], last: 'one' }))
      .addNode('two', (state) => ({ last: state.last }))
      .addEdge(START, 'one')
      .addEdge('one', 'two')
      .compile(),
  );
  let last = await walk(plain, { context: [user('Go')], maxSteps: 0 });
  for (const node of ['one', 'two']) {
    t.deepEqual([keptOf(last).next, givenBy(last), keptOf(last).tasks], [[node], undefined, undefined]);
    last = await walk(plain, { from: last, maxSteps: 1 });
  }
  t.deepEqual([givenBy(last), Object.keys(last.state.values).includes('__tasks')], [undefined, false]);
});

test('what is kept of the tasks of a step is bounded, whatever they return', async (t) => {
  const many = 2000;
  const [planned, done] = await walked(many, () => ({ notes: ['x'.repeat(400)] }));
  const [next, ran] = [givenBy(planned), givenBy(done)];
  t.log(`${many} branches: ${bytesOf(next)} and ${bytesOf(ran)} bytes`);
  t.true(bytesOf(next) < mostBytes);
  t.true(bytesOf(ran) < mostBytes);
  t.deepEqual([next?.next.length, ran?.ran.length, ran?.left], [many, many, { notes: 'work' }]);
  t.deepEqual(ran?.ran.at(-1), { node: 'work', index: many - 1 });
});

test('of more branches than can be kept nothing is, neither which come next nor what they returned', async (t) => {
  const [planned] = await walked(5000);
  t.deepEqual([givenBy(planned), keptOf(planned).tasks], [undefined, undefined]);
});

test('a large value that all branches return is kept of none, and a small one of each', async (t) => {
  const [, small] = await walked(200, () => ({ last: 'same' }));
  t.is(givenBy(small)?.ran.filter(({ same }) => same?.includes('last')).length, 200);
  const [, large] = await walked(200, () => ({ last: 'x'.repeat(1000) }));
  t.deepEqual(givenBy(large)?.left, { last: 'work' });
  t.deepEqual(givenBy(large)?.ran.at(-1), { node: 'work', index: 199 });
});
