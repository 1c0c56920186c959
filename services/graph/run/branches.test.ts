import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import test from 'ava';
import { textOf } from '@agent-workflow/protos/message';
import { END, START } from '../build/names.ts';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import type { NodePolicy } from '../build/policy.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { field } from '../state/field.ts';
import { user, walk, type WalkOptions } from '../testing.ts';
import type { BranchRecords } from './branch-records.ts';
import { interrupt } from './interrupt.ts';
import { enterGraph } from './successors.ts';

const fields = {
  done: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
  last: field<string>({ type: 'string', default: '' }),
};
type Work = NodeFunction<typeof fields>;

/** START sends each input to `work`, and `join` follows. */
const fanOut = (
  inputs: readonly unknown[],
  work: Work | CompiledGraph,
  policy?: NodePolicy,
): ReturnType<StateGraph<typeof fields>['compile']> =>
  new StateGraph(fields)
    .addNode('work', work, policy)
    .addNode('join', (state) => ({ last: state.done.join() }))
    .addConditionalEdges(START, () => inputs.map((input) => send('work', input)), ['work'])
    .addEdge('work', 'join')
    .compile();

const items = (count: number): { readonly item: number }[] => Array.from({ length: count }, (_, item) => ({ item }));
const itemOf = (input: unknown): number => (input as { readonly item: number }).item;

test('each branch runs the node with its own input, and the graph goes on once, when all have finished', async (t) => {
  const graph = fanOut(items(3), (_, { input, emit }) => {
    emit(`emitted ${String(itemOf(input))}`);
    return { done: [String(itemOf(input))] };
  });
  const { state, steps } = await walk(graph);
  t.deepEqual(steps, [['work'], ['join']]);
  t.is(state.values['last'], '0,1,2');
  t.deepEqual(state.context.map(textOf), ['emitted 0', 'emitted 1', 'emitted 2']);
});

test('in whichever order branches finish, their results are merged in the order in which they were sent', async (t) => {
  const order = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 });
  await fc.assert(
    fc.asyncProperty(order, async (finishing) => {
      const gates = items(5).map(() => Promise.withResolvers<undefined>());
      let begun = 0;
      const graph = fanOut(items(5), async (_, { input }) => {
        const item = itemOf(input);
        if (++begun === 5) gates[finishing[0] ?? 0]?.resolve(undefined);
        await gates[item]?.promise;
        gates[finishing[finishing.indexOf(item) + 1] ?? -1]?.resolve(undefined);
        return { done: [String(item)] };
      });
      const { state } = await walk(graph);
      return isDeepStrictEqual(state.values['done'], ['0', '1', '2', '3', '4']);
    }),
    { numRuns: 30 },
  );
  t.pass();
});

test('no more branches run side by side than the policy of the node allows', async (t) => {
  let now = 0;
  let most = 0;
  const work: Work = async () => {
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now -= 1;
    return {};
  };
  await walk(fanOut(items(20), work, { maxConcurrency: 3 }));
  t.is(most, 3);
  await walk(fanOut(items(100), work));
  t.is(most, 32);
});

test('a branch reads the state of the step, and its input is frozen', async (t) => {
  const graph = fanOut(items(1), ({ context }, { input }) => {
    t.throws(() => Object.assign(input as object, { item: 1 }), { instanceOf: TypeError });
    return { done: [String(context.length)] };
  });
  const { state } = await walk(graph, { context: [user('hello')] });
  t.deepEqual(state.values['done'], ['1']);
});

test('nodes that are named run once beside branches, without an input', async (t) => {
  const seen: unknown[] = [];
  const graph = new StateGraph(fields)
    .addNode('work', (_, { input }) => ({ done: [String(itemOf(input))] }))
    .addNode('plain', (_, context) => {
      seen.push('input' in context);
      return { done: ['plain'] };
    })
    .addConditionalEdges(START, () => ['plain', send('work', { item: 1 }), 'plain'])
    .compile();
  const { steps, state } = await walk(graph);
  t.deepEqual(steps, [['work', 'plain']]);
  t.deepEqual(state.values['done'], ['1', 'plain']);
  t.deepEqual(seen, [false]);
});

test('a node whose name every object knows runs beside branches', async (t) => {
  const graph = new StateGraph(fields)
    .addNode('work', () => ({ done: ['branch'] }))
    .addNode('constructor', () => ({ done: ['plain'] }))
    .addConditionalEdges(START, () => [send('work', 1), 'constructor'])
    .compile();
  t.deepEqual((await walk(graph)).state.values['done'], ['branch', 'plain']);
});

test('two branches that write a field without a reducer fail the step', async (t) => {
  const graph = fanOut(items(2), () => ({ last: 'x' }));
  await t.throwsAsync(walk(graph), {
    message: 'branches of node "work" wrote field "last" in one step, and it has no reducer',
  });
});

