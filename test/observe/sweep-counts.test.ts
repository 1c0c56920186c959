import test from 'ava';
import { createRegistry } from '@agent-workflow/execution/record/registry';
import { createOpenRunCounts } from '@agent-workflow/execution/worker/open-run-counts';
import { createSweep } from '@agent-workflow/execution/worker/sweep';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { never } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { call, owner, start } from '../contract/execution/calls.ts';
import { user } from '../contract/execution/messages.ts';
import { openReplicas, withoutTaking, type Replicas } from '../contract/replicas.ts';

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

const waiting = 95;
const partRuns = 10;

/** Sweeps that read ten runs at once, the first one for its own sake and the next after a death. */
function createTwoSweeps({ threads, leases, queue }: Pick<Replicas, 'threads' | 'leases' | 'queue'>) {
  const pages: string[][] = [];
  const enqueued: { readonly runId: string; readonly pages: number }[] = [];
  let isAfterDeath = false;
  const sweep = createSweep({
    threads: {
      ...threads,
      listOpenRuns: async (...asked) => {
        const reply = await threads.listOpenRuns(...asked);
        pages.push(reply.runs.map(({ runId }) => runId));
        return reply;
      },
    },
    ...{ leases, waitingMs: 60_000, onlyOwn: false, signal: never, registry: createRegistry(threads) },
    queue: {
      ...queue,
      enqueue: async ({ runId }) => {
        enqueued.push({ runId, pages: pages.length });
        return Promise.resolve();
      },
    },
    counts: createOpenRunCounts(() => undefined),
    pace: { begin: () => ({ isAfterDeath, isOutdated: () => false, partRuns, pauseMs: 0, end: () => undefined }) },
  });
  return {
    before: async () => sweep(undefined),
    afterDeath: async () => {
      [isAfterDeath, pages.length, enqueued.length] = [true, 0, 0];
      await sweep(undefined);
      return { pages, enqueued };
    },
  };
}

/** As many runs as wait, and then two sweeps between which one more is accepted, and one that a dead worker has is the oldest. */
async function sweepBeside(replicas: Replicas, threads: Threads) {
  const { execution, drain } = await replicas.open({ graph, through: withoutTaking });
  await drain(0);
  const accept = async (threadId: string): Promise<string> =>
    (await start(execution, { threadId, messages: [user('go')] })).runId;
  const oldest = await accept('oldest');
  await replicas.threads.claimRun({ owner, threadId: 'oldest', runId: oldest, workerId: 'dead' }, call());
  for (let run = 0; run < waiting; run++) await accept(`t${String(run)}`);
  const sweeps = createTwoSweeps({ ...replicas, threads });
  await sweeps.before();
  const newest = await accept('newest');
  return { oldest, newest, ...(await sweeps.afterDeath()) };
}

test('after a death the oldest and the newest of many open runs are enqueued first, and each run is read once', async (t) => {
  await using replicas = await openReplicas();
  const { oldest, newest, pages, enqueued } = await sweepBeside(replicas, replicas.threads);
  t.deepEqual(enqueued, [
    { runId: oldest, pages: 1 },
    { runId: newest, pages: 2 },
  ]);
  t.is(new Set(pages.flat()).size, waiting + 2);
  t.true(pages.length <= Math.ceil((waiting + 2) / partRuns) + 1);
});
