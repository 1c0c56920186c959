import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { StateGraph } from '../build/graph.ts';
import { START } from '../build/names.ts';
import { tool, toolNode } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { user, walk, type Walked } from '../testing.ts';
import { interrupt } from './interrupt.ts';

// Inputs that other engines got wrong, by the public reports that are named.

const fields = {
  done: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
const parameters = { type: 'object' };

const idOf = ({ interrupts }: Walked, value: string): string =>
  interrupts.find((open) => open.value === value)?.id ?? '';

// langgraph#6533, langgraph#6626
test('tools of one node that ask at times of their own get their own answers, whichever is answered first', async (t) => {
  const asking = (name: string, turns: number[]): ReturnType<typeof tool> =>
    tool({ name, description: '', parameters }, async () => {
      await delay(turns.shift() ?? 0);
      return `${name} ${String(interrupt(name))}`;
    });
  for (const order of [['a', 'b'], ['b', 'a'], ['a b']]) {
    const tools = toolNode([asking('a', [5, 0, 0]), asking('b', [0, 5, 5])]);
    const graph = new StateGraph({}).addNode('tools', tools).addEdge(START, 'tools').compile();
    const content = ['a', 'b'].map((name) => ({ type: 'tool_call', id: `call-${name}`, name, args: {} }));
    let walked = await walk(graph, { context: [{ ...user(''), role: 'assistant', content }] });
    t.is(new Set(walked.interrupts.map(({ id }) => id)).size, 2);
    for (const names of order) {
      const answers = Object.fromEntries(names.split(' ').map((name) => [idOf(walked, name), `to ${name}`]));
      walked = await walk(graph, { from: walked, answers });
    }
    const outputs = walked.state.context.slice(1).map(({ content: [block] }) => String(block?.['output']));
    t.deepEqual(outputs.toSorted(), ['a to a', 'b to b']);
  }
});

// langgraph#5952
test('a question that has its answer is not asked again while another node of its step has one open', async (t) => {
  const begun: string[] = [];
  const builder = new StateGraph(fields);
  for (const name of ['one', 'two'])
    builder
      .addNode(name, () => {
        begun.push(name);
        return { done: [interrupt(`${name} 0`), interrupt(`${name} 1`)] };
      })
      .addEdge(START, name);
  const graph = builder.compile();
  let walked = await walk(graph);
  const open: unknown[] = [];
  for (const value of ['two 0', 'two 1', 'one 0', 'one 1']) {
    open.push(walked.interrupts.map((one) => one.value));
    walked = await walk(graph, { from: walked, answers: { [idOf(walked, value)]: value } });
  }
  t.deepEqual(open, [['one 0', 'two 0'], ['one 0', 'two 1'], ['one 0'], ['one 1']]);
  t.deepEqual(walked.state.values['done'], ['one 0', 'one 1', 'two 0', 'two 1']);
  t.deepEqual(begun, ['one', 'two', 'two', 'two', 'one', 'one']);
});

// langgraph#8579, langgraph#2870
test('a bare answer is for one open question, also where both stand in one sub-graph, and no answer is given twice', async (t) => {
  const inner = new StateGraph(fields)
    .addNode('left', () => ({ done: [`left=${String(interrupt('left'))}`] }))
    .addNode('right', () => ({ done: [`right=${String(interrupt('right'))}`] }))
    .addNode('last', () => ({ done: [`last=${String(interrupt('last'))}`] }))
    .addEdge(START, 'left')
    .addEdge(START, 'right')
    .addEdge(['left', 'right'], 'last')
    .compile();
  const graph = new StateGraph(fields).addNode('sub', inner).addEdge(START, 'sub').compile();
  const both = await walk(graph);
  await t.throwsAsync(walk(graph, { from: both, answer: 'yes' }), { message: /^answer is for a walk with one open/ });
  const right = await walk(graph, { from: both, answers: { [idOf(both, 'right')]: 'r' } });
  const left = await walk(graph, { from: right, answer: 'l' });
  t.deepEqual(
    left.interrupts.map(({ value }) => value),
    ['last'],
  );
  const { state } = await walk(graph, { from: left, answer: 'x' });
  t.deepEqual(state.values['done'], ['left=l', 'right=r', 'last=x']);
});

// temporalio/features#145
test('a sleep that is of no length when its node begins again is over', async (t) => {
  const lengths = [10, 0, 0, 5];
  const graph = new StateGraph(fields)
    .addNode('n', async (_state, { sleep }) => {
      await sleep(lengths.shift() ?? 0);
      await sleep(lengths.shift() ?? 0);
      return { done: ['slept'] };
    })
    .addEdge(START, 'n')
    .compile();
  const { state } = await walk(graph, { time: 0 });
  t.deepEqual([state.values['done'], lengths], [['slept'], [5]]);
});
