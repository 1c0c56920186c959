import test from 'ava';
import fc from 'fast-check';
import { textOf, type Message } from '@agent-workflow/protos/message';
import { callsTools } from '../state/calls.ts';
import { isRunFailure, RunFailure } from '../state/failure.ts';
import { field } from '../state/field.ts';
import { END, START } from '../build/names.ts';
import { nodeNames, ownNodes, StateGraph, type CompiledGraph } from '../build/graph.ts';
import { interrupt } from './interrupt.ts';
import { remoteTool, tool, toolNode } from '../build/tool.ts';
import { runStep } from './step.ts';
import { nobody, walk } from '../testing.ts';

const list = field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] });
const text = field<string>({ type: 'string', default: '' });
const count = field<number>({ type: 'integer', default: 0 });

const userMessage = (words: string): Message => ({
  message_id: words,
  role: 'user',
  content: [{ type: 'text', text: words }],
  timestamp: '2026-01-01T00:00:00.000Z',
});

const around = (inner: CompiledGraph, policy = {}): CompiledGraph =>
  new StateGraph({ list, text }).addNode('sub', inner, policy).addEdge(START, 'sub').compile();

test('a sub-graph reads and writes what both graphs declare, keeps its other fields, and streams under the name of its node', async (t) => {
  const inner = new StateGraph({ list, count })
    .addNode('a', (state, ctx) => {
      ctx.emit(`a saw ${state.list.join()}`);
      return { list: ['a'], count: state.count + 1, context_summary: 'short' };
    })
    .addNode('b', (state) => ({
      list: [`b saw ${state.list.join()} and ${state.count}`],
      messages: [{ content: 'whole' }],
    }))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .compile();
  const graph = new StateGraph({ list, text })
    .addNode('before', () => ({ list: ['before'] }))
    .addNode('sub', inner)
    .addNode('after', (state) => ({ text: state.list.join(' | ') }))
    .addEdge(START, 'before')
    .addEdge('before', 'sub')
    .addEdge('sub', 'after')
    .compile();
  const reported: unknown[] = [];
  const { state, steps } = await walk(graph, { onChunk: (node, { chunk }) => reported.push([node, chunk]) });
  t.deepEqual(steps, [['before'], ['sub'], ['after']]);
  t.deepEqual(reported, [
    ['sub', 'a saw before'],
    ['sub', 'whole'],
  ]);
  t.deepEqual(state.context.map(textOf), ['a saw before', 'whole']);
  t.deepEqual(state.values, {
    list: ['before', 'a', 'b saw before,a and 1'],
    text: 'before | a | b saw before,a and 1',
    context_summary: 'short',
  });
});

test('a field without a reducer gets the last value that the sub-graph writes, and two nodes of one step still may not write it', async (t) => {
  const inner = new StateGraph({ text })
    .addNode('a', () => ({ text: 'first' }))
    .addNode('b', () => ({ text: 'second' }))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .compile();
  t.is((await walk(around(inner))).state.values['text'], 'second');
  const both = new StateGraph({ list, text })
    .addNode('x', () => ({ text: 'third' }))
    .addNode('sub', inner)
    .addEdge(START, 'sub')
    .addEdge(START, 'x')
    .compile();
  await t.throwsAsync(walk(both), {
    message: 'nodes "x" and "sub" wrote field "text" in one step, and it has no reducer',
  });
});

test('fields that only the sub-graph declares have their defaults at the start of each of its runs', async (t) => {
  const inner = new StateGraph({ list, count })
    .addNode('a', (state) => ({ count: state.count + 1, list: [String(state.count)] }))
    .addEdge(START, 'a')
    .compile();
  const graph = new StateGraph({ list })
    .addNode('sub', inner)
    .addEdge(START, 'sub')
    .addConditionalEdges('sub', (state) => (state.list.length < 3 ? 'sub' : END), ['sub', END])
    .compile();
  t.deepEqual((await walk(graph)).state.values['list'], ['0', '0', '0']);
});

test('a failure names the node that holds the sub-graph, and the node inside', async (t) => {
  const inner = new StateGraph({})
    .addNode('a', () => {
      throw new Error('no tea');
    })
    .addEdge(START, 'a')
    .compile();
  const twice = new StateGraph({}).addNode('deep', inner).addEdge(START, 'deep').compile();
  const failure = await t.throwsAsync(walk(around(twice)), { instanceOf: RunFailure });
  t.like(failure, {
    code: 'NodeFailed',
    node: 'sub',
    message: 'node "sub" failed: node "deep" failed: node "a" failed: no tea',
  });
});

