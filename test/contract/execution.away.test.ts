import test from 'ava';
import { bindMemory } from '@agent-workflow/execution/steps/bound-memory';
import { isServiceAway } from '@agent-workflow/execution/steps/node-calls';
import { END, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import { call, endOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
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

/** A graph whose one node stores a memory, with the time that an attempt may take. */
const storing = (timeoutMs?: number): { readonly graph: CompiledGraph; readonly runs: () => number } => {
  let runs = 0;
  const graph = new StateGraph({})
    .addNode(
      'keep',
      async (_state, { memory }) => {
        runs++;
        await memory.store({ content: 'this was said' });
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
    .addEdge(START, 'keep')
    .addEdge('keep', END)
    .compile();
  return { graph, runs: () => runs };
};

test('a node that stores a memory while the memory service is unavailable waits for it, and stores it once', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = storing();
  const ids = new Set<string>();
  let calls = 0;
  const { execution } = await replicas.open({
    graph,
    through: ({ memory }) => ({
      memory: {
        ...memory,
        store: async (request, at) => {
          ids.add(request.memoryId);
          calls++;
          if (calls === 1) throw unavailable('the memory service is unavailable');
          const reply = await memory.store(request, at);
          // It has taken effect, and the answer is lost.
          if (calls === 2) throw unavailable('the memory service is unavailable');
          return reply;
        },
      },
    }),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual([runs(), calls, ids.size], [1, 3, 1]);
  const { total } = await replicas.memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
  t.is(total, 1);
});

test('a node that waits for the memory service waits no longer than its own time', async (t) => {
  await using replicas = await openReplicas();
  const { graph } = storing(300);
  let signal: AbortSignal | undefined;
  const { execution } = await replicas.open({
    graph,
    through: ({ memory }) => ({
      memory: {
        ...memory,
        store: (_request, at) => {
          ({ signal } = at);
          return Promise.reject(unavailable('the memory service is unavailable'));
        },
      },
    }),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  const { event, data } = await endOf(execution, runId);
  t.is(event, 'error');
  t.is((data as { message: string }).message, 'node "keep" did not finish within 300 ms');
  t.true(signal?.aborted, 'nothing is stored on behalf of an attempt that is over');
});

const refused = (): ServiceError => new ServiceError('PermissionDenied', 'a call of the worker was not allowed');

test('a node waits while the memory service refuses the grant of its run, and its run does not fail', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = storing();
  let refusals = 0;
  const { execution } = await replicas.open({
    graph,
    through: ({ memory }) => ({
      memory: {
        ...memory,
        store: async (request, at) => {
          if (refusals++ < 2) throw refused();
          return memory.store(request, at);
        },
      },
    }),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.is(runs(), 1);
});

test('a run whose worker is refused is claimed again, and goes on when it is refused no more', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = counting();
  let refusals = 0;
  const { execution } = await replicas.open({
    graph,
    through: through((threads) => ({
      commitStep: async (request, at) => {
        if (refusals++ < 2) throw refused();
        return threads.commitStep(request, at);
      },
    })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(runs, { first: 3, second: 1 });
});

test('a run whose worker is refused for good fails after three claims, and names where it stood', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = counting();
  const { execution } = await replicas.open({
    graph,
    through: through(() => ({ commitStep: () => Promise.reject(refused()) })),
  });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  const { event, data } = await endOf(execution, runId);
  t.is(event, 'error');
  t.like(data, {
    code: 'INTERNAL_ERROR',
    message: 'the run was claimed 3 times and committed nothing: it stood at node "first"',
  });
  t.deepEqual(runs, { first: 3, second: 0 });
});

test('a node that gives memory something else than an object with a text is refused with what is expected', async (t) => {
  const memory = { store: () => t.fail('it is not called') } as unknown as Memory;
  const { signal } = new AbortController();
  const { store } = bindMemory(memory, { owner, threadId: 't1', signal, forMs: 0 });
  for (const given of ['a text', undefined, {}, { content: 7 }])
    await t.throwsAsync(store(given as never), {
      message: 'memory.store takes an object whose content is a text: { content }',
    });
});

test('a node that searches memory for something else than a text is refused with what is expected', async (t) => {
  const memory = { search: () => t.fail('it is not called') } as unknown as Memory;
  const { signal } = new AbortController();
  const { search } = bindMemory(memory, { owner, threadId: 't1', signal, forMs: 0 });
  for (const query of [5, undefined, { query: 'tea' }, Promise.resolve('tea')])
    await t.throwsAsync(search(query as never), { message: 'memory.search takes a text as its query' });
});

test('a node that deletes from memory by something else than a text is refused with what is expected', async (t) => {
  const memory = { delete: () => t.fail('it is not called') } as unknown as Memory;
  const { signal } = new AbortController();
  const bound = bindMemory(memory, { owner, threadId: 't1', signal, forMs: 0 });
  for (const id of [5, undefined, { id: 'a' }, Promise.resolve('a')])
    await t.throwsAsync(bound.delete(id as never), {
      message: 'memory.delete takes the id of a memory, which is a text',
    });
});

test('what a node is thrown because the memory service was unavailable, or refused it, for too long is told from what else it throws', async (t) => {
  const away = unavailable('the memory service is unavailable');
  const memory = { store: () => Promise.reject(away) } as unknown as Memory;
  const { signal } = new AbortController();
  const bound = bindMemory(memory, { owner, threadId: 't1', signal, forMs: 0 });
  const thrown = await t.throwsAsync(bound.store({ content: 'this was said' }));
  t.true(isServiceAway(thrown));
  const refusing = { store: () => Promise.reject(refused()) } as unknown as Memory;
  const other = bindMemory(refusing, { owner, threadId: 't1', signal, forMs: 0 });
  t.true(isServiceAway(await t.throwsAsync(other.store({ content: 'this was said' }))));
  t.false(isServiceAway(new Error('the memory service is unavailable')));
  t.false(isServiceAway(undefined));
});

test('no run is accepted while its events cannot be written, and runs are accepted again when they can', async (t) => {
  await using replicas = await openReplicas();
  const { graph, runs } = counting();
  let writes = false;
  const { execution } = await replicas.open({
    graph,
    through: ({ eventLog }) => ({ eventLog: { ...eventLog, canWrite: () => writes } }),
  });
  await t.throwsAsync(start(execution, { threadId: 't1', messages: [user('go')] }), {
    instanceOf: ServiceError,
    code: 'Unavailable',
    message: /the events of runs cannot be written right now/,
  });
  await t.throwsAsync(replicas.threads.getThread({ owner, threadId: 't1' }, call()), { code: 'NotFound' });
  writes = true;
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(runs, { first: 1, second: 1 });
});
