import test from 'ava';
import { createRegistry } from '@agent-workflow/execution/record/registry';
import { createOpenRunCounts } from '@agent-workflow/execution/worker/open-run-counts';
import { createSweep } from '@agent-workflow/execution/worker/sweep';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { never } from '@agent-workflow/protos/call';
import { call, owner, start } from '../contract/execution/calls.ts';
import { user } from '../contract/execution/messages.ts';
import { openReplicas, withoutTaking } from '../contract/replicas.ts';

const graph = new StateGraph({})
  .addNode('talk', () => undefined)
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

test('a run is counted by the sweep that enqueues it first, and again after its next worker has died', async (t) => {
  await using replicas = await openReplicas();
  const { threads, leases } = replicas;
  const { execution, drain } = await replicas.open({ graph, through: withoutTaking });
  await drain(0);
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  const enqueued: (number | undefined)[] = [];
  const sweep = createSweep({
    ...{ threads, leases, waitingMs: 0 },
    queue: {
      ...replicas.queue,
      enqueue: async ({ takeoverEpoch }) => {
        enqueued.push(takeoverEpoch);
        return Promise.resolve();
      },
    },
    counts: createOpenRunCounts(() => undefined),
    registry: createRegistry(threads),
    pace: {
      begin: () => ({ isAfterDeath: false, isOutdated: () => false, partRuns: 100, pauseMs: 0, end: () => undefined }),
    },
    onlyOwn: false,
    signal: never,
  });
  const run = { owner, threadId: 't1', runId };
  const counts = [await sweep(undefined), await sweep(undefined)];
  const { epoch } = await threads.claimRun({ ...run, workerId: 'dead' }, call());
  counts.push(await sweep(undefined), await sweep(undefined));
  await threads.claimRun({ ...run, workerId: 'dead too', takeoverEpoch: epoch }, call());
  counts.push(await sweep(undefined), await sweep(undefined));
  t.deepEqual(counts, [1, 0, 1, 0, 1, 0]);
  t.is(enqueued.length, 6);
});
