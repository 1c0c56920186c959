import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import fc from 'fast-check';
import { textOf, type Block, type Message } from '@agent-workflow/protos/message';
import type { NodeContext, RunContext } from '../build/context.ts';
import { isRunFailure, type RunFailure } from '../state/failure.ts';
import { field } from '../state/field.ts';
import { END, START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { defaultValues } from '../state/merge.ts';
import type { MessageChunk } from '../state/message.ts';
import { deepFreeze, type EngineState } from '../state/state.ts';
import type { LateCall } from './late-call.ts';
import { enterGraph, runStep } from './step.ts';
import type { StepResult } from './super-step.ts';
import { remoteTool, tool, toolNode } from '../build/tool.ts';
import { nobody, walk } from '../testing.ts';
import { send } from '../build/send.ts';

const fields = {
  list: field<string[]>({ type: 'array', default: [], reducer: (a, b) => [...a, ...b] }),
  route: field<string>({ type: 'string', default: '' }),
};
type Graph = StateGraph<typeof fields>;
const build = (): Graph => new StateGraph(fields);

const stateOf = (graph: CompiledGraph, context: readonly Message[] = []): EngineState =>
  deepFreeze({ values: defaultValues(graph.fields), context });

interface Options {
  readonly nodes?: readonly string[];
  readonly context?: readonly Message[];
  readonly remote?: readonly string[];
  readonly onChunk?: (node: string, chunk: MessageChunk) => void;
  readonly onLate?: (late: LateCall) => void;
  readonly run?: RunContext;
}

async function stepOf(graph: CompiledGraph, options: Options = {}): Promise<StepResult> {
  const state = stateOf(graph, options.context);
  return runStep({
    graph,
    nodes: options.nodes ?? enterGraph(graph, state).nodes,
    number: 4,
    state,
    run: options.run ?? nobody,
    at: Date.now(),
    now: Date.now,
    isRemote: (name) => options.remote?.includes(name) ?? false,
    onChunk: options.onChunk ?? (() => undefined),
    onLate: options.onLate,
  });
}

const one = (node: Parameters<Graph['addNode']>[1]): CompiledGraph =>
  build().addNode('n', node).addEdge(START, 'n').compile();

const failureOf = async (graph: CompiledGraph, options?: Options): Promise<RunFailure> =>
  stepOf(graph, options).then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => {
      if (isRunFailure(error)) return error;
      throw error;
    },
  );

const calling = (...calls: readonly (readonly [name: string, args?: unknown])[]): Message => ({
  message_id: 'calling',
  role: 'assistant',
  content: calls.map(([name, args = {}], index) => ({ type: 'tool_call', id: `c${String(index + 1)}`, name, args })),
  timestamp: '2026-01-01T00:00:00.000Z',
});

const resultsOf = ({ delta }: StepResult): Block[] => delta.messages.flatMap(({ content }) => content);

// Nodes side by side

test('the result of a step does not depend on the order in which its nodes finish', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }), async (order) => {
      const turns = new Map(order.map((name, index) => [name, index]));
      const graph = ['a', 'b', 'c', 'd']
        .reduce(
          (draft, name) =>
            draft.addEdge(START, name).addNode(name, async (_state, ctx) => {
              for (let turn = turns.get(name) ?? 0; turn > 0; turn--) await Promise.resolve();
              ctx.emit(name);
              return { list: [name] };
            }),
          build(),
        )
        .compile();
      const { state, delta } = await stepOf(graph);
      t.deepEqual(state.values['list'], ['a', 'b', 'c', 'd']);
      t.deepEqual(delta.messages.map(textOf), ['a', 'b', 'c', 'd']);
    }),
    { numRuns: 24 },
  );
});

