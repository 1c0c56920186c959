import test from 'ava';
import { registerAgents } from '@agent-workflow/execution/api/registration';
import { atRevision, namedAgents, type Agents } from '@agent-workflow/execution/record/agents';
import { createRegistry } from '@agent-workflow/execution/record/registry';
import { createRevisionRuns } from '@agent-workflow/execution/revision-runs';
import { createOpenRunCounts } from '@agent-workflow/execution/worker/open-run-counts';
import { createSweep } from '@agent-workflow/execution/worker/sweep';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { unavailable } from '@agent-workflow/kit/errors';
import { never } from '@agent-workflow/protos/call';
import { call, start } from '../contract/execution/calls.ts';
import { user } from '../contract/execution/messages.ts';
import { openReplicas, withoutTaking, type Replicas } from '../contract/replicas.ts';

const graph = new StateGraph({})
  .addNode('talk', () => undefined)
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();

const supportAt = (revision: string): Agents & { readonly revision: string } => ({
  ...atRevision(namedAgents([{ name: 'support', graph }], 'support'), revision),
  revision,
});

const go = { messages: [user('go')] };

/** Sweeps over the record, and counts what the last sweep found. */
function createCounting({ threads, queue, leases }: Pick<Replicas, 'threads' | 'queue' | 'leases'>): {
  readonly sweep: () => Promise<Readonly<Record<string, number>>>;
  readonly counts: () => Readonly<Record<string, number>>;
  readonly count: () => Promise<void>;
} {
  const registry = createRegistry(threads);
  const revisionRuns = createRevisionRuns({ queue, leases, registry });
  const sweep = createSweep({
    ...{ threads, leases, queue: { ...queue, enqueue: async () => Promise.resolve() }, waitingMs: 30_000 },
    counts: createOpenRunCounts(revisionRuns.see),
    registry,
    pace: {
      begin: () => ({ isAfterDeath: false, isOutdated: () => false, partRuns: 100, pauseMs: 0, end: () => undefined }),
    },
    onlyOwn: false,
    signal: never,
  });
  const counts = () =>
    Object.fromEntries(revisionRuns.read().map(({ agent, revision, runs }) => [`${agent} ${revision}`, runs]));
  return {
    ...{ counts, count: revisionRuns.count },
    sweep: async () => {
      await sweep(undefined);
      await revisionRuns.count();
      return counts();
    },
  };
}

test('runs are counted by revision, also where there are none, until the revision is retired', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  const { sweep } = createCounting(replicas);
  t.deepEqual(await sweep(), {});
  await registerAgents(supportAt('v1'), threads, 'auto');
  t.deepEqual(await sweep(), { 'support v1': 0 });
  const { execution, drain } = await replicas.open({ graph: supportAt('v1'), through: withoutTaking });
  await drain(0);
  await start(execution, { ...go, threadId: 't1' });
  await start(execution, { ...go, threadId: 't2' });
  await registerAgents(supportAt('v2'), threads, 'auto');
  await start(execution, { ...go, threadId: 't3' });
  t.deepEqual(await sweep(), { 'support v1': 2, 'support v2': 1 });
  await threads.retireRevision({ agent: 'support', revision: 'v1' }, call());
  t.deepEqual(Object.keys(await sweep()), ['support v2']);
});

test('a run that is in the queue and in no sweep counts: nobody would wake it where there are no workers', async (t) => {
  await using replicas = await openReplicas();
  const { threads, queue } = replicas;
  const { sweep, counts } = createCounting(replicas);
  await registerAgents(supportAt('v1'), threads, 'auto');
  await sweep();
  const run = { owner: 'u:ada', threadId: 't1', agent: 'support' };
  await queue.enqueue({ ...run, runId: 'asleep', revision: 'v1' });
  await queue.enqueue({ ...run, threadId: 't2', runId: 'without-a-revision' });
  t.deepEqual(counts(), { 'support v1': 2 });
});

test('runs that were claimed since the queue was counted are counted once, also where it cannot be counted', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  const queue = { waiting: 40, counted: 40, isAway: false };
  const { sweep, counts } = createCounting({
    ...replicas,
    queue: {
      ...replicas.queue,
      backlogs: () => [{ agent: 'support', revision: 'v1', waiting: queue.counted }],
      recount: async () => {
        if (queue.isAway) throw unavailable('the queue is unavailable');
        queue.counted = queue.waiting;
        return Promise.resolve();
      },
    },
    threads: {
      ...threads,
      listOpenRuns: async () => {
        const run = { runId: '', owner: 'u:ada', threadId: 't1', agent: 'support', revision: 'v1', runnable: true };
        const times = { createdAt: 0, updatedAt: 0, workerId: 'w', epoch: 1, requestId: '', isNewThread: false };
        const runs = Array.from({ length: 40 }, (_, index) => ({
          ...({
            ...run,
            ...times,
            runId: `r${String(index)}`,
            granularity: 'full',
            nodes: [],
            optionsJson: new Uint8Array(),
          } as const),
          status: index < 40 - queue.waiting ? ('running' as const) : ('queued' as const),
        }));
        return Promise.resolve({ runs });
      },
    },
    leases: { ...replicas.leases, isAlive: async () => Promise.resolve(true) },
  });
  await registerAgents(supportAt('v1'), threads, 'auto');
  t.deepEqual(await sweep(), { 'support v1': 40 });
  queue.waiting = 10;
  t.deepEqual(counts(), { 'support v1': 40 });
  t.deepEqual(await sweep(), { 'support v1': 40 });
  [queue.waiting, queue.isAway] = [0, true];
  t.deepEqual(await sweep(), { 'support v1': 40 });
});

