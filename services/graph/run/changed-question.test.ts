import test from 'ava';
import type { Message } from '@agent-workflow/protos/message';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import { START } from '../build/names.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { user, walk, type Walked } from '../testing.ts';
import type { InterruptOptions } from '../build/context.ts';
import { interrupt } from './interrupt.ts';

const fields = {
  urgent: field({ type: 'boolean', default: false }),
  mail: field({ type: 'string', default: '' }),
  done: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
type Node = NodeFunction<typeof fields>;

const one = (node: Node, policy = {}): CompiledGraph =>
  new StateGraph(fields).addNode('n', node, policy).addEdge(START, 'n').compile();

const idsOf = ({ interrupts }: Walked): readonly string[] => interrupts.map(({ id }) => id);
const valuesOf = ({ interrupts }: Walked): readonly unknown[] => interrupts.map(({ value }) => value);

/** Answers the only open question. */
const answer = (graph: CompiledGraph, from: Walked, given: unknown): Promise<Walked> =>
  walk(graph, { from, answer: given });

// cases.md, "Questions and sleeps"
test('a yes to "Send the mail?" approves the mail, though a node beside it has made another question urgent meanwhile', async (t) => {
  const deleted: unknown[] = [];
  const graph = new StateGraph(fields)
    .addNode('decide', ({ urgent }) => {
      if (urgent) deleted.push(interrupt('Delete the account?'));
      return { mail: String(interrupt('Send the mail?')) };
    })
    .addNode('classify', () => ({ urgent: true }))
    .addEdge(START, 'decide')
    .addEdge(START, 'classify')
    .compile();
  const asked = await walk(graph);
  t.deepEqual(valuesOf(asked), ['Send the mail?']);
  const done = await answer(graph, asked, 'yes');
  t.deepEqual([done.state.values['mail'], done.state.values['urgent'], deleted], ['yes', true, []]);
});

test('a question that differs from the one answered in its place is asked anew under the next number, and the answer reaches nobody', async (t) => {
  let question = 'Send the mail?';
  const graph = one(() => ({ done: [interrupt(question)] }));
  const asked = await walk(graph);
  question = 'Delete the account?';
  const again = await answer(graph, asked, 'yes');
  t.deepEqual([idsOf(asked), idsOf(again)], [['run/1/n/0'], ['run/1/n/1']]);
  t.deepEqual(again.interrupts, [{ id: 'run/1/n/1', node: 'n', value: 'Delete the account?' }]);
  await t.throwsAsync(walk(graph, { from: again, answers: { 'run/1/n/0': 'yes' } }), {
    message: 'answers: no open question has the id "run/1/n/0"; open are "run/1/n/1"',
  });
  t.deepEqual((await answer(graph, again, 'no')).state.values['done'], ['no']);
});

test('a question that differs twice in one place fails the run, which names the node and the ids and no text, is not tried again and cannot be caught', async (t) => {
  let question = 0;
  const catching: Node = () => {
    try {
      return { done: [interrupt(`secret ${String(question++)}`)] };
    } catch {
      return { done: ['caught'] };
    }
  };
  const graph = one(catching, { retry: { maxAttempts: 3, initialDelayMs: 0 } });
  const again = await answer(graph, await walk(graph), 'yes');
  await t.throwsAsync(answer(graph, again, 'yes'), {
    message:
      'node "n" asked a third question in the place of the questions "run/1/n/0" and "run/1/n/1": ask the same each time that the node begins, or give interrupt() a key',
  });
  t.is(question, 3);
});

test('what was asked after a question that changed is asked again, under numbers of its own', async (t) => {
  let first = 'Which account?';
  const graph = one(() => ({ done: [interrupt(first), interrupt('Delete it?')] }));
  const account = await walk(graph);
  const second = await answer(graph, account, 'a');
  first = 'Which user?';
  const changed = await answer(graph, second, 'yes');
  t.deepEqual([idsOf(changed), valuesOf(changed)], [['run/1/n/2'], ['Which user?']]);
  const third = await answer(graph, changed, 'u');
  t.deepEqual([idsOf(third), valuesOf(third)], [['run/1/n/3'], ['Delete it?']]);
  t.deepEqual((await answer(graph, third, 'no')).state.values['done'], ['u', 'no']);
});

test('equal questions in a loop are answered in their order', async (t) => {
  const graph = one(() => {
    const done: unknown[] = [];
    for (let given; given !== 'enough'; done.push(given)) given = interrupt('Next?');
    return { done };
  });
  let walked = await walk(graph);
  for (const given of ['a', 'b', 'enough']) walked = await answer(graph, walked, given);
  t.deepEqual(walked.state.values['done'], ['a', 'b', 'enough']);
});

test('members of a question in another order are the same question', async (t) => {
  let turn = 0;
  const graph = one(() => ({
    done: [interrupt(turn++ === 0 ? { a: { x: 1, y: [2] }, b: 1 } : { b: 1, a: { y: [2], x: 1 } })],
  }));
  t.deepEqual((await answer(graph, await walk(graph), 'yes')).state.values['done'], ['yes']);
});

test('with a key a question is the same in other words, and another key is another question', async (t) => {
  let turn = 0;
  const keys = ['mail', 'mail', 'delete'];
  const graph = one(() => {
    const turns = turn++;
    return { done: [interrupt(`wording ${String(turns)}`, { key: keys[turns] ?? 'delete' })] };
  });
  const asked = await walk(graph);
  t.deepEqual((await answer(graph, asked, 'yes')).state.values['done'], ['yes']);
  const again = await answer(graph, asked, 'yes');
  t.deepEqual([idsOf(again), valuesOf(again)], [['run/1/n/1'], ['wording 2']]);
});

for (const [options, message] of [
  [
    { keys: 'a' },
    /^node "n" failed: what interrupt\(\) is given has keys, which is none of key, deadline, default, to, notOwner, quorum$/,
  ],
  [
    'a',
    /^node "n" failed: what interrupt\(\) is given after the question must be an object, not (?:a string|the text|text|string)/,
  ],
  [{ key: 5 }, /^node "n" failed: the key of interrupt\(\) must be a text of 1 to 256 characters, not /],
  [{ key: '' }, /^node "n" failed: the key of interrupt\(\) must be a text of 1 to 256 characters, not one of 0$/],
] as const)
  test(`the options ${JSON.stringify(options)} of a question are refused by name`, async (t) => {
    await t.throwsAsync(walk(one(() => ({ done: [interrupt('?', options as never)] }))), { message });
  });

const parameters = { type: 'object' };
const calling = (...names: readonly string[]): Message => ({
  ...user(''),
  role: 'assistant',
  content: names.map((name, index) => ({ type: 'tool_call', id: `c${String(index)}`, name, args: {} })),
});

test('a tool that asks something else when it is called again asks that anew, and fails the run the second time, though it is made at most once', async (t) => {
  let question = 0;
  const pay = tool({ name: 'pay', description: '', parameters, replay: 'once' }, () =>
    String(interrupt(`Pay ${String(question++)}?`)),
  );
  const graph = new StateGraph(fields)
    .addNode('tools', toolNode([pay]))
    .addEdge(START, 'tools')
    .compile();
  const asked = await walk(graph, { context: [calling('pay')] });
  const again = await answer(graph, asked, 'yes');
  t.deepEqual([idsOf(again), valuesOf(again)], [['run/1/c0/1'], ['Pay 1?']]);
  await t.throwsAsync(answer(graph, again, 'yes'), {
    message: /^node "tools" asked a third question in the place of the questions "run\/1\/c0\/0" and "run\/1\/c0\/1"/,
  });
});

test('a branch and a node of a sub-graph see their base, and what they ask is compared in their own places', async (t) => {
  const asking: Node = ({ urgent, done }, { input }) => {
    const item = input === undefined ? '' : ` ${JSON.stringify(input)}`;
    if (urgent || done.length > 0) interrupt(`Delete${item}?`);
    return { done: [`${String(interrupt(`Send${item}?`))}${item}`] };
  };
  const inner = new StateGraph(fields)
    .addNode('ask', asking)
    .addNode('classify', () => ({ urgent: true, done: ['inner'] }))
    .addEdge(START, 'ask')
    .addEdge(START, 'classify')
    .compile();
  const graph = new StateGraph(fields)
    .addNode('branch', asking)
    .addNode('sub', inner)
    .addNode('beside', () => ({ done: ['beside'] }))
    .addConditionalEdges(START, () => [send('branch', 1), send('branch', 2), 'sub', 'beside'])
    .compile();
  let walked = await walk(graph);
  t.deepEqual(valuesOf(walked).toSorted(), ['Send 1?', 'Send 2?', 'Send?']);
  for (const value of ['Send?', 'Send 2?', 'Send 1?']) {
    t.deepEqual(walked.state.values['done'], []);
    const id = walked.interrupts.find((open) => open.value === value)?.id ?? '';
    walked = await walk(graph, { from: walked, answers: { [id]: value } });
  }
  t.deepEqual(walked.state.values['done'], ['Send 1? 1', 'Send 2? 2', 'Send?', 'inner', 'beside']);
});

const whom: readonly (readonly [title: string, first: InterruptOptions, then: InterruptOptions])[] = [
  ['to the owner before', {}, { to: ['manager'], notOwner: true }],
  ['to the owner before, with the same key', { key: 'refund' }, { key: 'refund', to: ['manager'] }],
  ['to other roles before', { to: ['clerk'] }, { to: ['director'] }],
  ['to fewer callers before', { to: ['clerk'] }, { to: ['clerk'], quorum: 3 }],
  ['to the owner, too, before', { to: ['clerk'] }, { to: ['clerk'], notOwner: true }],
  ['to roles before, and to the owner now', { to: ['clerk'] }, {}],
];

for (const [title, first, then] of whom)
  test(`an answer to a question that was ${title} is none to the one that is asked now`, async (t) => {
    let options = first;
    const graph = one(() => ({ done: [interrupt('Refund?', options)] }));
    const asked = await walk(graph);
    options = then;
    const again = await walk(graph, { from: asked, answer: true });
    t.is(again.ended, 'waiting');
    t.not(again.interrupts[0]?.id, asked.interrupts[0]?.id);
    t.deepEqual((await walk(graph, { from: again, answer: 'yes' })).state.values['done'], ['yes']);
  });

test('the order of the roles changes no question', async (t) => {
  let to = ['a', 'b'];
  const graph = one(() => ({ done: [interrupt('Refund?', { to })] }));
  const asked = await walk(graph);
  to = ['b', 'a'];
  t.deepEqual((await walk(graph, { from: asked, answer: true })).state.values['done'], [true]);
});
