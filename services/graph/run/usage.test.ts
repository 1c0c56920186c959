import test from 'ava';
import { noUsage, type ModelUsage } from '@agent-workflow/protos/usage';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph, type NodeFunction } from '../build/graph.ts';
import type { NodePolicy } from '../build/policy.ts';
import { send } from '../build/send.ts';
import { tool, toolNode } from '../build/tool.ts';
import { walk } from '../testing.ts';
import { surroundCode } from './around.ts';
import { interrupt } from './interrupt.ts';

const used = (model: string, inputTokens: number, outputTokens = 0): ModelUsage => ({
  model,
  inputTokens,
  outputTokens,
});

type Work = NodeFunction<Record<string, never>>;

const graphOf = (work: Work | CompiledGraph, policy?: NodePolicy): CompiledGraph =>
  new StateGraph({}).addNode('work', work, policy).addEdge(START, 'work').compile();

const twice = { retry: { maxAttempts: 2, initialDelayMs: 0 } };
const parameters = { type: 'object' };

test('what nodes, tools, sub-graphs and branches report is summed by model', async (t) => {
  const search = tool({ name: 'search', description: '', parameters }, (_, { usage }) => usage(used('small', 5, 1)));
  const graph = new StateGraph({})
    .addNode('ask', (_, { usage, emit }) => {
      usage(used('large', 100, 10));
      usage(used('large', 50, 5));
      for (const id of ['c1', 'c2']) emit({ type: 'tool_call', id, name: 'search', args: {} });
    })
    .addNode('tools', toolNode([search]))
    .addNode(
      'sub',
      graphOf((_, { usage }) => usage(used('inner', 7))),
    )
    .addNode('branch', (_, { usage, input }) => usage(used('large', Number(input))))
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .addEdge('tools', 'sub')
    .addConditionalEdges('sub', () => [send('branch', 1000), send('branch', 2000)])
    .compile();
  t.deepEqual((await walk(graph)).usage, [used('inner', 7), used('large', 3150, 15), used('small', 10, 2)]);
});

test('the tokens of an attempt that failed count, because they were taken', async (t) => {
  let attempts = 0;
  const graph = graphOf((_, { usage }) => {
    usage(used('m', 10));
    if (++attempts === 1) throw new Error('once');
    usage(used('m', 1));
  }, twice);
  t.deepEqual((await walk(graph)).usage, [used('m', 21)]);
});

test('a node that sleeps reports what it took up to its sleep, and starts over after it', async (t) => {
  const graph = graphOf(async (_, { usage, sleep }) => {
    usage(used('model', 1));
    await sleep(3_600_000);
    usage(used('model', 10));
  });
  const asleep = await walk(graph, { stopsAsleep: true });
  t.deepEqual(asleep.usage, [used('model', 1)]);
  t.deepEqual((await walk(graph)).usage, [used('model', 12)]);
});

test('a node that asks reports what it took up to the question, and starts over with the answer', async (t) => {
  const graph = graphOf((_, { usage }) => {
    usage(used('m', 10));
    interrupt('go on?');
    usage(used('m', 1));
  });
  const asked = await walk(graph);
  t.deepEqual(asked.usage, [used('m', 10)]);
  const [question] = asked.interrupts;
  const answered = await walk(graph, { from: asked, answers: { [question?.id ?? '']: 'yes' } });
  t.deepEqual(answered.usage, [used('m', 11)]);
});

test('what was started and not awaited reports nothing once its node or tool has ended', async (t) => {
  const late: ((usage: ModelUsage) => void)[] = [];
  const keeper = tool({ name: 'keep', description: '', parameters }, (_, { usage }) => void late.push(usage));
  const graph = new StateGraph({})
    .addNode('ask', (_, { usage, emit }) => {
      late.push(usage);
      emit({ type: 'tool_call', id: 'c', name: 'keep', args: {} });
    })
    .addNode('tools', toolNode([keeper]))
    .addNode('end', () => {
      for (const report of late) report(used('late', 1));
    })
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .addEdge('tools', 'end')
    .compile();
  const { usage } = await walk(graph);
  t.is(late.length, 2);
  t.deepEqual(usage, noUsage);
});

