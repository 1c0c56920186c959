import test, { type ExecutionContext } from 'ava';
import { END, START, StateGraph, type CompiledGraph, type ModelUsage } from '@agent-workflow/graph';
import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { call, endOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const replicasFor = async (t: ExecutionContext): Promise<Replicas> => {
  const replicas = await openReplicas();
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return replicas;
};

const used = (inputTokens: number, outputTokens: number): ModelUsage => ({ model: 'm', inputTokens, outputTokens });

/** The second node fails once and begins again. */
function threeSteps(third: () => Promise<unknown> | undefined): CompiledGraph {
  let tries = 0;
  return new StateGraph({})
    .addNode('one', (_, { usage }) => {
      usage(used(1, 2));
    })
    .addNode(
      'two',
      (_, { usage }) => {
        usage(used(10, 20));
        if (tries++ === 0) throw new Error('not yet');
      },
      { retry: { maxAttempts: 2, initialDelayMs: 0 } },
    )
    .addNode('three', async () => {
      await third();
    })
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', 'three')
    .addEdge('three', END)
    .compile();
}

/** The checkpoints of the run's steps, the first step first. */
async function stepsOf({ threads }: Replicas, runId: string): Promise<readonly ThreadCheckpoint[]> {
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId: 't1', limit: 100, offset: 0 }, call());
  return checkpoints.filter((each) => each.source === 'step' && each.runId === runId).toReversed();
}

/** How each step ran, without its time, which lies between the step before and its own end. */
function timed(t: ExecutionContext, steps: readonly ThreadCheckpoint[]): unknown[] {
  let before = 0;
  return steps.map(({ nodes, step, work, createdAt }) => {
    const { startedAt = Number.NaN, ...rest } = work ?? {};
    t.true(
      before <= startedAt && startedAt <= createdAt,
      `${String(before)} ${String(startedAt)} ${String(createdAt)}`,
    );
    before = createdAt;
    return [step, ...nodes, rest];
  });
}

test('the checkpoint of a step has its times, its attempt, its retries and its tokens', async (t) => {
  const replicas = await replicasFor(t);
  const begun = Promise.withResolvers<undefined>();
  const dying = await replicas.open({
    graph: threeSteps(async () => {
      begun.resolve(undefined);
      return new Promise<never>(() => undefined);
    }),
  });
  const { runId } = await start(dying.execution, { threadId: 't1' });
  await begun.promise;
  dying.kill();
  const { execution } = await replicas.open({ graph: threeSteps(() => undefined) });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(timed(t, await stepsOf(replicas, runId)), [
    [0, 'one', { attempt: 1, retries: 0, inputTokens: 1, outputTokens: 2 }],
    [1, 'two', { attempt: 1, retries: 1, inputTokens: 20, outputTokens: 40 }],
    [2, 'three', { attempt: 2, retries: 0, inputTokens: 0, outputTokens: 0 }],
  ]);
});

test('the step in which a run failed has its times and tokens, too', async (t) => {
  const replicas = await replicasFor(t);
  const graph = new StateGraph({})
    .addNode('fails', (_, { usage }) => {
      usage(used(3, 4));
      throw new Error('no');
    })
    .addEdge(START, 'fails')
    .compile();
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, { threadId: 't1' });
  await endOf(execution, runId);
  t.deepEqual(timed(t, await stepsOf(replicas, runId)), [[0, { attempt: 1, inputTokens: 3, outputTokens: 4 }]]);
});
