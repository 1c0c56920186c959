import { EventEmitter } from 'node:events';
import test from 'ava';
import { textOf, type Message } from '@agent-workflow/protos/message';
import { field } from '../state/field.ts';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import { interrupt, readAnswers } from './interrupt.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { walk, type Walked, type WalkOptions } from '../testing.ts';

const fields = {
  answers: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};

const one = (node: NodeFunction<typeof fields>, policy = {}): CompiledGraph =>
  new StateGraph(fields).addNode('n', node, policy).addEdge(START, 'n').compile();

/** Continues a walk with answers, as a later run does. */
const answer = async (
  graph: CompiledGraph,
  from: Walked,
  answers: Readonly<Record<string, unknown>>,
  options: WalkOptions = {},
): Promise<Walked> => walk(graph, { run: { runId: 'later' }, ...options, from, answers });

test('a node that asks is interrupted, and runs again with the answer', async (t) => {
  let begun = 0;
  let passed = 0;
  const graph = one((_state, ctx) => {
    begun++;
    ctx.emit('asking');
    const given = interrupt({ question: 'Tea?', gone: undefined });
    passed++;
    return { answers: [given] };
  });
  const asked = await walk(graph);
  t.true(asked.waiting);
  t.deepEqual(asked.next, ['n']);
  t.deepEqual(asked.interrupts, [{ id: 'run/1/n/0', node: 'n', value: { question: 'Tea?' } }]);
  t.deepEqual([begun, passed, asked.state.context.length], [1, 0, 0]);

  const done = await answer(graph, asked, { 'run/1/n/0': { milk: true } });
  t.deepEqual(done.state.values['answers'], [{ milk: true }]);
  t.deepEqual([begun, passed, done.waiting, done.state.context.length], [2, 1, false, 1]);
  t.deepEqual([done.interrupts, done.continuation, done.next], [[], undefined, []]);
});

test('a question has the same id in every attempt at its step, so that a crash before the commit changes nothing', async (t) => {
  const graph = one(() => ({ answers: [interrupt('?')] }));
  t.deepEqual((await walk(graph)).interrupts, (await walk(graph)).interrupts);
});

test('several questions of one node are answered in their order, over as many runs', async (t) => {
  const graph = one(async () => {
    const first = interrupt('first?');
    await Promise.resolve();
    const second = interrupt(`after ${String(first)}, second?`);
    return { answers: [first, second, interrupt('third?')] };
  });
  const first = await walk(graph);
  const second = await answer(graph, first, { [first.interrupts[0]?.id ?? '']: 1 }, { run: { runId: 'second' } });
  t.deepEqual(second.interrupts, [{ id: 'run/1/n/1', node: 'n', value: 'after 1, second?' }]);
  const third = await answer(graph, second, { 'run/1/n/1': 2 }, { run: { runId: 'third' } });
  t.deepEqual(third.interrupts, [{ id: 'run/1/n/2', node: 'n', value: 'third?' }]);
  const done = await answer(graph, third, { 'run/1/n/2': null });
  t.deepEqual(done.state.values['answers'], [1, 2, null]);
});

test('whoever asks keeps its idempotency key when it runs again with an answer: a node, a call, a branch, a node of a sub-graph', async (t) => {
  const seen = new Map<string, string[]>();
  const answersTo = (what: string, key: string): unknown[] => {
    seen.set(what, [...(seen.get(what) ?? []), key]);
    return [interrupt('?'), interrupt('??')];
  };
  const call = { type: 'tool_call', id: 'c1', name: 'pay', args: {} };
  const pay = tool({ name: 'pay', description: '', parameters: { type: 'object' } }, (_args, { idempotencyKey }) =>
    answersTo('call', idempotencyKey),
  );
  const inner = new StateGraph(fields)
    .addNode('before', () => undefined)
    .addNode('n', (_state, { idempotencyKey }) => ({ answers: answersTo('inner node', idempotencyKey) }))
    .addEdge(START, 'before')
    .addEdge('before', 'n')
    .compile();
  const graph = new StateGraph(fields)
    .addNode('call', () => ({ messages: [{ role: 'assistant', content: [call] }] }))
    .addNode('node', (_state, { idempotencyKey }) => ({ answers: answersTo('node', idempotencyKey) }))
    .addNode('tools', toolNode([pay]))
    .addNode('branch', (_state, { idempotencyKey, input }) => ({
      answers: answersTo(`branch ${String(input)}`, idempotencyKey),
    }))
    .addNode('sub', inner)
    .addNode('subs', inner)
    .addEdge(START, 'call')
    .addEdge('call', 'node')
    .addEdge('call', 'tools')
    .addEdge('call', 'sub')
    .addConditionalEdges('call', () => [send('branch', 'a'), send('branch', 'b'), send('subs', 'c')])
    .compile();
  let walked = await walk(graph);
  const answers = (): Readonly<Record<string, unknown>> =>
    Object.fromEntries(walked.interrupts.map(({ id }) => [id, 'yes']));
  for (const runId of ['second', 'third']) walked = await answer(graph, walked, answers(), { run: { runId } });
  t.deepEqual(walked.interrupts, []);
  const keys = Object.fromEntries([...seen].map(([what, own]) => [what, [...new Set(own)].sort()]));
  t.deepEqual(keys, {
    node: ['run/2/node'],
    call: ['run/2/c1'],
    'branch a': ['run/2/branch/0'],
    'branch b': ['run/2/branch/1'],
    'inner node': ['run/2/sub/2/n', 'run/2/subs/0/2/n'],
  });
  for (const [what, own] of seen) t.is(own.length, what === 'inner node' ? 6 : 3, what);
});

