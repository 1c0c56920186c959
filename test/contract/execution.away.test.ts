import test from 'ava';
import { END, START, StateGraph, type CompiledGraph } from '@agent-workflow/execution/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Threads } from '@agent-workflow/protos/threads';
import { call, endOf, owner, resultOf, start, user } from './execution.ts';
import { openReplicas, type Ground } from './replicas.ts';

/** A graph of two nodes that counts how often each has run. */
function counting(): { readonly graph: CompiledGraph; readonly runs: Record<string, number> } {
  const runs: Record<string, number> = { first: 0, second: 0 };
  const node = (name: string) => (): void => {
    runs[name] = (runs[name] ?? 0) + 1;
  };
  const graph = new StateGraph({})
    .addNode('first', node('first'))
    .addNode('second', node('second'))
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
  return { graph, runs };
}

const through = (change: (threads: Threads) => Partial<Threads>) => (ground: Ground) => ({
  threads: { ...ground.threads, ...change(ground.threads) },
});

/** Accepted runs wait in the queue, so that each is claimed by a call of its own. */
const queued = (threads: Threads): Pick<Threads, 'acceptRun'> => ({
  acceptRun: async ({ claim: _, ...request }, at) => threads.acceptRun(request, at),
});

test('a step whose commit the record does not take for now is committed when it does, and has run once', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = counting();
  let refusals = 0;
  const { execution } = await replicas.open({
    graph,
    sweepMs: 20,
    through: through((threads) => ({
      commitStep: async (request, at) => {
        if (refusals++ < 4) throw unavailable('the store cannot be written right now');
        return threads.commitStep(request, at);
      },
    })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(runs, { first: 1, second: 1 });
});

test('a run that is stopped while its commit waits for the record ends as stopped, and its place is free', async (t) => {
  await using replicas = await openReplicas();
  const { graph } = counting();
  const waits = Promise.withResolvers<undefined>();
  let isAway = true;
  const { execution } = await replicas.open({
    graph,
    env: { RUN_CONCURRENCY: '1' },
    through: through((threads) => ({
      commitStep: async (request, at) => {
        if (!isAway) return threads.commitStep(request, at);
        waits.resolve(undefined);
        throw unavailable('the store cannot be written right now');
      },
    })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  await waits.promise;
  await execution.stopRun({ owner, runId }, call());
  isAway = false;
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'stopped');
  const next = await start(execution, { threadId: 't2', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, next.runId)).meta.status, 'completed');
});

test('claims whose answers the store could not give do not count towards giving the run up', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = counting();
  let lost = 0;
  const { execution } = await replicas.open({
    graph,
    sweepMs: 20,
    through: through((threads) => ({
      ...queued(threads),
      claimRun: async (request, at) => {
        const claimed = await threads.claimRun(request, at);
        if (lost++ < 3) throw unavailable('the store cannot be read right now');
        return claimed;
      },
    })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(runs, { first: 1, second: 1 });
  t.is(lost, 4);
});

test('a run that the record cannot be claimed from for now is claimed when it can, without a sweep', async (t) => {
  await using replicas = await openReplicas();
  const { graph } = counting();
  let refusals = 0;
  const { execution } = await replicas.open({
    graph,
    through: through((threads) => ({
      ...queued(threads),
      claimRun: async (request, at) => {
        if (refusals++ < 2) throw unavailable('the store cannot be written right now');
        return threads.claimRun(request, at);
      },
    })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
});