const mistakes: Readonly<Record<string, readonly [unknown, string]>> = {
  'leads to a node that is not there': [send('away', {}), 'the edge from START leads to the unknown node "away"'],
  'sends to the end': [send(END, {}), 'the edge from START sends to END, which takes no input'],
  'sends to a tool node': [send('tools', {}), 'the edge from START sends to "tools", which is a tool node'],
  'sends what is no JSON': [send('work', 1n), 'send to node "work" was given what is not JSON: value is a bigint'],
  'sends nothing': [send('work', undefined), 'send to node "work" was given what is not JSON: value is undefined'],
  'sends a member that JSON drops': [
    send('work', { items: [1, { when: undefined }] }),
    'send to node "work" was given what is not JSON: value.items[1].when is undefined',
  ],
  'sends a date': [
    send('work', { when: new Date(0) }),
    'send to node "work" was given what is not JSON: value.when is an object of class Date',
  ],
  'names a node that it also sends to': [
    ['work', send('work', {})],
    'node "work" is reached by its name and by send in one step',
  ],
  'sends too much at once': [
    Array.from({ length: 4 }, () => send('work', 'x'.repeat(1_000_000))),
    'the inputs of the branches of node "work" make those of the step more than 3145728 bytes together: send smaller inputs, as ids of what the branches read by themselves, or fewer in one step',
  ],
  'begins too many branches': [
    Array.from({ length: 10_001 }, () => send('work', 0)),
    'a step begins 10001 branches of "work", more than 10000: give several items to each, or send the rest in a later step',
  ],
};

for (const [what, [target, message]] of Object.entries(mistakes)) {
  test(`a route that ${what} fails the run`, async (t) => {
    const graph = new StateGraph(fields)
      .addNode('work', () => ({}))
      .addNode('tools', toolNode([]))
      .addConditionalEdges(START, () => target as string)
      .compile();
    await t.throwsAsync(walk(graph), { name: 'RunFailure', message });
  });
}

test('a route that returns a promise fails the run with a reason, and leaves no rejection behind', async (t) => {
  for (const route of [() => Promise.resolve('work'), () => Promise.reject(new Error('later'))]) {
    const graph = new StateGraph(fields)
      .addNode('work', () => ({}))
      .addConditionalEdges(START, route as unknown as () => string)
      .compile();
    const message = 'the edge from START leads to a promise: a route must return at once';
    await t.throwsAsync(walk(graph), { message });
  }
  // A rejection that nobody takes is reported after a turn of the event loop, and fails the test.
  await new Promise((resolve) => setImmediate(resolve));
});

test('a failed branch is tried again by itself, and reported with its index', async (t) => {
  const tries = new Map<number, number>();
  const work: Work = (_, { input }) => {
    const item = itemOf(input);
    tries.set(item, (tries.get(item) ?? 0) + 1);
    if (item === 2 && tries.get(item) === 1) throw new Error('once');
    return { done: [String(item)] };
  };
  const restarted: unknown[] = [];
  const faults: unknown[] = [];
  const options: WalkOptions = {
    onRestart: (...args) => restarted.push(args),
    onFault: ({ node, branch, attempt }) => faults.push([node, branch, attempt]),
  };
  const { state } = await walk(fanOut(items(4), work, { retry: { maxAttempts: 2, initialDelayMs: 0 } }), options);
  t.is(state.values['last'], '0,1,2,3');
  t.deepEqual([...tries.values()], [1, 1, 2, 1]);
  t.deepEqual(restarted, [['work', 2, 2]]);
  t.deepEqual(faults, [['work', 2, 1]]);
});

test('a branch that fails for good fails the step at once, and the signals of the others fire', async (t) => {
  const reasons: unknown[] = [];
  const graph = fanOut(items(3), async (_, { input, signal }) => {
    if (itemOf(input) === 2) throw new Error('broken');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    reasons.push(signal.aborted);
    return {};
  });
  await t.throwsAsync(walk(graph), { message: 'branch 2 of node "work" failed: broken' });
  await new Promise(setImmediate);
  t.deepEqual(reasons, [true, true]);
});

test('each branch has an idempotency key of its own, the same in every attempt', async (t) => {
  const keys = new Map<number, Set<string>>();
  const work: Work = (_, { input, idempotencyKey }) => {
    const own = keys.get(itemOf(input)) ?? new Set();
    keys.set(itemOf(input), own.add(idempotencyKey));
    throw new Error('again');
  };
  const policy = { retry: { maxAttempts: 3, initialDelayMs: 0 } };
  await t.throwsAsync(walk(fanOut(items(1), work, policy)));
  await t.throwsAsync(walk(fanOut([{ item: 1 }], work, policy)));
  await walk(
    fanOut(items(20), (_, { input, idempotencyKey }) => {
      keys.set(itemOf(input), new Set([idempotencyKey]));
      return {};
    }),
  );
  t.is(new Set([...keys.values()].flatMap((own) => [...own])).size, 20);
});