test('a node with an open question does not run until its answer comes', async (t) => {
  let begun = 0;
  const graph = one(() => {
    begun++;
    return { answers: [interrupt('?')] };
  });
  const asked = await walk(graph);
  const still = await walk(graph, { from: asked });
  t.is(begun, 1);
  t.deepEqual([still.waiting, still.next, still.interrupts], [true, ['n'], asked.interrupts]);
});

test('what other nodes of a step gave in which one asks is held, and merged in the order of the nodes with its answer', async (t) => {
  let worked = 0;
  const graph = new StateGraph(fields)
    .addNode('asks', () => ({ answers: [interrupt('?')] }))
    .addNode('works', (_state, { emit }) => {
      worked++;
      emit('worked');
      return { answers: ['worked'] };
    })
    .addNode('after', () => ({ answers: ['after'] }))
    .addNode('both', () => ({ answers: ['both'] }))
    .addEdge(START, 'asks')
    .addEdge(START, 'works')
    .addEdge('works', 'after')
    .addEdge(['asks', 'after'], 'both')
    .compile();
  const asked = await walk(graph);
  t.deepEqual([asked.next, asked.state.values['answers'], asked.state.context], [['asks'], [], []]);
  const done = await answer(graph, asked, { 'run/1/asks/0': 'yes' });
  t.deepEqual(done.steps, [['asks'], ['after'], ['both']]);
  t.deepEqual(done.state.values['answers'], ['yes', 'worked', 'after', 'both']);
  t.deepEqual([done.state.context.map(textOf), worked], [['worked'], 1]);
});

test('of two nodes that ask, the later is answered first, and both are merged in the order of the nodes', async (t) => {
  const graph = new StateGraph(fields)
    .addNode('a', (_state, { emit }) => {
      emit(`a ${String(interrupt('a?'))}`);
      return { answers: ['a', interrupt('a?')] };
    })
    .addNode('b', (_state, { emit }) => {
      emit(`b ${String(interrupt('b?'))}`);
      return { answers: ['b'] };
    })
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .compile();
  const asked = await walk(graph);
  t.deepEqual(
    asked.interrupts.map(({ id, node }) => [id, node]),
    [
      ['run/1/a/0', 'a'],
      ['run/1/b/0', 'b'],
    ],
  );
  const half = await answer(graph, asked, { 'run/1/b/0': 2 });
  t.deepEqual([half.next, half.state.values['answers']], [['a'], []]);
  const again = await answer(graph, half, { 'run/1/a/0': 1 });
  t.deepEqual([again.interrupts.map(({ id }) => id), again.state.values['answers']], [['run/1/a/1'], []]);
  const done = await answer(graph, again, { 'run/1/a/1': 'more' });
  t.deepEqual(done.state.values['answers'], ['a', 'more', 'b']);
  t.deepEqual(done.state.context.map(textOf), ['a 1', 'b 2']);
});

test('a node that catches its question is interrupted all the same, and is not tried again', async (t) => {
  let begun = 0;
  const graph = one(
    () => {
      begun++;
      try {
        return { answers: [interrupt('?')] };
      } catch {
        return { answers: ['guessed'] };
      }
    },
    { retry: { maxAttempts: 3, initialDelayMs: 0 }, timeoutMs: 60_000 },
  );
  const asked = await walk(graph);
  t.deepEqual([asked.waiting, asked.state.values['answers'], begun], [true, [], 1]);
});