test('nodes of one step read the same state, each with its own copy of the context, and one that changes the copy fails by name', async (t) => {
  const seen: unknown[] = [];
  const read = (state: { readonly context: readonly Message[] }): undefined => {
    seen.push(state.context.length);
    (state.context as Message[]).push(calling());
    return undefined;
  };
  const graph = build().addNode('a', read).addNode('b', read).addEdge(START, 'a').addEdge(START, 'b').compile();
  const error = await t.throwsAsync(stepOf(graph, { context: [calling()] }));
  t.regex(error.message, /^node "[ab]" changed state\.context: state and context are frozen/);
  t.deepEqual(seen, [1, 1]);
});

test('a node cannot change the state that it reads', async (t) => {
  const failure = await failureOf(
    one((state) => {
      state.list.push('x');
    }),
  );
  t.is(failure.code, 'NodeFailed');
  t.regex(failure.message, /^node "n" failed: .*not extensible/);
});

test('a node that forgets to await fails by the place of the promise, which JSON would make an empty object', async (t) => {
  const late = Promise.resolve('x');
  const loose = { any: field<unknown>({ type: 'any' }) };
  for (const [any, where] of [
    [late, 'a promise'],
    [{ tea: late }, 'a promise at any.tea'],
    [['x', late], 'a promise at any[1]'],
  ] as const) {
    const graph = new StateGraph(loose)
      .addNode('n', () => ({ any }))
      .addEdge(START, 'n')
      .compile();
    const failure = await failureOf(graph);
    t.deepEqual([failure.message, failure.node], [`field "any" holds ${where}: await it`, 'n']);
  }
});

test('a branch that forgets to await fails too, before its result is kept as JSON', async (t) => {
  const graph = new StateGraph({ all: field<unknown>({ type: 'any', reducer: (_before, more) => more }) })
    .addNode('n', () => ({ all: [Promise.resolve('x')] }))
    .addConditionalEdges(START, () => [send('n', 1), send('n', 2)])
    .compile();
  const error = await t.throwsAsync(walk(graph));
  t.regex(error.message, /field "all" holds a promise at all\[0\]: await it/);
});

test('a tool that forgets to await gives the model an error, and its author the reason', async (t) => {
  const brew = tool({ name: 'brew', description: '', parameters: { type: 'object' } }, () => ({
    tea: Promise.resolve('green'),
  }));
  const [result] = resultsOf(await stepOf(one(toolNode([brew])), { context: [calling(['brew'])] }));
  t.like(result, { is_error: true, output: 'The result holds a promise at result.tea: it was not awaited.' });
});

test('a Map in a field, in the result of a branch or of a tool is refused by its place, and a reducer may take one', async (t) => {
  const loose = { any: field<unknown>({ type: 'any' }) };
  const any = { tea: { cups: new Map([['green', 2]]) } };
  const failure = await failureOf(
    new StateGraph(loose)
      .addNode('n', () => ({ any }))
      .addEdge(START, 'n')
      .compile(),
  );
  const lost = 'a Map at any.tea.cups, of which JSON keeps nothing';
  t.deepEqual([failure.message, failure.node], [`field "any" holds ${lost}`, 'n']);
  const counted = {
    count: field<unknown>({ type: 'any', reducer: (_before, more) => (more as Map<string, number>).size }),
  };
  const taken = new StateGraph(counted)
    .addNode('n', () => ({ count: any.tea.cups }))
    .addEdge(START, 'n')
    .compile();
  t.is((await walk(taken)).state.values['count'], 1);
  const branches = new StateGraph({ all: field<unknown>({ type: 'any', reducer: (_before, more) => more }) })
    .addNode('n', () => ({ all: any }))
    .addConditionalEdges(START, () => [send('n', 1), send('n', 2)])
    .compile();
  const refused = await t.throwsAsync(walk(branches));
  t.regex(refused.message, /node "n" returned a Map at update\.all\.tea\.cups, of which JSON keeps nothing/);
  const brew = tool({ name: 'brew', description: '', parameters: { type: 'object' } }, () => any);
  const [result] = resultsOf(await stepOf(one(toolNode([brew])), { context: [calling(['brew'])] }));
  t.like(result, { is_error: true, output: 'The result holds a Map at result.tea.cups, of which JSON keeps nothing.' });
});

// Where it goes on