test('branches that ask wait by themselves, each goes on with its own answer, and all are merged in their order when the last returns', async (t) => {
  const runs: number[] = [];
  const graph = fanOut(items(4), (_, { input }) => {
    const item = itemOf(input);
    runs.push(item);
    return { done: [item % 2 === 0 ? `${String(item)} plain` : `${String(item)} ${String(interrupt({ item }))}`] };
  });
  const asked = await walk(graph);
  t.true(asked.waiting);
  t.deepEqual(asked.state.values['done'], []);
  t.deepEqual(
    asked.interrupts.map(({ node, value }) => [node, value]),
    [
      ['work', { item: 1 }],
      ['work', { item: 3 }],
    ],
  );
  const [first, second] = asked.interrupts.map(({ id }) => id);
  const half = await walk(graph, { from: asked, answers: { [second ?? '']: 'yes' } });
  t.true(half.waiting);
  t.deepEqual(half.state.values['done'], []);
  t.deepEqual(
    half.interrupts.map(({ id }) => id),
    [first],
  );
  const { state, steps } = await walk(graph, { from: half, answers: { [first ?? '']: 'no' } });
  t.deepEqual(steps, [['work'], ['join']]);
  t.is(state.values['last'], '0 plain,1 no,2 plain,3 yes');
  t.deepEqual(runs, [0, 1, 2, 3, 3, 1]);
});

test('a branch may be a sub-graph: its nodes read the input, its questions wait, and its own fields are its own', async (t) => {
  const inner = new StateGraph({ ...fields, own: field<number>({ type: 'integer', default: 0 }) })
    .addNode('first', (state, { input }) => ({ own: state.own + itemOf(input) + 1 }))
    .addNode('ask', (state) => ({ done: [`${String(state.own)} ${String(interrupt(state.own))}`], last: 'inner' }))
    .addEdge(START, 'first')
    .addEdge('first', 'ask')
    .compile();
  const graph = new StateGraph({ done: fields.done })
    .addNode('work', inner)
    .addNode('join', (state) => ({ done: [String(state.done.length)] }))
    .addConditionalEdges(START, () => items(3).map((input) => send('work', input)), ['work'])
    .addEdge('work', 'join')
    .compile();
  const asked = await walk(graph);
  t.deepEqual(
    asked.interrupts.map(({ node, value }) => [node, value]),
    [
      ['work', 1],
      ['work', 2],
      ['work', 3],
    ],
  );
  const answers = Object.fromEntries(asked.interrupts.map(({ id, value }) => [id, `answer ${String(value)}`]));
  t.is(Object.keys(answers).length, 3);
  const { state } = await walk(graph, { from: asked, answers });
  t.deepEqual(state.values['done'], ['1 answer 1', '2 answer 2', '3 answer 3', '3']);
});

test('a fan-out within a sub-graph, and one whose branches fan out again, run like any other', async (t) => {
  const inner = fanOut(items(2), (_, { input, idempotencyKey }) => {
    keys.add(idempotencyKey);
    return { done: [String(itemOf(input))] };
  });
  const keys = new Set<string>();
  const graph = new StateGraph({ done: fields.done })
    .addNode('work', inner)
    .addConditionalEdges(START, () => items(3).map((input) => send('work', input)))
    .compile();
  const { state } = await walk(graph);
  t.deepEqual(state.values['done'], ['0', '1', '0', '1', '0', '1']);
  t.is(keys.size, 6);
});

/** Records in memory, which fail the step when `limit` results are stored. */
function createRecords(limit: number): BranchRecords & { readonly stored: Map<string, string> } {
  const stored = new Map<string, string>();
  return {
    stored,
    find: (key) => Promise.resolve(stored.get(key)),
    save: (key, result) => {
      if (stored.size >= limit) return Promise.reject(new Error('the process died'));
      stored.set(key, result);
      return Promise.resolve();
    },
  };
}

test('a step that runs again runs only the branches whose results are not on record, and knows what the others have streamed', async (t) => {
  const runs: number[] = [];
  const graph = fanOut(
    items(6),
    (_, { input, emit }) => {
      runs.push(itemOf(input));
      emit(`text ${String(itemOf(input))}`);
      return { done: [String(itemOf(input))] };
    },
    { maxConcurrency: 1 },
  );
  const records = createRecords(4);
  await t.throwsAsync(walk(graph, { branchRecords: records }), { message: 'the process died' });
  t.deepEqual(runs, [0, 1, 2, 3, 4]);
  const chunks: string[] = [];
  const { state } = await walk(graph, {
    branchRecords: { ...createRecords(9), find: records.find },
    onChunk: (_, { chunk }) => chunks.push(chunk as string),
  });
  t.deepEqual(chunks, ['text 4', 'text 5']);
  t.deepEqual(runs, [0, 1, 2, 3, 4, 4, 5]);
  t.is(state.values['last'], '0,1,2,3,4,5');
  t.deepEqual(
    state.context.map(textOf),
    items(6).map(({ item }) => `text ${String(item)}`),
  );
});