test('a sub-graph is tried again as a whole, and retryOn gets the error that was thrown inside', async (t) => {
  let tries = 0;
  const inner = new StateGraph({ list })
    .addNode('a', () => ({ list: [`a${tries}`] }))
    .addNode('b', () => {
      if (tries++ < 1) throw new TypeError('no tea');
      return undefined;
    })
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .compile();
  const reported: unknown[] = [];
  const retry = { maxAttempts: 2, initialDelayMs: 0, retryOn: (error: unknown) => error instanceof TypeError };
  const { state } = await walk(around(inner, { retry }), { onRestart: (...restart) => reported.push(restart) });
  t.deepEqual(state.values['list'], ['a1']);
  t.deepEqual(reported, [['sub', 2]]);
});

test('a sub-graph that reaches its timeout fails, the signals of its nodes fire, and none of them runs any more', async (t) => {
  let seen: AbortSignal | undefined;
  let later = 0;
  const gate = Promise.withResolvers<undefined>();
  const inner = new StateGraph({})
    .addNode('a', (_state, { signal }) => {
      seen = signal;
      return gate.promise;
    })
    .addNode('b', () => {
      later++;
    })
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .compile();
  await t.throwsAsync(walk(around(inner, { timeoutMs: 20 })), { message: 'node "sub" did not finish within 20 ms' });
  t.true(seen?.aborted);
  gate.resolve(undefined);
  await new Promise(setImmediate);
  t.is(later, 0);
});

test('a cycle in a sub-graph ends at its recursion limit', async (t) => {
  let ran = 0;
  const inner = new StateGraph({})
    .addNode('a', () => {
      ran++;
    })
    .addEdge(START, 'a')
    .addEdge('a', 'a')
    .compile();
  await t.throwsAsync(walk(around(inner)), { message: 'node "sub" failed: its node "a" ran 25 times' });
  t.is(ran, 25);
  ran = 0;
  await t.throwsAsync(walk(around(inner, { recursionLimit: 3, retry: { maxAttempts: 5 } })));
  t.is(ran, 3);
});

test('a sub-graph with any cycles ends', async (t) => {
  const size = 4;
  const edge = fc.tuple(fc.nat(size - 1), fc.nat(size - 1));
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 10 }), fc.array(edge, { maxLength: 2 }), async (edges, joined) => {
      let ran = 0;
      const inner = new StateGraph({ list });
      for (let node = 0; node < size; node++) {
        inner.addNode(String(node), () => {
          ran++;
          return { list: [String(node)] };
        });
        if (!edges.some(([from, to]) => to === node && from < to)) inner.addEdge(START, String(node));
      }
      for (const [from, to] of edges) inner.addEdge(String(from), String(to));
      for (const [from, to] of joined) inner.addEdge([String(from), String((from + 1) % size)], String(to));
      const limit = 4;
      const end = await walk(around(inner.compile(), { recursionLimit: limit })).then(
        ({ next, state }) => [next.length, (state.values['list'] as string[]).length === ran],
        (error: unknown) => isRunFailure(error) && /its node "\d" ran 4 times$/.test(error.message),
      );
      t.true(ran <= size * limit);
      if (end !== true) t.deepEqual(end, [0, true]);
    }),
    { numRuns: 100 },
  );
});

