import test, { type ExecutionContext } from 'ava';
import {
  END,
  interrupt,
  send,
  START,
  StateGraph,
  tool,
  toolNode,
  type CompiledGraph,
  type ModelUsage,
} from '@agent-workflow/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import { fromUsageJson } from '@agent-workflow/protos/usage';
import { call, endOf, invoke, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const used = (inputTokens: number, outputTokens = 0, model = 'm'): ModelUsage => ({ model, inputTokens, outputTokens });

const replicasFor = async (t: ExecutionContext): Promise<Replicas> => {
  const replicas = await openReplicas();
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return replicas;
};

const runOf = async ({ threads }: Replicas, runId: string): Promise<Run> => threads.getRun({ owner, runId }, call());
const usageOf = async (replicas: Replicas, runId: string): Promise<readonly ModelUsage[]> =>
  fromUsageJson((await runOf(replicas, runId)).usageJson);

const never = new Promise<never>(() => undefined);

/** Each node reports a power of ten: sums tell which nodes were counted, and how often. */
const threeSteps = (third: () => Promise<unknown>): CompiledGraph =>
  new StateGraph({})
    .addNode('one', (_, { usage }) => usage(used(1, 2)))
    .addNode('two', (_, { usage }) => usage(used(10, 20, 'other')))
    .addNode('three', async (_, { usage }) => {
      usage(used(100, 200));
      await third();
    })
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', 'three')
    .addEdge('three', END)
    .compile();

test('the tokens of a run are in its result and on its record, summed by model', async (t) => {
  const replicas = await replicasFor(t);
  const { execution } = await replicas.open({ graph: threeSteps(async () => Promise.resolve()) });
  const { runId } = await start(execution, { threadId: 't1' });
  const { metadata } = resultOf(await endOf(execution, runId));
  const usage = {
    models: { m: { input_tokens: 101, output_tokens: 202 }, other: { input_tokens: 10, output_tokens: 20 } },
    input_tokens: 111,
    output_tokens: 222,
  };
  t.deepEqual(metadata, { ...metadata, message: 'completed', usage });
  t.deepEqual(await usageOf(replicas, runId), [used(101, 202), used(10, 20, 'other')]);
});

test('a run that reports nothing has no usage, neither in its result nor on its record', async (t) => {
  const replicas = await replicasFor(t);
  const graph = new StateGraph({})
    .addNode('quiet', () => undefined)
    .addEdge(START, 'quiet')
    .compile();
  const { execution } = await replicas.open({ graph });
  const { metadata, meta } = await invoke(execution, { threadId: 't1' });
  t.false('usage' in metadata);
  t.false('usageJson' in (await runOf(replicas, meta.run_id)));
});

test('however often workers die in a step, what its committed steps took counts once', async (t) => {
  const replicas = await replicasFor(t);
  const begun = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const dying = async (index: number): Promise<() => void> => {
    const graph = threeSteps(async () => {
      begun[index]?.resolve(undefined);
      return never;
    });
    const { execution, kill } = await replicas.open({ graph });
    if (index === 0) ({ runId } = await start(execution, { threadId: 't1' }));
    await begun[index]?.promise;
    return kill;
  };
  let runId = '';
  for (const index of [0, 1]) (await dying(index))();
  t.deepEqual(await usageOf(replicas, runId), [used(1, 2), used(10, 20, 'other')]);
  const { execution } = await replicas.open({ graph: threeSteps(async () => Promise.resolve()) });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await usageOf(replicas, runId), [used(101, 202), used(10, 20, 'other')]);
});

test('a commit whose reply was lost is repeated and counts once', async (t) => {
  const replicas = await replicasFor(t);
  let losses = 0;
  const { execution } = await replicas.open({
    graph: threeSteps(async () => Promise.resolve()),
    through: ({ threads }) => ({
      threads: {
        ...threads,
        commitStep: async (request, at) => {
          const reply = await threads.commitStep(request, at);
          if (losses++ % 2 === 0) throw unavailable('the reply was lost');
          return reply;
        },
      },
    }),
  });
  const { meta } = await invoke(execution, { threadId: 't1' });
  t.is(losses, 6);
  t.deepEqual(await usageOf(replicas, meta.run_id), [used(101, 202), used(10, 20, 'other')]);
});