test('each next node is named once, in the order of the graph', async (t) => {
  const nothing = (): undefined => undefined;
  const graph = build()
    .addNode('a', nothing)
    .addNode('b', nothing)
    .addNode('z', nothing)
    .addNode('y', nothing)
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge('a', 'y')
    .addEdge('b', 'z')
    .addEdge('b', 'y')
    .addEdge('a', END)
    .compile();
  t.deepEqual((await stepOf(graph)).next, ['z', 'y']);
  t.deepEqual((await stepOf(graph, { nodes: ['z'] })).next, []);
});

for (const [route, next] of [
  ['b', ['b']],
  [END, []],
  ['both', ['b', 'c']],
] as const) {
  test(`a conditional edge that returns ${route} leads to ${next.join(' and ') || 'the end'}`, async (t) => {
    const graph = build()
      .addNode('a', () => ({ route }))
      .addNode('b', () => undefined)
      .addNode('c', () => undefined)
      .addEdge(START, 'a')
      .addConditionalEdges('a', (state) => (state.route === 'both' ? ['c', 'b'] : state.route))
      .compile();
    t.deepEqual((await stepOf(graph)).next, next);
  });
}

test('a conditional edge that throws, or leads to no node, fails the graph', async (t) => {
  const routed = (route: () => string): CompiledGraph =>
    build()
      .addNode('a', () => undefined)
      .addEdge(START, 'a')
      .addConditionalEdges('a', route)
      .compile();
  const thrown = await failureOf(
    routed(() => {
      throw new Error('lost');
    }),
  );
  t.like(thrown, { code: 'GraphFailed', node: 'a', message: 'the edge from "a" failed: lost' });
  const nowhere = await failureOf(routed(() => 'nowhere'));
  t.like(nowhere, { code: 'GraphFailed', message: 'the edge from "a" leads to the unknown node "nowhere"' });
  for (const nothing of [undefined, [undefined], null, 5]) {
    const failure = await failureOf(routed(() => nothing as unknown as string));
    t.like(failure, {
      code: 'GraphFailed',
      node: 'a',
      message: `the edge from "a" leads to the unknown node "${String(nothing) || 'undefined'}"`,
    });
  }
});

test('a step with a node that the graph does not have fails the graph', async (t) => {
  t.like(
    await failureOf(
      one(() => undefined),
      { nodes: ['gone'] },
    ),
    { code: 'GraphFailed', node: 'gone' },
  );
});

// Messages of nodes

test('what a node emits is one assistant message of text and blocks, streamed chunk by chunk', async (t) => {
  const published: MessageChunk[] = [];
  const graph = one((_state, ctx) => {
    for (const chunk of ['a', '', 'b', { type: 'data', data: 1 }, 'c', { type: 'text', text: 'd' }]) ctx.emit(chunk);
  });
  const { delta, streamed } = await stepOf(graph, { onChunk: (_node, chunk) => published.push(chunk) });
  const [message, ...others] = delta.messages;
  t.deepEqual(others, []);
  t.is(message?.role, 'assistant');
  t.deepEqual(message?.content, [
    { type: 'text', text: 'ab' },
    { type: 'data', data: 1 },
    { type: 'text', text: 'c' },
    { type: 'text', text: 'd' },
  ]);
  t.deepEqual(
    published.map(({ chunk }) => chunk),
    ['a', 'b', { type: 'data', data: 1 }, 'c', 'd'],
  );
  t.true(published.every(({ messageId }) => messageId === message?.message_id));
  t.deepEqual([...streamed], [message?.message_id]);
});

test('a returned message with the id of the emitted one takes its place', async (t) => {
  const graph = one((_state, ctx) => {
    ctx.emit('half');
    return {
      messages: [{ content: 'first' }, { message_id: ctx.messageId, content: 'whole', metadata: { by: 'me' } }],
    };
  });
  const result = await stepOf(graph);
  const [first, whole, ...others] = result.delta.messages;
  t.deepEqual([first && textOf(first), whole && textOf(whole), others], ['first', 'whole', []]);
  t.deepEqual([whole?.metadata, [...result.streamed]], [{ by: 'me' }, [whole?.message_id]]);
});