test('an attempt that has reached its timeout reports nothing more', async (t) => {
  let attempts = 0;
  const graph = graphOf(
    async (_, { usage, signal }) => {
      if (++attempts > 1) return;
      usage(used('m', 1));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      usage(used('m', 100));
    },
    { ...twice, timeoutMs: 20 },
  );
  t.deepEqual((await walk(graph)).usage, [used('m', 1)]);
});

test('bad usage fails the node in a sentence that names the member, unless the node catches it', async (t) => {
  const bad = { model: 'm', inputTokens: -1, outputTokens: 0 };
  const message = 'node "work" failed: usage(): inputTokens must be a whole number from 0 to 9007199254740991';
  await t.throwsAsync(walk(graphOf((_, { usage }) => usage(bad))), { message });
  const catching = graphOf((_, { usage }) => {
    t.throws(() => usage(bad));
    usage(used('m', 1));
  });
  t.deepEqual((await walk(catching)).usage, [used('m', 1)]);
});

test('a run that names too many models fails at the node that names one more, and the node is not tried again', async (t) => {
  let attempts = 0;
  const graph = graphOf((_, { usage }) => {
    attempts++;
    for (let model = 0; model < 65; model++) usage(used(`m-${String(model)}`, 1));
  }, twice);
  await t.throwsAsync(walk(graph), { message: 'node "work": usage(): the run names more than 64 models' });
  t.is(attempts, 1);
});

const fanOut = (work: Work | CompiledGraph): CompiledGraph =>
  new StateGraph({})
    .addNode('work', work, { maxConcurrency: 1, retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addConditionalEdges(START, () => [1, 2, 3, 4].map((input) => send('work', input)), ['work'])
    .compile();

for (const [what, toWork] of [
  ['a function', (work: Work) => work],
  ['a sub-graph', (work: Work) => graphOf(work)],
] as const) {
  test(`a step that runs again counts each branch once, those on record included: ${what}`, async (t) => {
    const stored = new Map<string, string>();
    const failed = new Set<unknown>();
    const graph = fanOut(
      toWork((_, { usage, input }) => {
        usage(used('m', 10 ** (Number(input) - 1)));
        if (input !== 2 || failed.has(input)) return;
        failed.add(input);
        throw new Error('once');
      }),
    );
    const find = (key: string): Promise<string | undefined> => Promise.resolve(stored.get(key));
    const dying = (key: string, result: string): Promise<void> => {
      if (stored.size === 2) return Promise.reject(new Error('the process died'));
      stored.set(key, result);
      return Promise.resolve();
    };
    await t.throwsAsync(walk(graph, { branchRecords: { find, save: dying } }), { message: 'the process died' });
    const { usage } = await walk(graph, { branchRecords: { find, save: () => Promise.resolve() } });
    // The second branch was tried twice before its result was stored.
    t.deepEqual(usage, [used('m', 1121)]);
  });
}

test('who surrounds the code of an agent is given what each function reported, also when it failed', async (t) => {
  const ended: unknown[] = [];
  let attempts = 0;
  const work: Work = (_, { usage }) => {
    usage(used('m', 2, 1));
    usage(used('m', 3, 1));
    if (++attempts === 1) throw new Error('once');
  };
  const graph = surroundCode(graphOf(work, twice), ({ kind, name }) => ({
    run: (code) => code(),
    end: (how, usage) => ended.push([kind, name, how, usage]),
  }));
  const { usage } = await walk(graph);
  t.deepEqual(ended, [
    ['node', 'work', 'failed', [used('m', 5, 2)]],
    ['node', 'work', 'ok', [used('m', 5, 2)]],
  ]);
  t.deepEqual(usage, [used('m', 10, 4)]);
});

test('why an answer ended stands on the message that emitted last, and is counted by model', async (t) => {
  const graph = graphOf((_, { usage, emit, openMessage }) => {
    emit('Hel');
    usage({ ...used('large', 1), finishReason: 'length' });
    usage({ ...used('small', 1), finishReason: 'stop' });
    openMessage().emit('lo');
    usage({ finishReason: 'unknown' });
    openMessage().emit('!');
    usage(used('small', 1));
  });
  const { state, usage } = await walk(graph);
  t.deepEqual(
    state.context.map(({ metadata }) => metadata),
    [{ finish_reason: 'length' }, { finish_reason: 'unknown' }, undefined],
  );
  t.deepEqual(usage, [
    { ...used('large', 1), finishReasons: { length: 1 } },
    { ...used('small', 2), finishReasons: { stop: 1 } },
  ]);
});
