import test from 'ava';
import { START, StateGraph } from '@agent-workflow/graph';
import { isServiceError } from '@agent-workflow/kit/errors';
import { call, endOf, owner, start } from './execution/calls.ts';
import { gates, passGate } from './execution/gates.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type ReplicaOptions, type Replicas } from './replicas.ts';

const graph = new StateGraph({})
  .addNode('only', async (state, ctx) => {
    await passGate(state.context, ctx);
    await ctx.memory.store({ content: `said on ${ctx.threadId}` });
  })
  .addEdge(START, 'only')
  .compile();

const hourMs = 3_600_000;
/** A replica that looks after idle threads, at its start, so much later. */
const later = (ms: number, ttl = '3600'): ReplicaOptions => ({
  graph,
  env: { THREAD_TTL: ttl },
  now: () => Date.now() + ms,
});

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isThere = async ({ threads }: Replicas, threadId: string): Promise<boolean> =>
  threads.getThread({ owner, threadId }, call()).then(
    () => true,
    (error: unknown) => {
      if (isServiceError(error, 'NotFound')) return false;
      throw error;
    },
  );

test('a thread that nothing has changed for its time is deleted with everything that belongs to it', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  const ids = Array.from({ length: 230 }, (_, index) => `t${String(index)}`);
  const runs = await Promise.all(ids.map(async (threadId) => start(execution, { threadId })));
  for (const { runId } of runs) await endOf(execution, runId);
  const listed = Promise.withResolvers<undefined>();
  await replicas.open({
    ...later(0.9 * hourMs),
    through: ({ threads }) => ({
      threads: {
        ...threads,
        listIdle: async (request, at) => {
          const reply = await threads.listIdle(request, at);
          t.deepEqual(reply.threads, []);
          listed.resolve(undefined);
          return reply;
        },
      },
    }),
  });
  await listed.promise;
  t.true((await Promise.all(ids.map(async (id) => isThere(replicas, id)))).every(Boolean));
  await replicas.open(later(1.1 * hourMs));
  const left = async (): Promise<number> =>
    (await replicas.threads.listThreads({ owner, limit: 1, offset: 0 }, call())).threads.length;
  while ((await left()) > 0) await turn();
  const selected = { owner, selection: {}, limit: 10, offset: 0 };
  while ((await replicas.memory.list(selected, call())).memories.length > 0) await turn();
  while ((await replicas.threads.listDeleting({ limit: 1 }, call())).threads.length > 0) await turn();
  t.false((await Promise.all(ids.map(async (id) => isThere(replicas, id)))).some(Boolean));
});

test('a thread is not idle while a run holds it, nor after somebody wrote to it', async (t) => {
  await using replicas = await openReplicas();
  const gate = gates.next();
  const { execution } = await replicas.open({ graph });
  const held = await start(execution, { threadId: 'held', messages: [user(gate.name)] });
  await gate.entered;
  await endOf(execution, (await start(execution, { threadId: 'written' })).runId);
  await endOf(execution, (await start(execution, { threadId: 'left' })).runId);
  let sweeps = 0;
  // Written to between the moment that it is listed and the moment that it would go.
  await replicas.open({
    ...later(1.1 * hourMs),
    through: ({ threads }) => ({
      threads: {
        ...threads,
        getThread: async (key, at) => {
          const thread = await threads.getThread(key, at);
          sweeps++;
          return key.threadId === 'written' ? { ...thread, updatedAt: thread.updatedAt + 2 * hourMs } : thread;
        },
      },
    }),
  });
  while ((await isThere(replicas, 'left')) || sweeps < 2) await turn();
  t.deepEqual(await Promise.all(['held', 'written'].map(async (id) => isThere(replicas, id))), [true, true]);
  gate.open();
  t.is((await endOf(execution, held.runId)).event, 'on_chain_end');
});

/** Asks a person at every run. */
const asking = new StateGraph({})
  .addNode('ask', (_, ctx) => {
    ctx.interrupt('May I?');
    return {};
  })
  .addEdge(START, 'ask')
  .compile();

test('a thread that waits for a person is spared for a time of its own', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: asking });
  await endOf(execution, (await start(execution, { threadId: 'asks' })).runId);
  const { execution: other } = await replicas.open({ graph });
  await endOf(other, (await start(other, { threadId: 'left' })).runId);
  const sweepAt = (ms: number, wait: string): ReplicaOptions => {
    const { env, ...rest } = later(ms);
    return { ...rest, env: { ...env, WAIT_TTL: wait } };
  };
  await replicas.open(sweepAt(1.1 * hourMs, '7200'));
  while (await isThere(replicas, 'left')) await turn();
  t.true(await isThere(replicas, 'asks'));
  await replicas.open(sweepAt(2.1 * hourMs, '7200'));
  while (await isThere(replicas, 'asks')) await turn();
  t.pass();
});

test('without a time to live threads stay', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  await endOf(execution, (await start(execution, { threadId: 't1' })).runId);
  await replicas.open(later(1000 * hourMs, '0'));
  t.true(await isThere(replicas, 't1'));
});

test('a start waits for no event logs to expire, and goes on to remove them', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  const ended = await Promise.all(
    Array.from({ length: 250 }, async (_, index) => start(execution, { threadId: `t${String(index)}` })),
  );
  // A log can expire once it is written, which its follower waits for.
  for (const { runId } of ended) await Array.fromAsync(replicas.eventLog.follow(runId, 0, AbortSignal.timeout(30_000)));
  const opened = Promise.withResolvers<undefined>();
  const expired: number[] = [];
  await replicas.open({
    graph,
    now: () => Date.now() + 2 * hourMs,
    through: ({ eventLog }) => ({
      eventLog: {
        ...eventLog,
        expire: async (time, limit) => {
          await opened.promise;
          const logs = await eventLog.expire(time, limit);
          expired.push(logs);
          return logs;
        },
      },
    }),
  });
  t.deepEqual(expired, []);
  opened.resolve(undefined);
  for (const { runId } of ended) while ((await replicas.eventLog.last(runId)) > 0) await turn();
  t.deepEqual(expired.slice(0, 2), [100, 100]);
});