test('a node that emits nothing adds no message', async (t) => {
  t.deepEqual((await stepOf(one(() => undefined))).delta.messages, []);
});

test('what is emitted after its node has returned is dropped and reported', async (t) => {
  const published: MessageChunk[] = [];
  const late: LateCall[] = [];
  let context: NodeContext | undefined;
  const graph = one((_state, ctx) => {
    context = ctx;
    ctx.emit('in time');
  });
  const onLate = (one: LateCall): void => void late.push(one);
  const { delta } = await stepOf(graph, { onChunk: (_node, chunk) => published.push(chunk), onLate });
  context?.emit('late');
  context?.emit('');
  t.is(published.length, 1);
  t.is(textOf(delta.messages[0] ?? { content: [] }), 'in time');
  t.deepEqual(late, [{ node: 'n', what: 'emit' }]);
});

test('what is published late in a sub-graph is reported with the path of its node', async (t) => {
  const late: LateCall[] = [];
  let context: NodeContext | undefined;
  const inner = one((_state, ctx) => {
    context = ctx;
  });
  const graph = build().addNode('outer', inner).addEdge(START, 'outer').compile();
  await stepOf(graph, { onLate: (one) => late.push(one) });
  context?.emit('late');
  context?.progress('late');
  t.deepEqual(late, [
    { node: 'outer/n', what: 'emit' },
    { node: 'outer/n', what: 'progress' },
  ]);
});

test('what a node that failed, asks or was stopped publishes late is dropped and not reported', async (t) => {
  const late: LateCall[] = [];
  const contexts: NodeContext[] = [];
  const ends: readonly ((context: NodeContext) => unknown)[] = [
    () => {
      throw new Error('no tea');
    },
    () => 5,
    ({ interrupt }) => interrupt('tea?'),
    () => undefined,
  ];
  const stop = new AbortController();
  const run = { ...nobody, signal: stop.signal };
  for (const end of ends) {
    const graph = one((_state, context) => {
      contexts.push(context);
      return end(context) as undefined;
    });
    await stepOf(graph, { run, onLate: (one) => late.push(one) }).catch(() => undefined);
  }
  t.is(contexts.length, ends.length);
  const publish = ({ emit, progress }: NodeContext): void => {
    emit('late');
    progress('late');
  };
  contexts.slice(0, -1).forEach(publish);
  stop.abort(new Error('stopped'));
  contexts.slice(-1).forEach(publish);
  t.deepEqual(late, []);
});

test('returned messages get ids, roles and times, and one with an id may replace a message', async (t) => {
  const { delta } = await stepOf(
    one(() => ({ messages: [{ content: 'x' }, { message_id: 'm', role: 'user', content: [], metadata: { a: 1 } }] })),
  );
  const [first, second] = delta.messages;
  t.like(first, { role: 'assistant', content: [{ type: 'text', text: 'x' }] });
  t.truthy(first?.message_id);
  t.like(second, { message_id: 'm', role: 'user', metadata: { a: 1 } });
  t.true(delta.mayReplace);
  t.true(Object.isFrozen(first?.content));
});

test('a call of a tool that the caller runs is marked as remote, emitted or returned', async (t) => {
  const call = { type: 'tool_call', id: 'c1', name: 'ask', args: {} };
  const emitted = await stepOf(
    one((_state, ctx) => {
      ctx.emit(call);
    }),
    { remote: ['ask'] },
  );
  const returned = await stepOf(
    one(() => ({ messages: [{ content: [call] }] })),
    { remote: ['ask'] },
  );
  for (const result of [emitted, returned]) t.is(resultsOf(result)[0]?.type, 'remote_tool_call');
});

