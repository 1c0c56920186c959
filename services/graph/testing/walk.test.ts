import test from 'ava';
import { textOf } from '@agent-workflow/protos/message';
import { START } from '../build/names.ts';
import { send } from '../build/send.ts';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import { remoteTool, tool, toolNode } from '../build/tool.ts';
import { interrupt } from '../run/interrupt.ts';
import { field } from '../state/field.ts';
import { lastText, toolResult, user, walk, type Walked } from '../testing.ts';

const fields = {
  list: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};

const one = (node: NodeFunction<typeof fields>): CompiledGraph =>
  new StateGraph(fields).addNode('n', node).addEdge(START, 'n').compile();

test('a walk from one that ended is the next turn of the thread', async (t) => {
  const turns = field<number>({ type: 'integer', default: 0, reducer: (before, more) => before + more });
  const graph = new StateGraph({ turns })
    .addNode('count', () => ({ turns: 1 }))
    .addEdge(START, 'count')
    .compile();
  const first = await walk(graph, { context: [user('one')] });
  const second = await walk(graph, { from: first, context: [user('two')] });
  t.deepEqual([second.steps, second.state.values['turns'], second.state.context.length], [[['count']], 2, 2]);
  t.deepEqual([first.ended, second.ended], ['done', 'done']);
});

test('a field that a changed graph has beside those of the walk before has its default, as in the service', async (t) => {
  const earlier = new StateGraph(fields)
    .addNode('n', () => ({ list: [1] }))
    .addEdge(START, 'n')
    .compile();
  const later = new StateGraph({ ...fields, language: field<string>({ type: 'string', default: 'en' }) })
    .addNode('n', ({ language }) => ({ list: [language] }))
    .addEdge(START, 'n')
    .compile();
  const { state } = await walk(later, { from: await walk(earlier) });
  t.like(state.values, { list: [1, 'en'], language: 'en' });
});

test('each turn is a run of its own: idempotency keys of two turns differ', async (t) => {
  const graph = one((_state, { idempotencyKey }) => ({ list: [idempotencyKey] }));
  const { state } = await walk(graph, { from: await walk(graph) });
  t.deepEqual(state.values['list'], ['run/1/n', 'run-2/1/n']);
});

test('a walk that stopped at its number of steps says so, and continues there', async (t) => {
  const graph = new StateGraph({})
    .addNode('one', () => undefined)
    .addNode('two', () => undefined)
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .compile();
  const stopped = await walk(graph, { maxSteps: 1 });
  const rest = await walk(graph, { from: stopped, context: [user('more')] });
  t.deepEqual([stopped.steps, rest.steps], [[['one']], [['two']]]);
  t.deepEqual([stopped.ended, rest.ended], ['max_steps', 'done']);
});

const calling = (): CompiledGraph => {
  const parameters = { type: 'object' };
  const here = tool({ name: 'here', description: '', parameters }, () => 'done');
  const there = remoteTool({ name: 'there', description: '', parameters });
  const call = (name: string) => ({ type: 'tool_call', id: name, name, args: {} });
  return new StateGraph({})
    .addNode('call', ({ context }) =>
      context.length > 1 ? undefined : { messages: [{ content: [call('here'), call('there')] }] },
    )
    .addNode('tools', toolNode([here, there]))
    .addNode('answer', ({ context }, { emit }) => emit(JSON.stringify(context.at(-1)?.content[0]?.['output'] ?? null)))
    .addEdge(START, 'call')
    .addEdge('call', 'tools')
    .addEdge('tools', 'answer')
    .compile();
};

test('a walk waits for the remote tools that the graph declares, and runs the others', async (t) => {
  const { waiting, ended, interrupts, state } = await walk(calling());
  t.deepEqual([waiting, ended, interrupts], [true, 'waiting', []]);
  t.deepEqual(
    state.context.flatMap(({ content }) => content.map(({ type }) => type)),
    ['tool_call', 'remote_tool_call', 'tool_result'],
  );
});