test('branches whose results are on record count once, whichever worker ran them', async (t) => {
  const replicas = await replicasFor(t);
  const fanOut = (visit: (item: number) => Promise<void> | void): CompiledGraph =>
    new StateGraph({})
      .addNode(
        'work',
        async (_, { input, usage }) => {
          const item = Number(input);
          usage(used(10 ** item));
          await visit(item);
        },
        { maxConcurrency: 1 },
      )
      .addConditionalEdges(START, () => [0, 1, 2, 3].map((item) => send('work', item)), ['work'])
      .compile();
  let runId = '';
  for (const diesAt of [1, 2, 3]) {
    const begun = Promise.withResolvers<undefined>();
    const graph = fanOut(async (item) => {
      if (item < diesAt) return;
      begun.resolve(undefined);
      await never;
    });
    const { execution, kill } = await replicas.open({ graph });
    if (diesAt === 1) ({ runId } = await start(execution, { threadId: 't1' }));
    await begun.promise;
    kill();
  }
  const { execution } = await replicas.open({ graph: fanOut(() => undefined) });
  await endOf(execution, runId);
  t.deepEqual(await usageOf(replicas, runId), [used(1111)]);
});

test('a call that is made at most once counts once when its node is tried again beside it', async (t) => {
  const replicas = await replicasFor(t);
  const declaration = { description: '', parameters: { type: 'object' } } as const;
  const pay = tool({ name: 'pay', ...declaration, replay: 'once' }, (_, { usage }) => usage(used(1)));
  let attempts = 0;
  const search = tool({ name: 'search', ...declaration }, async (_, { usage }) => {
    usage(used(10));
    if (++attempts === 1) await never;
  });
  const graph = new StateGraph({})
    .addNode('ask', (_, { emit }) => {
      for (const name of ['pay', 'search']) emit({ type: 'tool_call', id: name, name, args: {} });
    })
    .addNode('tools', toolNode([pay, search]), { timeoutMs: 200, retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addEdge(START, 'ask')
    .addEdge('ask', 'tools')
    .compile();
  const { execution } = await replicas.open({ graph });
  const { meta } = await invoke(execution, { threadId: 't1' });
  t.is(attempts, 2);
  t.deepEqual(await usageOf(replicas, meta.run_id), [used(21)]);
});

test('an interrupted run has what it took up to its question, and the run that answers has a sum of its own', async (t) => {
  const replicas = await replicasFor(t);
  const graph = new StateGraph({})
    .addNode('ask', (_, { usage }) => {
      usage(used(10));
      interrupt('go on?');
      usage(used(1));
    })
    .addEdge(START, 'ask')
    .compile();
  const { execution } = await replicas.open({ graph });
  const asked = await invoke(execution, { threadId: 't1' });
  const answered = await invoke(execution, { threadId: 't1', messages: [], resumeJson: Buffer.from('"yes"') });
  t.is(asked.meta.status, 'interrupted');
  t.is(answered.meta.status, 'completed');
  t.deepEqual(await usageOf(replicas, asked.meta.run_id), [used(10)]);
  t.deepEqual(await usageOf(replicas, answered.meta.run_id), [used(11)]);
});

test('a failed run has the tokens of the step that failed it, too', async (t) => {
  const replicas = await replicasFor(t);
  const graph = threeSteps(async () => Promise.reject(new Error('no')));
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, { threadId: 't1' });
  t.is((await endOf(execution, runId)).event, 'error');
  t.deepEqual(await usageOf(replicas, runId), [used(101, 202), used(10, 20, 'other')]);
});

test('a stopped run has the tokens of its committed steps', async (t) => {
  const replicas = await replicasFor(t);
  const begun = Promise.withResolvers<undefined>();
  const graph = threeSteps(async () => {
    begun.resolve(undefined);
    return never;
  });
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, { threadId: 't1' });
  await begun.promise;
  await execution.stopRun({ owner, runId }, call());
  const { meta, metadata } = resultOf(await endOf(execution, runId));
  t.is(meta.status, 'stopped');
  t.deepEqual((metadata['usage'] as { readonly input_tokens: number }).input_tokens, 11);
  t.deepEqual(await usageOf(replicas, runId), [used(1, 2), used(10, 20, 'other')]);
});