test('a result on record counts for the input alone with which it was made', async (t) => {
  const records = createRecords(9);
  const work: Work = (_, { input }) => ({ done: [String(itemOf(input))] });
  await walk(fanOut([{ item: 1 }], work), { branchRecords: records });
  const { state } = await walk(fanOut([{ item: 2 }], work), { branchRecords: records });
  t.deepEqual(state.values['done'], ['2']);
});

test('a branch that asks leaves no record', async (t) => {
  const records = createRecords(9);
  await walk(
    fanOut(items(2), () => ({ done: [String(interrupt('?'))] })),
    { branchRecords: records },
  );
  t.is(records.stored.size, 0);
});

test('branches that return more than a step may hold fail it', async (t) => {
  const graph = fanOut(items(4), () => ({ done: ['x'.repeat(1_000_000)] }));
  await t.throwsAsync(walk(graph), {
    message:
      'the branches of node "work" returned more than 3145728 bytes together: return less from each, as ids of what is stored elsewhere, or send fewer of them in one step',
  });
});

test('a branch that returns what is no JSON fails', async (t) => {
  const graph = fanOut(items(2), () => ({ done: [1n as unknown as string] }));
  await t.throwsAsync(walk(graph), {
    message: 'node "work" returned a value that is not JSON: update.done[0] is a bigint',
  });
});

const confirm = tool(
  { name: 'confirm', description: 'Asks', parameters: { type: 'object' } },
  ({ id }) => `${String(id)} ${String(interrupt({ id }))}`,
);

test('calls of tools that ask in several branches get each its own answer, in whichever order they are answered', async (t) => {
  const inner = new StateGraph({})
    .addNode('agent', (_, { input, emit }) => {
      const id = String(input);
      emit({ type: 'tool_call', id, name: 'confirm', args: { id } });
    })
    .addNode('tools', toolNode([confirm]))
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .compile();
  const graph = new StateGraph({})
    .addNode('work', inner)
    .addConditionalEdges(START, () => ['a', 'b', 'c'].map((id) => send('work', id)))
    .compile();
  for (const order of [['a', 'b', 'c'], ['c', 'a', 'b'], ['b a c']]) {
    let walked = await walk(graph);
    for (const ids of order) {
      const named = walked.interrupts.filter(({ value }) => ids.includes((value as { readonly id: string }).id));
      t.is(named.length, ids.split(' ').length);
      walked = await walk(graph, { from: walked, answers: Object.fromEntries(named.map(({ id }) => [id, 'yes'])) });
    }
    t.false(walked.waiting);
    const results = walked.state.context.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    t.deepEqual(
      results.map(({ call_id: id, output }) => [id, output]).toSorted(),
      ['a', 'b', 'c'].map((id) => [id, `${id} yes`]),
    );
  }
});

test('a tool that asks gets its answer though a node beside it has added a message', async (t) => {
  const graph = new StateGraph({})
    .addNode('agent', (_, { emit }) => emit({ type: 'tool_call', id: 'c', name: 'confirm', args: { id: 'c' } }))
    .addNode('tools', toolNode([confirm]))
    .addNode('beside', (_, { emit }) => emit(`got ${String(interrupt('?'))}`))
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .addEdge('agent', 'beside')
    .compile();
  const asked = await walk(graph);
  const [first, second] = asked.interrupts.toSorted((one, other) => one.node.localeCompare(other.node));
  const half = await walk(graph, { from: asked, answers: { [first?.id ?? '']: 'B' } });
  t.true(half.waiting);
  const { waiting, state } = await walk(graph, { from: half, answers: { [second?.id ?? '']: 'T' } });
  t.false(waiting);
  t.deepEqual(
    state.context.slice(1).map(({ content: [block] }) => block?.['output'] ?? block?.['text']),
    ['c T', 'got B'],
  );
});

test('where a route leads is read once: a target that changes afterwards leads where it was found to lead', async (t) => {
  let asked = 0;
  const target = send('work', { item: 1 });
  const changing = new Proxy(target, {
    get: (of, name, self) => (name === 'node' && asked++ > 0 ? 'away' : (Reflect.get(of, name, self) as unknown)),
  });
  const graph = new StateGraph({})
    .addNode('work', () => undefined)
    .addConditionalEdges(START, () => changing, ['work'])
    .addEdge('work', END)
    .compile();
  const { nodes } = enterGraph(graph, { values: {}, context: [] });
  t.deepEqual(nodes, ['work']);
});