test('a question inside a sub-graph is asked by the node that holds it, and nothing that finished before runs again', async (t) => {
  const ran: string[] = [];
  const deep = new StateGraph({ list, count })
    .addNode('think', (_state, ctx) => {
      ran.push('think');
      ctx.emit('Let me ask.');
      return { count: 7, list: ['thought'] };
    })
    .addNode('ask', (state) => {
      ran.push('ask');
      return { list: [`${state.count} ${String(interrupt('first?'))} ${String(interrupt('second?'))}`] };
    })
    .addEdge(START, 'think')
    .addEdge('think', 'ask')
    .compile();
  const middle = new StateGraph({ list }).addNode('deep', deep).addEdge(START, 'deep').compile();
  const graph = around(middle);
  const first = await walk(graph);
  t.deepEqual(first.interrupts, [{ id: 'run/1/sub/1/deep/2/ask/0', node: 'sub', value: 'first?' }]);
  t.deepEqual([first.waiting, first.next], [true, ['sub']]);
  t.deepEqual(first.state.context.map(textOf), ['Let me ask.']);
  const second = await walk(graph, {
    from: first,
    answers: { 'run/1/sub/1/deep/2/ask/0': 'one' },
    run: { runId: 'b' },
  });
  t.deepEqual(
    second.interrupts.map(({ node, value }) => [node, value]),
    [['sub', 'second?']],
  );
  const [open] = second.interrupts;
  const done = await walk(graph, { from: second, answers: { [open?.id ?? '']: 'two' }, run: { runId: 'c' } });
  t.deepEqual(done.state.values['list'], ['thought', '7 one two']);
  t.deepEqual(ran, ['think', 'ask', 'ask', 'ask']);
  t.deepEqual([done.continuation, done.next, done.state.context.length], [undefined, [], 1]);
});