test('the result of a remote tool continues the walk, and one of a call that nobody made is refused', async (t) => {
  const waiting = await walk(calling(), { context: [user('Where?')] });
  const [call] = waiting.openCalls;
  const result = toolResult(call ?? { id: '' }, { city: 'Lisbon' });
  const walked = await walk(calling(), { from: waiting, context: [result] });
  t.deepEqual([walked.ended, lastText(walked)], ['done', '{"city":"Lisbon"}']);
  await t.throwsAsync(walk(calling(), { from: waiting, context: [toolResult({ id: 'other' }, 1)] }), {
    message: 'context: a tool message answers "other", and no call has this id',
  });
});

test('a message of a user that answers nothing begins at START, and cancels open calls, as in the service', async (t) => {
  const waiting = await walk(calling(), { context: [user('Where?')] });
  const { steps, state } = await walk(calling(), { from: waiting, context: [user('Never mind.')] });
  t.deepEqual(steps[0], ['call']);
  const [cancelled] = state.context.flatMap(({ content }) =>
    content.filter((block) => block['status'] === 'cancelled'),
  );
  t.deepEqual([cancelled?.['call_id'], cancelled?.['is_error']], ['there', true]);
});

test('the one open question is answered without its id, and the next one waits for its own answer', async (t) => {
  const graph = one(() => ({ list: [interrupt('first?'), interrupt('second?')] }));
  const first = await walk(graph);
  const second = await walk(graph, { from: first, answer: { milk: true } });
  t.deepEqual(
    second.interrupts.map(({ value }) => value),
    ['second?'],
  );
  const { state, ended } = await walk(graph, { from: second, answer: null });
  t.deepEqual([state.values['list'], ended], [[{ milk: true }, null], 'done']);
});

test('answers that name no open question, or leave open which, are refused', async (t) => {
  const twice = new StateGraph(fields)
    .addNode('a', () => ({ list: [interrupt('?')] }))
    .addNode('b', () => ({ list: [interrupt('?')] }))
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .compile();
  const asked = await walk(twice);
  const refused = async (options: object, message: string): Promise<void> => {
    await t.throwsAsync(walk(twice, options), { message });
  };
  const open = 'open are "run/1/a/0", "run/1/b/0"';
  await refused({ from: asked, answers: { x: 1 } }, `answers: no open question has the id "x"; ${open}`);
  await refused(
    { from: asked, answer: 1 },
    `answer is for a walk with one open question; ${open}: give answers by their ids`,
  );
  await refused({ answers: { x: 1 } }, 'answers: no open question has the id "x"; none is open');
  await refused({ from: asked, answer: 1, answers: {} }, 'answer and answers were both given: give one of them');
  await refused(
    { from: asked, answers: { 'run/1/a/0': new Date(0) } },
    'answers was given what is not JSON: value.run/1/a/0 is an object of class Date',
  );
});

test('an emit after its node has returned throws where it is called, also when the walk has ended', async (t) => {
  let late: ((text: string) => void) | undefined;
  const graph = one((_state, { emit }) => {
    late = emit;
  });
  await walk(graph);
  t.throws(() => late?.('late'), {
    message: 'node "n" emitted after it had ended, which is dropped: it must await what emits',
  });
});

test('the events of a walk are its chunks, progress and restarts, in their order', async (t) => {
  let attempts = 0;
  const graph = new StateGraph(fields)
    .addNode('plan', (_state, { emit }) => {
      emit('Two ');
      emit('parts.');
    })
    .addNode(
      'work',
      (_state, { input, progress }) => {
        if (input === 'b' && ++attempts === 1) throw new Error('again');
        progress({ input });
      },
      { retry: { maxAttempts: 2, initialDelayMs: 0 } },
    )
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', () => ['a', 'b'].map((input) => send('work', input)), ['work'])
    .compile();
  const { events, state } = await walk(graph);
  const message = { event: 'messages_chunk', node: 'plan', step: 1, role: 'assistant' };
  const id = state.context[0]?.message_id;
  const work = { event: 'on_chain_stream', node: 'work', step: 2 };
  t.deepEqual(events as readonly unknown[], [
    { ...message, message_id: id, data: 'Two ' },
    { ...message, message_id: id, data: 'parts.' },
    { ...work, status: 'progress', custom: { input: 'a' }, branch: 0 },
    { ...work, status: 'restarted', attempt: 2, branch: 1 },
    { ...work, status: 'progress', custom: { input: 'b' }, branch: 1 },
  ]);
  t.deepEqual(state.context.map(textOf), ['Two parts.']);
});

