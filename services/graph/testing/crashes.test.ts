import fc from 'fast-check';
import test from 'ava';
import { START } from '../build/names.ts';
import { send } from '../build/send.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { remoteTool, tool } from '../build/tool.ts';
import { modelNode } from '../model/model-node.ts';
import { createReactAgent } from '../model/react-agent.ts';
import { interrupt } from '../run/interrupt.ts';
import { field } from '../state/field.ts';
import {
  fakeMemory,
  fakeModel,
  lastText,
  toolResult,
  user,
  walk,
  walkWithCrashes,
  type ScriptedAnswer,
} from '../testing.ts';

const fields = {
  count: field<number>({ type: 'integer', default: 0 }),
  list: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
const parameters = { type: 'object' };
const context = [user('Hello')];

test('an agent with a model and a tool survives each crash, though its script has each answer once', async (t) => {
  const add = tool({ name: 'add', description: 'Adds', parameters }, () => 5);
  const { walked, crashes, differences } = await walkWithCrashes(
    () => createReactAgent({ model: fakeModel([{ call: 'add' }, 'It is 5.']), tools: [add] }),
    { context },
  );
  t.deepEqual(differences, []);
  t.is(crashes, 5);
  t.is(lastText(walked), 'It is 5.');
});

test('a node that keeps data in a variable is found at the crash before its commit', async (t) => {
  const { differences } = await walkWithCrashes(() => {
    let calls = 0;
    return new StateGraph(fields)
      .addNode('before', () => ({ list: ['before'] }))
      .addNode('count', () => ({ count: ++calls }))
      .addEdge(START, 'before')
      .addEdge('before', 'count')
      .compile();
  });
  t.deepEqual(differences, ['a crash before the commit of step 2 (count): state.values.count is 2, not 1']);
});

test('data that one node leaves in a variable for another is found, because a new process does not have it', async (t) => {
  const graph = (): CompiledGraph => {
    let found = 'nothing';
    return new StateGraph(fields)
      .addNode('find', () => void (found = 'a page'))
      .addNode('use', () => ({ list: [found] }))
      .addEdge(START, 'find')
      .addEdge('find', 'use')
      .compile();
  };
  const { differences } = await walkWithCrashes(() => ({ graph }));
  t.deepEqual(differences, [
    'a crash after the commit of step 1 (find): state.values.list[0] is "nothing", not "a page"',
    'a crash before the commit of step 2 (use): state.values.list[0] is "nothing", not "a page"',
  ]);
});

const booking = (isKeyed: boolean) => () => {
  const bookings = new Map<string, string>();
  const graph = new StateGraph(fields)
    .addNode('book', (_state, { idempotencyKey }) => {
      bookings.set(isKeyed ? idempotencyKey : `booking ${String(bookings.size)}`, 'a table');
    })
    .addEdge(START, 'book')
    .compile();
  return { graph, effects: () => bookings };
};

test('an effect that happens twice is found, and one with an idempotency key is not', async (t) => {
  t.deepEqual((await walkWithCrashes(booking(true))).differences, []);
  t.deepEqual((await walkWithCrashes(booking(false))).differences, [
    'a crash before the commit of step 1 (book): effects[1] is ["booking 1","a table"], not absent',
  ]);
});

test('a memory that is stored twice is found', async (t) => {
  const graph = new StateGraph(fields)
    .addNode('store', async (_state, { memory }) => {
      await memory.store({ content: 'tea' });
    })
    .addEdge(START, 'store')
    .compile();
  const { differences } = await walkWithCrashes(() => {
    const memory = fakeMemory();
    return { graph, run: { memory }, effects: () => memory.stored.map(({ content }) => content) };
  });
  t.deepEqual(differences, ['a crash before the commit of step 1 (store): effects[1] is "tea", not absent']);
});

test('a node that is different each time is found without a crash', async (t) => {
  let number = 0;
  const graph = new StateGraph(fields)
    .addNode('draw', () => ({ count: ++number }))
    .addEdge(START, 'draw')
    .compile();
  const { differences, crashes } = await walkWithCrashes(graph);
  t.deepEqual([differences, crashes], [['a second walk without a crash: state.values.count is 2, not 1'], 0]);
});

test('ids of messages and calls are new in each attempt, and are no differences wherever they stand', async (t) => {
  const add = tool({ name: 'add', description: 'Adds', parameters }, (_args, { callId }) => callId);
  const model = () => fakeModel([[{ type: 'text', text: 'so' }], { call: 'add' }, 'Done.']);
  const { differences } = await walkWithCrashes(() => {
    const asked = model();
    return new StateGraph(fields)
      .addNode('first', modelNode({ model: asked }))
      .addNode('last', ({ context: messages }) => ({ list: messages.map(({ message_id: id }) => id) }))
      .addNode('agent', createReactAgent({ model: asked, tools: [add] }))
      .addEdge(START, 'first')
      .addEdge('first', 'last')
      .addEdge('last', 'agent')
      .compile();
  });
  t.deepEqual(differences, []);
});

test('an id of the author that is new in each attempt is found', async (t) => {
  const { differences } = await walkWithCrashes(
    new StateGraph(fields)
      .addNode('order', () => ({ list: [crypto.randomUUID()] }))
      .addEdge(START, 'order')
      .compile(),
  );
  t.is(differences.length, 1);
  t.regex(differences[0] ?? '', /^a second walk without a crash: state\.values\.list\[0\] is "/);
});

const fanOut = (work: (item: unknown) => unknown): CompiledGraph =>
  new StateGraph(fields)
    .addNode('work', (_state, { input }) => ({ list: [work(input)] }))
    .addConditionalEdges(START, () => [1, 2].map((item) => send('work', item)), ['work'])
    .compile();

test('branches on record are not run again, and a crash before they are on record runs them again', async (t) => {
  t.deepEqual((await walkWithCrashes(() => fanOut((item) => item))).differences, []);
  const { differences } = await walkWithCrashes(() => {
    let runs = 0;
    return { graph: fanOut(() => ++runs), effects: () => runs };
  });
  t.deepEqual(differences, [
    'a crash before any branch was on record in step 1 (work): state.values.list[0] is 3, not 1',
    'a crash before any branch was on record in step 1 (work): state.values.list[1] is 4, not 2',
    'a crash before any branch was on record in step 1 (work): effects is 4, not 2',
  ]);
});

test('an answer that is thrown away is given again, and that of a branch on record is not', async (t) => {
  const { differences, walked } = await walkWithCrashes(() => {
    const model = fakeModel(['one', 'two', 'three', 'end']);
    return new StateGraph(fields)
      .addNode('work', modelNode({ model }), { maxConcurrency: 1 })
      .addNode('end', modelNode({ model }))
      .addConditionalEdges(START, () => [1, 2, 3].map((item) => send('work', item)), ['work'])
      .addEdge('work', 'end')
      .compile();
  });
  t.deepEqual(differences, []);
  t.is(lastText(walked), 'end');
});

test('a tool that is called at most once is called once', async (t) => {
  const { differences } = await walkWithCrashes(() => {
    let paid = 0;
    const pay = tool({ name: 'pay', description: 'Pays', parameters, replay: 'once' }, () => ++paid);
    const model = fakeModel([{ call: 'pay' }, 'Paid.']);
    return { graph: createReactAgent({ model, tools: [pay] }), effects: () => paid };
  });
  t.deepEqual(differences, []);
});

test('a walk that goes on with an answer crashes at its steps too', async (t) => {
  const graph = new StateGraph(fields)
    .addNode('approve', () => ({ list: [interrupt('Pay?')] }))
    .addNode('pay', () => ({ count: 1 }))
    .addEdge(START, 'approve')
    .addEdge('approve', 'pay')
    .compile();
  const asked = await walkWithCrashes(graph);
  t.deepEqual([asked.differences, asked.walked.ended, asked.crashes], [[], 'waiting', 1]);
  const { walked, differences, crashes } = await walkWithCrashes(graph, { from: asked.walked, answer: 'yes' });
  t.deepEqual([differences, walked.state.values['list'], walked.ended, crashes], [[], ['yes'], 'done', 3]);
});

test('a walk that goes on with the result of a remote tool crashes at its steps too', async (t) => {
  const locate = remoteTool({ name: 'locate', description: 'The place', parameters });
  const agent = (answers: readonly ScriptedAnswer[]): CompiledGraph =>
    createReactAgent({ model: fakeModel(answers), tools: [locate] });
  const waiting = await walk(agent([{ call: 'locate' }]), { context });
  const [call] = waiting.openCalls;
  const options = { from: waiting, context: [toolResult(call ?? { id: '' }, 'Lisbon')] };
  const { differences, walked } = await walkWithCrashes(() => agent(['You are in Lisbon.']), options);
  t.deepEqual([differences, lastText(walked)], [[], 'You are in Lisbon.']);
});

test('a walk that fails after a crash alone is a difference', async (t) => {
  const { differences } = await walkWithCrashes(() => {
    let isLocked = false;
    return new StateGraph(fields)
      .addNode('lock', () => {
        if (isLocked) throw new Error('the lock is taken');
        isLocked = true;
      })
      .addEdge(START, 'lock')
      .compile();
  });
  t.deepEqual(differences, [
    'a crash before the commit of step 1 (lock): the walk failed: node "lock" failed: the lock is taken',
  ]);
});

test('what cannot be walked with crashes is refused by what it is', async (t) => {
  const walkAny = walkWithCrashes as (...given: readonly unknown[]) => Promise<unknown>;
  const graph = createReactAgent({ model: fakeModel(['Yes.']) });
  const must =
    'what walkWithCrashes is given must be a compiled graph, or a function that makes one or { graph, effects }';
  const notCompiled = 'the graph of a walk is not compiled: give graph.compile()';
  for (const [given, fault] of [
    [[], `${must}, not undefined`],
    [[null], `${must}, not null`],
    [[() => undefined], `${must}, not undefined`],
    [[() => Promise.resolve(graph)], `${must}, not promise`],
    [[{}], 'the graph of a walk must be a compiled graph, not object'],
    [[new StateGraph({})], notCompiled],
    [[() => ({ graph: new StateGraph({}) })], notCompiled],
    [[() => ({ graph: () => undefined })], 'the graph of a walk must be a compiled graph, not undefined'],
    [[() => ({ graph, effects: [] })], 'effects of walkWithCrashes must be a function, not array'],
    [[graph, null], 'what walkWithCrashes is given after the graph must be an object, not null'],
    [[graph, { ignoredFields: 'list' }], 'ignoredFields of walkWithCrashes must be a list of names, not string'],
  ] as const)
    await t.throwsAsync(walkAny(...given), { message: fault });
});

test('whichever node of a chain is not repeatable, the crash at its step alone finds it', async (t) => {
  const chains = fc.integer({ min: 1, max: 6 }).chain((length) => fc.tuple(fc.constant(length), fc.nat(length - 1)));
  await fc.assert(
    fc.asyncProperty(chains, async ([length, bad]) => {
      const { differences, crashes } = await walkWithCrashes(() => chain(length, bad));
      t.is(crashes, 2 * length - 1);
      t.is(differences.length, 1);
      t.true(
        differences[0]?.startsWith(`a crash before the commit of step ${String(bad + 1)} (node ${String(bad)}): `),
      );
    }),
    { numRuns: 20 },
  );
});

function chain(length: number, bad: number): CompiledGraph {
  let runs = 0;
  const graph = new StateGraph(fields);
  for (let at = 0; at < length; at++) {
    graph.addNode(`node ${String(at)}`, () => ({ list: [at === bad ? ++runs : at] }));
    graph.addEdge(at === 0 ? START : `node ${String(at - 1)}`, `node ${String(at)}`);
  }
  return graph.compile();
}