test('every replica shows the runs of all processes', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  await registerAgents(supportAt('v1'), threads, 'auto');
  const { execution, drain } = await replicas.open({ graph: supportAt('v1'), through: withoutTaking });
  await drain(0);
  for (const threadId of ['t1', 't2']) await start(execution, { ...go, threadId });
  for (const { sweep } of Array.from({ length: 3 }, () => createCounting(replicas)))
    t.deepEqual(await sweep(), { 'support v1': 2 });
});

test('revisions stay as they were known while the record does not answer', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  let isAway = false;
  const { sweep } = createCounting({
    ...replicas,
    threads: {
      ...threads,
      listRegisteredAgents: async (...asked) =>
        isAway ? Promise.reject(unavailable('the record is unavailable')) : threads.listRegisteredAgents(...asked),
    },
  });
  await registerAgents(supportAt('v1'), threads, 'auto');
  await sweep();
  isAway = true;
  t.deepEqual(await sweep(), { 'support v1': 0 });
});

test('what workers show replaces what the last sweep found with them, until they are dead', async (t) => {
  await using replicas = await openReplicas();
  const { threads, leases } = replicas;
  const runs = ['silent', 'shows', 'shows'].map((workerId, index) => ({
    ...({ runId: `r${String(index)}`, owner: 'u:ada', threadId: 't1', agent: 'support', revision: 'v1' } as const),
    ...({ createdAt: 0, updatedAt: 0, workerId, epoch: 1, requestId: '', isNewThread: false } as const),
    ...({ status: 'running', granularity: 'full', optionsJson: new Uint8Array(), runnable: true, nodes: [] } as const),
  }));
  const { sweep, counts } = createCounting({
    ...replicas,
    threads: { ...threads, listOpenRuns: async () => Promise.resolve({ runs }) },
  });
  await registerAgents(supportAt('v1'), threads, 'auto');
  for (const workerId of ['silent', 'shows']) await leases.renew(workerId, 60_000);
  t.deepEqual(await sweep(), { 'support v1': 3 });
  leases.showDriven('shows', [{ agent: 'support', revisions: [{ revision: 'v1', runs: 7 }, { runs: 1 }] }]);
  t.deepEqual(counts(), { 'support v1': 1 + 8 });
  leases.showDriven('shows', [{ agent: 'support', revisions: [] }]);
  t.deepEqual(counts(), { 'support v1': 1 });
  await leases.release('shows');
  t.deepEqual(counts(), { 'support v1': 3 });
});

test('runs that wait behind another of their thread are not counted: no worker can claim them', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  const { sweep } = createCounting(replicas);
  await registerAgents(supportAt('v1'), threads, 'auto');
  const { execution, drain } = await replicas.open({ graph: supportAt('v1'), through: withoutTaking });
  await drain(0);
  for (let turn = 0; turn < 3; turn++) await start(execution, { ...go, threadId: 't1' });
  t.deepEqual(await sweep(), { 'support v1': 1 });
});

test('a revision that was registered since the last sweep is counted without another one', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  const { sweep, count, counts } = createCounting(replicas);
  await registerAgents(supportAt('v1'), threads, 'auto');
  await sweep();
  await registerAgents(supportAt('v2'), threads, 'auto');
  await replicas.queue.enqueue({ owner: 'u:ada', threadId: 't1', runId: 'r1', agent: 'support', revision: 'v2' });
  await count();
  t.deepEqual(counts(), { 'support v1': 0, 'support v2': 1 });
});

test('a sweep reads the registry once, however many runs and pages it goes through', async (t) => {
  await using replicas = await openReplicas();
  const { threads } = replicas;
  let reads = 0;
  const { sweep } = createCounting({
    ...replicas,
    threads: {
      ...threads,
      listRegisteredAgents: async (...asked) => {
        reads++;
        return threads.listRegisteredAgents(...asked);
      },
    },
  });
  await registerAgents(supportAt('v1'), threads, 'auto');
  const { execution, drain } = await replicas.open({ graph: supportAt('v1'), through: withoutTaking });
  await drain(0);
  for (let index = 0; index < 120; index++) await start(execution, { ...go, threadId: `t${String(index)}` });
  reads = 0;
  t.deepEqual(await sweep(), { 'support v1': 120 });
  t.is(reads, 2, 'one of them by the count');
});