test('a walk refuses what a commit of the step would refuse: more ids of questions than are kept', async (t) => {
  const name = 'n'.repeat(300);
  const graph = new StateGraph({})
    .addNode(name, () => void interrupt('?'))
    .addConditionalEdges(START, () => Array.from({ length: 1000 }, (_, item) => send(name, item)), [name])
    .compile();
  await t.throwsAsync(walk(graph), {
    name: 'RunFailure',
    message: `node "${name}": the ids of open questions have 311890 bytes, more than 262144: let fewer branches wait for an answer at a time`,
  });
});

test('a walk that sleeps says so only where it stops asleep, and takes no message until its run has ended', async (t) => {
  const graph = new StateGraph({})
    .addNode('n', async (_state, { sleep }) => sleep(1000))
    .addEdge(START, 'n')
    .compile();
  const asleep = await walk(graph, { stopsAsleep: true });
  t.is(asleep.ended, 'sleeping');
  await t.throwsAsync(walk(graph, { from: asleep, context: [user('Hello')] }), { message: /the thread sleeps/ });
  t.like(await walk(graph, { from: asleep }), { ended: 'done', turn: 1 });
  t.is((await walk(graph, { maxSteps: 1 })).ended, 'max_steps');
  await t.throwsAsync(walk(graph, { time: NaN }), { message: /milliseconds since 1970/ });
});

const must = 'context of a walk must be a list of messages, as user() makes them';
for (const [what, graph, options, message] of [
  ['a graph that is not compiled', new StateGraph({}), {}, 'the graph of a walk is not compiled: give graph.compile()'],
  ['no graph', undefined, {}, 'the graph of a walk must be a compiled graph, not undefined'],
  [
    'a graph of LangGraph.js',
    { getSubgraphsAsync: () => [] },
    {},
    'the graph of a walk is one of LangGraph.js: give it to fromLangGraph() of @agent-workflow/langgraph',
  ],
  ['a text as context', calling(), { context: 'Hello' }, `${must}, not string`],
  ['texts as messages', calling(), { context: [user('Hello'), 'you'] }, `${must}: [1] is string`],
  [
    'a message whose content is a text',
    calling(),
    { context: [{ role: 'user', content: 'Hello' }] },
    `${must}: [0] has no list as its content`,
  ],
  ['an empty object as the walk before', calling(), { from: {} }, 'from must be what a walk gave: it has no state'],
  ['a walk that was not awaited', calling(), { from: walk(calling()) }, 'from must be what a walk gave, not promise'],
  ['nothing as its options', calling(), null, 'what walk is given after the graph must be an object, not null'],
  [
    'an option that there is not',
    calling(),
    { contxt: [] },
    'what walk is given has contxt, which is none of from, context, answer, answers, run, time, stopsAsleep, maxSteps, isRemote, answeredBy, branchRecords, toolCallRecords, onChunk, onFault, onProgress, onRestart, onUsage',
  ],
] as const) {
  test(`a walk of ${what} is refused in one line`, async (t) => {
    await t.throwsAsync(walk(graph as never, options as never), { message });
  });
}

test('a walk goes on from one that was stored as JSON', async (t) => {
  const stored = JSON.parse(JSON.stringify(await walk(calling(), { context: [user('Where?')] }))) as Walked;
  const [call] = stored.openCalls;
  const { ended } = await walk(calling(), { from: stored, context: [toolResult(call ?? { id: '' }, 'here')] });
  t.is(ended, 'done');
});