for (const [what, node, message] of [
  [
    'throws',
    () => {
      throw new TypeError('no tea');
    },
    'node "n" failed: no tea',
  ],
  ['rejects', () => Promise.reject(new Error('no milk')), 'node "n" failed: no milk'],
  [
    'throws a text',
    () => {
      throw 'plain' as unknown as Error;
    },
    'node "n" failed: plain',
  ],
  [
    'throws an object',
    () => {
      throw { weird: true } as unknown as Error;
    },
    'node "n" failed: {"weird":true}',
  ],
  ['returns a list', () => [] as never, 'node "n" returned no object of fields'],
  ['returns a text', () => 'x' as never, 'node "n" returned no object of fields'],
] as const) {
  test(`a node that ${what} fails its run by name`, async (t) => {
    t.like(await failureOf(one(node)), { code: 'NodeFailed', node: 'n', message });
  });
}

/** What nodes return by mistake, by the name of its class. */
const noUpdates: Readonly<Record<string, () => unknown>> = {
  Map: () => new Map([['route', 1]]),
  Set: () => new Set(['route']),
  Date: () => new Date(0),
  Response: () => Response.json({ route: 'x' }),
  Generator: function* () {
    yield { route: 'x' };
  },
  AsyncGenerator: async function* () {
    yield { route: await Promise.resolve('x') };
  },
};

for (const [name, node] of Object.entries(noUpdates)) {
  test(`a node that returns an object of class ${name} fails: it is no update of nothing`, async (t) => {
    const message = `node "n" returned no object of fields, but an object of class ${name}`;
    t.like(await failureOf(one(node as never)), { code: 'NodeFailed', node: 'n', message });
  });
}

for (const [what, error] of [
  ['an error', new TypeError('no tea')],
  ['one with members', Object.assign(new TypeError('no tea'), { route: 'x' })],
] as const) {
  test(`a node that returns ${what} and does not throw it fails: an error is no update`, async (t) => {
    const message = 'node "n" returned no object of fields, but an object of class TypeError: throw it';
    t.like(await failureOf(one((() => error) as never)), { code: 'NodeFailed', node: 'n', message });
  });
}

test('a node may return a plain object of any realm, one without a prototype, and one of a class with members', async (t) => {
  class Update {
    readonly route = 'x';
  }
  const bare = Object.assign(Object.create(null) as object, { route: 'x' });
  for (const update of [{ route: 'x' }, bare, runInNewContext('({ route: "x" })'), new Update()])
    t.is((await walk(one(() => update as never))).state.values['route'], 'x');
  for (const update of [undefined, {}, Object.create(null) as object, Object.freeze({})])
    t.is((await walk(one(() => update as never))).ended, 'done');
});

test('the failure of a step names the node that failed, and what the other nodes emit later is dropped', async (t) => {
  const gate = Promise.withResolvers<undefined>();
  let later: Promise<void> | undefined;
  const published: string[] = [];
  const graph = build()
    .addNode('slow', (_state, ctx) => {
      later = gate.promise.then(() => {
        ctx.emit('late');
      });
      return later;
    })
    .addNode('bad', () => {
      throw new Error('no tea');
    })
    .addEdge(START, 'slow')
    .addEdge(START, 'bad')
    .compile();
  const failure = await failureOf(graph, { onChunk: (node) => published.push(node) });
  t.like(failure, { node: 'bad', message: 'node "bad" failed: no tea' });
  gate.resolve(undefined);
  await later;
  t.deepEqual(published, []);
});

test('a step ends without a node that ignores the signal', async (t) => {
  const controller = new AbortController();
  const reason = new Error('stopped');
  const graph = one(() => new Promise<undefined>(() => undefined));
  const stepping = stepOf(graph, { run: { ...nobody, signal: controller.signal } });
  controller.abort(reason);
  t.is(await t.throwsAsync(stepping), reason);
});

// Tool nodes

const sum = tool(
  {
    name: 'sum',
    description: 'Adds',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  },
  ({ a, b }) => a + b,
);
const breaking = tool({ name: 'break', description: '', parameters: { type: 'object' } }, () => {
  throw new Error('broken cup');
});
const weird = tool({ name: 'weird', description: '', parameters: { type: 'object' } }, () => {
  throw { weird: true } as unknown as Error;
});
const toolGraph = one(
  toolNode([sum, breaking, weird, remoteTool({ name: 'ask', description: '', parameters: { type: 'object' } })]),
);