test('a node asks no second question while its first is open', async (t) => {
  const graph = one(async () => {
    const given = await Promise.allSettled(['first?', 'second?'].map(async (question) => interrupt(question)));
    return { answers: given.map((each) => (each.status === 'fulfilled' ? each.value : 'none')) };
  });
  const first = await walk(graph);
  t.deepEqual(first.interrupts, [{ id: 'run/1/n/0', node: 'n', value: 'first?' }]);
  const second = await answer(graph, first, { 'run/1/n/0': 1 });
  t.deepEqual(second.interrupts, [{ id: 'run/1/n/1', node: 'n', value: 'second?' }]);
  const done = await answer(graph, second, { 'run/1/n/1': 2 });
  t.deepEqual(done.state.values['answers'], [1, 2]);
});

test('ctx.interrupt works where the async context is lost, and throws when the node has ended', async (t) => {
  const bus = new EventEmitter();
  const asked = Promise.withResolvers<undefined>();
  const graph = one(async (_state, ctx) => {
    bus.once('ask', () => {
      t.throws(() => interrupt('lost'), { message: /outside a node or tool that runs/ });
      t.throws(() => ctx.interrupt('found'));
      asked.resolve(undefined);
    });
    bus.once('late', () => t.throws(() => ctx.interrupt('late'), { message: /outside a node or tool that runs/ }));
    await asked.promise;
    return undefined;
  });
  const walking = walk(graph);
  bus.emit('ask');
  t.deepEqual(
    (await walking).interrupts.map(({ value }) => value),
    ['found'],
  );
  bus.emit('late');
});

test('a question that is not JSON fails its node', async (t) => {
  await t.throwsAsync(walk(one(() => ({ answers: [interrupt(() => 1)] }))), {
    message: 'node "n" failed: interrupt() was given a value that is not JSON: value is a function',
  });
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  await t.throwsAsync(walk(one(() => ({ answers: [interrupt(deep)] }))), {
    message: 'node "n" failed: interrupt() was given a value that is nested too deep',
  });
});

test('an answer is frozen', async (t) => {
  const graph = one(() => {
    (interrupt('?') as unknown[]).push('more');
    return undefined;
  });
  const asked = await walk(graph);
  await t.throwsAsync(answer(graph, asked, { 'run/1/n/0': [] }), { message: /not extensible/ });
});

// Tools

const calling = (...names: readonly string[]): Message => ({
  message_id: 'calling',
  role: 'assistant',
  content: names.map((name, index) => ({ type: 'tool_call', id: `c${String(index)}`, name, args: {} })),
  timestamp: '2026-01-01T00:00:00.000Z',
});

test('a tool that asks leaves its call open until the answer comes, and the other calls are made once', async (t) => {
  let drawn = 0;
  const pay = tool(
    { name: 'pay', description: '', parameters: { type: 'object' } },
    () => `paid: ${String(interrupt('Pay?'))}`,
  );
  const draw = tool({ name: 'draw', description: '', parameters: { type: 'object' } }, () => ++drawn);
  const graph = new StateGraph(fields)
    .addNode('tools', toolNode([pay, draw]))
    .addEdge(START, 'tools')
    .compile();
  const asked = await walk(graph, { context: [calling('pay', 'draw', 'pay')] });
  t.deepEqual(
    asked.interrupts.map(({ id, node }) => [id, node]),
    [
      ['run/1/c0/0', 'tools'],
      ['run/1/c2/0', 'tools'],
    ],
  );
  const half = await answer(graph, asked, { 'run/1/c2/0': 'no' });
  const done = await answer(graph, half, { 'run/1/c0/0': 'yes' });
  t.deepEqual(
    done.state.context.slice(1).map(({ content: [block] }) => [block?.['call_id'], block?.['output']]),
    [
      ['c1', 1],
      ['c2', 'paid: no'],
      ['c0', 'paid: yes'],
    ],
  );
  t.is(drawn, 1);
  t.deepEqual([done.waiting, done.continuation], [false, undefined]);
});

// Reading `resume`

for (const [resume, open, answers] of [
  [{ a: 1 }, ['a', 'b'], { a: 1 }],
  [{ a: 1, b: null }, ['a', 'b'], { a: 1, b: null }],
  [{ a: 1, c: 2 }, ['a', 'b'], undefined],
  ['yes', ['a', 'b'], undefined],
  ['yes', ['a'], { a: 'yes' }],
  [null, ['a'], { a: null }],
  [{}, ['a'], { a: {} }],
  [{ approved: true }, ['a'], { a: { approved: true } }],
  [['a'], ['a'], { a: ['a'] }],
  ['yes', [], undefined],
] as const) {
  test(`resume ${JSON.stringify(resume)} with ${String(open.length)} questions open (${open.join()}) answers ${JSON.stringify(answers)}`, (t) => {
    t.deepEqual(
      readAnswers(
        open.map((id) => ({ id })),
        resume,
      ),
      answers,
    );
  });
}