test('remote calls inside a sub-graph wait for the caller, and the sub-graph continues at its tools', async (t) => {
  const ran: string[] = [];
  const choose = remoteTool({ name: 'choose', description: '', parameters: { type: 'object' } });
  const inner = new StateGraph({})
    .addNode('agent', (state, ctx) => {
      ran.push('agent');
      if (state.context.some(({ role }) => role === 'tool')) ctx.emit('Thanks.');
      else ctx.emit({ type: 'tool_call', id: 'c1', name: 'choose', args: {} });
    })
    .addNode('tools', toolNode([choose]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
    .addEdge('tools', 'agent')
    .compile();
  const graph = around(inner);
  t.deepEqual(graph.tools, [choose]);
  const isRemote = (name: string): boolean => name === 'choose';
  const asked = await walk(graph, { isRemote });
  t.deepEqual([asked.waiting, asked.interrupts], [true, []]);
  const result: Message = {
    message_id: 'result',
    role: 'tool',
    content: [{ type: 'tool_result', call_id: 'c1', output: 'here' }],
    timestamp: '2026-01-01T00:00:00.000Z',
  };
  const done = await walk(graph, { from: asked, context: [result], isRemote });
  t.is(textOf(done.state.context.at(-1) ?? { content: [] }), 'Thanks.');
  t.deepEqual([ran, done.next], [['agent', 'agent'], []]);
});

test('what a sub-graph removes is removed from the context of the outer graph, its own messages included', async (t) => {
  const inner = new StateGraph({})
    .addNode('say', (state) => {
      t.is(state.context.length, 2);
      return { messages: [{ content: 'one' }, { content: 'two' }] };
    })
    .addNode('shorten', (state) => ({
      context_summary: 'short',
      removed_from_context: state.context.slice(1, 3).map(({ message_id: id }) => id),
    }))
    .addNode('look', (state, { emit }) => emit(`${state.context_summary}: ${state.context.map(textOf).join()}`))
    .addEdge(START, 'say')
    .addEdge('say', 'shorten')
    .addEdge('shorten', 'look')
    .compile();
  const graph = around(inner);
  const state = { ...(await walk(graph, { maxSteps: 0 })).state, context: [userMessage('a'), userMessage('b')] };
  const { delta, state: after } = await runStep({
    ...{ graph, nodes: ['sub'], number: 1, state, run: nobody },
    at: 0,
    now: Date.now,
    isRemote: () => false,
    onChunk: () => undefined,
  });
  t.deepEqual(after.context.map(textOf), ['a', 'two', 'short: a,two']);
  t.deepEqual(delta.messages.map(textOf), ['one', 'two', 'short: a,two']);
  t.deepEqual(delta.removed, ['b', delta.messages[0]?.message_id]);
});

test('the failure of a sub-graph that removes an unknown message names both nodes', async (t) => {
  const inner = new StateGraph({})
    .addNode('tidy', () => ({ removed_from_context: ['gone'] }))
    .addEdge(START, 'tidy')
    .compile();
  const failure = await t.throwsAsync(walk(around(inner)), { instanceOf: RunFailure });
  t.deepEqual([failure.code, failure.node], ['NodeFailed', 'sub']);
  t.is(
    failure.message,
    'node "sub" failed: removed_from_context of node "tidy" names "gone", which no message of the context has for its id',
  );
});

test('keys of tool calls inside a sub-graph contain its position', async (t) => {
  const keys: string[] = [];
  const read = tool({ name: 'read', description: '', parameters: { type: 'object' } }, (_args, ctx) => {
    keys.push(`${ctx.runId} ${ctx.idempotencyKey}`);
  });
  const inner = new StateGraph({})
    .addNode('call', (_state, ctx) => {
      keys.push(ctx.idempotencyKey);
      ctx.emit({ type: 'tool_call', id: 'c1', name: 'read', args: {} });
    })
    .addNode('tools', toolNode([read]))
    .addEdge(START, 'call')
    .addEdge('call', 'tools')
    .compile();
  await walk(around(inner));
  t.deepEqual(keys, ['run/1/sub/1/call', 'run run/1/sub/2/c1']);
});

test('a field of two types in a graph and its sub-graph is refused', (t) => {
  const inner = new StateGraph({ text: field<number>({ type: 'number', default: 0 }) })
    .addNode('a', () => undefined)
    .addEdge(START, 'a')
    .compile();
  t.throws(() => around(inner), {
    message: 'field "text" is of type string, and of type number in the sub-graph "sub"',
  });
});

test('a sub-graph is drawn as one node', (t) => {
  const inner = new StateGraph({})
    .addNode('a', () => undefined)
    .addEdge(START, 'a')
    .compile();
  t.deepEqual(around(inner).drawing.nodes[1], { id: 'sub', type: 'graph' });
});

test('nodes of a sub-graph are listed after its name, and only nodes of the graph itself are next nodes', (t) => {
  const deep = new StateGraph({})
    .addNode('c', () => ({}))
    .addEdge(START, 'c')
    .compile();
  const inner = new StateGraph({}).addNode('b', deep).addEdge(START, 'b').compile();
  const graph = around(inner);
  t.deepEqual(nodeNames(graph), { names: ['sub', 'sub/b', 'sub/b/c'], first: ['sub'] });
  t.deepEqual(ownNodes(graph, ['sub', 'sub/b', 'sub/b/c']), ['sub']);
  t.deepEqual(ownNodes(graph, ['sub', 'gone']), ['sub', 'gone'], 'one that nobody knows is for the step to refuse');
  const clash = new StateGraph({})
    .addNode('sub', inner)
    .addNode('sub/b', () => ({}))
    .addEdge(START, 'sub')
    .addEdge('sub', 'sub/b');
  t.throws(() => clash.compile(), { message: /"sub\/b" has a name that only nodes of the sub-graph "sub" may have/ });
});

test('a model in a sub-graph is offered the tools that run there and those of the caller', async (t) => {
  const named = (name: string) => tool({ name, description: '', parameters: { type: 'object' } }, () => name);
  const offered: Record<string, readonly string[]> = {};
  const agent = (name: string, tools: readonly string[], inside?: CompiledGraph): CompiledGraph => {
    const graph = new StateGraph({})
      .addNode('model', (_state, ctx) => {
        offered[name] = ctx.tools.map((each) => each.name);
      })
      .addEdge(START, 'model');
    if (inside) return graph.addNode('inside', inside).addEdge('model', 'inside').compile();
    if (tools.length === 0) return graph.compile();
    return graph
      .addNode('tools', toolNode(tools.map(named)))
      .addEdge('model', 'tools')
      .compile();
  };
  const graph = new StateGraph({})
    .addNode('one', agent('one', ['a', 'both']))
    .addNode('two', agent('two', [], agent('inside', ['b', 'both'])))
    .addNode('bare', agent('bare', []))
    .addNode('own', toolNode([named('c')]))
    .addEdge(START, 'one')
    .addEdge(START, 'two')
    .addEdge(START, 'bare')
    .addEdge('bare', 'own')
    .compile();
  const remote = { name: 'remote', description: '', parameters: { type: 'object' } };
  await walk(graph, { run: { tools: [...graph.tools, remote] } });
  t.deepEqual(offered, {
    one: ['a', 'both', 'remote'],
    two: ['b', 'both', 'remote'],
    inside: ['b', 'both', 'remote'],
    bare: ['a', 'both', 'b', 'both', 'c', 'remote'],
  });
});