for (const [what, call, output] of [
  [
    'arguments that break the schema',
    ['sum', { a: 'x' }],
    /arguments must have required property 'b'.*arguments\/a must be number/,
  ],
  ['arguments that are no object', ['sum', 5], /arguments must be object/],
  ['an error thrown by the tool', ['break'], /^broken cup$/],
  ['an object thrown by the tool', ['weird'], /^{"weird":true}$/],
  ['a tool that is not there', ['nothing'], /^There is no tool named nothing\.$/],
] as const) {
  test(`${what} is answered to the model as an error`, async (t) => {
    const result = await stepOf(toolGraph, { context: [calling(call)] });
    const [block] = resultsOf(result);
    t.like(block, { type: 'tool_result', call_id: 'c1', is_error: true, status: 'error' });
    t.regex(String(block?.['output']), output);
    t.false(result.waiting);
  });
}

for (const [returned, output] of [
  ['text', 'text'],
  [{ n: 1, gone: undefined }, { n: 1 }],
  [undefined, null],
  [Number.NaN, null],
  [new Date(0), '1970-01-01T00:00:00.000Z'],
] as const) {
  test(`a tool that gives ${inspect(returned)} is answered with ${JSON.stringify(output)}`, async (t) => {
    const given = tool({ name: 'give', description: '', parameters: { type: 'object' } }, () => returned);
    const [block] = resultsOf(await stepOf(one(toolNode([given])), { context: [calling(['give'])] }));
    t.deepEqual(block?.['output'], output);
    t.like(block, { is_error: false, status: 'completed' });
  });
}

test('calls of one message run concurrently, and their results are in the order of the calls', async (t) => {
  const arrived = Promise.withResolvers<undefined>();
  const first = tool({ name: 'first', description: '', parameters: { type: 'object' } }, async () => {
    await arrived.promise;
    return 'first';
  });
  const second = tool({ name: 'second', description: '', parameters: { type: 'object' } }, () => {
    arrived.resolve(undefined);
    return 'second';
  });
  const result = await stepOf(one(toolNode([first, second])), { context: [calling(['first'], ['second'])] });
  t.deepEqual(
    resultsOf(result).map((block) => [block['call_id'], block['output']]),
    [
      ['c1', 'first'],
      ['c2', 'second'],
    ],
  );
});

test('a tool gets the id of its call, and a key that is the same in each attempt', async (t) => {
  const seen: unknown[] = [];
  const read = tool({ name: 'read', description: '', parameters: { type: 'object' } }, (_args, ctx) => {
    seen.push([ctx.callId, ctx.idempotencyKey, ctx.runId]);
    return '';
  });
  await stepOf(one(toolNode([read])), { context: [calling(['read'], ['read'])] });
  t.deepEqual(seen, [
    ['c1', 'run/4/c1', 'run'],
    ['c2', 'run/4/c2', 'run'],
  ]);
});

test('remote calls wait at their node, and the other calls are answered', async (t) => {
  const context = [calling(['ask'], ['sum', { a: 1, b: 2 }])];
  const result = await stepOf(toolGraph, { context, remote: ['ask'] });
  t.true(result.waiting);
  t.deepEqual(result.next, ['n']);
  t.deepEqual(
    resultsOf(result).map((block) => [block['call_id'], block['output']]),
    [['c2', 3]],
  );
  const again = await stepOf(toolGraph, { context: [...context, ...result.delta.messages], remote: ['ask'] });
  t.true(again.waiting);
  t.deepEqual(again.delta.messages, []);
});

test('calls with a result are not made again', async (t) => {
  const context = [calling(['sum', { a: 1, b: 2 }])];
  const { delta } = await stepOf(toolGraph, { context });
  const again = await stepOf(toolGraph, { context: [...context, ...delta.messages] });
  t.deepEqual(again.delta.messages, []);
  t.false(again.waiting);
});
