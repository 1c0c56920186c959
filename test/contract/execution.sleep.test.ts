import test, { type ExecutionContext } from 'ava';
import { END, field, send, START, StateGraph, type CompiledGraph, type NodeContext } from '@agent-workflow/graph';
import { call, endOf, fieldOf, followAll, nextEvents, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { openReplicas, type Replica, type ReplicaOptions, type Replicas } from './replicas.ts';

const hour = 3_600_000;

const fields = {
  done: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};

/** A node that does this, and one after it. */
const graphOf = (work: (ctx: NodeContext) => Promise<void>): CompiledGraph =>
  new StateGraph(fields)
    .addNode('sleeper', async (_state, ctx) => {
      await work(ctx);
      return { done: ['slept'] };
    })
    .addNode('after', () => ({ done: ['after'] }))
    .addEdge(START, 'sleeper')
    .addEdge('sleeper', 'after')
    .addEdge('after', END)
    .compile();

interface Clock {
  readonly now: () => number;
  readonly pass: (ms: number) => void;
}

/** A clock that a test moves. */
function createClock(): Clock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    pass: (ms) => {
      ahead += ms;
    },
  };
}

const statusOf = async ({ threads }: Replicas, runId: string): Promise<string> =>
  (await threads.getRun({ owner, runId }, call())).status;

/** Resolves when the run sleeps: its first follower is published. */
async function untilAsleep(replicas: Replicas, runId: string): Promise<void> {
  while ((await statusOf(replicas, runId)) !== 'sleeping') await new Promise((resolve) => setImmediate(resolve));
}

/** Acts when a sleep is on record, before its worker publishes anything of it. */
const whenAsleep =
  (act: () => void): NonNullable<ReplicaOptions['through']> =>
  ({ threads }) => ({
    threads: {
      ...threads,
      commitStep: async (request, at) => {
        const reply = await threads.commitStep(request, at);
        if (request.wakeAt !== undefined) act();
        return reply;
      },
    },
  });

const open = async (t: ExecutionContext): Promise<{ readonly replicas: Replicas; readonly clock: Clock }> => {
  const clock = createClock();
  const replicas = await openReplicas(clock);
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return { replicas, clock };
};

test('a run sleeps for an hour over a restart, and goes on then', async (t) => {
  const { replicas, clock } = await open(t);
  const begun: string[] = [];
  const keys = new Set<string>();
  const options: ReplicaOptions = {
    now: clock.now,
    graph: graphOf(async ({ sleep, idempotencyKey }) => {
      begun.push('before');
      keys.add(idempotencyKey);
      await sleep(hour);
      begun.push('after');
    }),
  };
  const first = await replicas.open(options);
  const { runId } = await start(first.execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  await first.drain(1000);
  clock.pass(hour - 60_000);
  const second = await replicas.open(options);
  // The log is followed over the restart.
  const reader = second.execution.follow({ owner, runId, after: 0 }, call())[Symbol.asyncIterator]();
  const asleep = (await nextEvents(reader)).map(toChunk);
  t.is(await statusOf(replicas, runId), 'sleeping');
  t.deepEqual(begun, ['before']);
  clock.pass(60_000);
  t.is(resultOf(await endOf(second.execution, runId)).meta.status, 'completed');
  t.deepEqual(begun, ['before', 'before', 'after']);
  t.is(keys.size, 1);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['slept', 'after']);
  const published = (await followAll(second.execution, runId)).map(toChunk);
  const statuses = published.flatMap(({ event, data }) =>
    event === 'on_chain_stream' ? [data as { node: string; status: string; wake_at?: string }] : [],
  );
  t.deepEqual(
    statuses.map(({ node, status }) => [node, status]),
    [
      ['sleeper', 'started'],
      ['sleeper', 'completed'],
      ['sleeper', 'sleeping'],
      ['sleeper', 'started'],
      ['sleeper', 'completed'],
      ['after', 'started'],
      ['after', 'completed'],
    ],
  );
  t.true(Math.abs(Date.parse(statuses[2]?.wake_at ?? '') - (Date.now() + hour)) < 60_000);
  t.deepEqual(published.slice(0, asleep.length), asleep);
  await reader.return?.();
});

test('of three replicas that see a sleep end, one goes on with the run', async (t) => {
  const { replicas, clock } = await open(t);
  let effects = 0;
  const graph = graphOf(async ({ sleep }) => {
    await sleep(hour);
    effects++;
  });
  const openOne = async (): Promise<Replica> => replicas.open({ graph, now: clock.now });
  const [{ execution }] = await Promise.all([openOne(), openOne(), openOne()]);
  const runs = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => start(execution, { threadId: `t${String(index)}` })),
  );
  for (const { runId } of runs) await untilAsleep(replicas, runId);
  clock.pass(hour);
  for (const { runId } of runs) t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.is(effects, runs.length);
});

test('a worker that dies after a sleep is on record leaves the run to the others', async (t) => {
  const { replicas, clock } = await open(t);
  let begun = 0;
  const graph = graphOf(async ({ sleep }) => {
    begun++;
    await sleep(hour);
  });
  const dying = await replicas.open({
    graph,
    now: clock.now,
    through: whenAsleep(() => {
      dying.kill();
    }),
  });
  const { runId } = await start(dying.execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  const other = await replicas.open({ graph, now: clock.now });
  clock.pass(hour);
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  t.is(begun, 2);
  const statuses = (await followAll(other.execution, runId)).map(toChunk).flatMap(({ event, data }) => {
    const { node, status } = data as { readonly node?: string; readonly status?: string };
    return event === 'on_chain_stream' ? [`${String(node)} ${String(status)}`] : [];
  });
  t.deepEqual(statuses, [
    'sleeper started',
    'sleeper completed',
    'sleeper started',
    'sleeper completed',
    'after started',
    'after completed',
  ]);
});

const aheadMs = 10 * 60_000;

test('a sleep that began by a clock ten minutes ahead ends when it should, whichever worker wakes the run', async (t) => {
  await using replicas = await openReplicas();
  let begun = 0;
  const waking = Promise.withResolvers<undefined>();
  const graph = graphOf(async ({ sleep, signal }) => {
    const turn = ++begun;
    await sleep(50);
    if (turn > 2) return;
    waking.resolve(undefined);
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  const ahead = await replicas.open({
    graph,
    now: () => Date.now() + aheadMs,
    through: whenAsleep(() => {
      ahead.kill();
    }),
  });
  const { runId } = await start(ahead.execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  const dying = await replicas.open({ graph });
  await waking.promise;
  dying.kill();
  const { execution } = await replicas.open({ graph, sweepMs: 20 });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.is(begun, 3);
});

for (const [what, offMs] of [
  ['ahead', aheadMs],
  ['behind', -aheadMs],
] as const) {
  test(`a worker whose clock is ten minutes ${what} goes by that of the record, and logs the difference`, async (t) => {
    await using replicas = await openReplicas();
    const lines: unknown[] = [];
    const begun = Promise.withResolvers<undefined>();
    const graph = graphOf(async ({ sleep }) => {
      await begun.promise;
      await sleep(hour);
    });
    const { execution } = await replicas.open({
      graph,
      now: () => Date.now() + offMs,
      onWarning: (line) => lines.push(line),
    });
    const first = await start(execution, { threadId: 't1' });
    // This one waits for the thread, and is claimed by itself then.
    const { runId } = await start(execution, { threadId: 't1' });
    await execution.stopRun({ owner, runId: first.runId }, call());
    begun.resolve(undefined);
    await untilAsleep(replicas, runId);
    const { wakeAt = 0 } = await replicas.threads.getRun({ owner, runId }, call());
    t.true(Math.abs(wakeAt - Date.now() - hour) < 60_000);
    const reader = execution.follow({ owner, runId, after: 0 }, call())[Symbol.asyncIterator]();
    const events = await nextEvents(reader);
    for (const { at } of events) t.true(Math.abs(at - Date.now()) < 60_000);
    const logged = lines.flatMap((line) => (line as { readonly aheadMs?: number }).aheadMs ?? []);
    t.is(logged.length, 1);
    t.true(Math.abs((logged[0] ?? 0) - offMs) < 1000);
    await reader.return?.();
  });
}

test('a node that sleeps more often than the recursion limit is one iteration', async (t) => {
  const { replicas, clock } = await open(t);
  const graph = graphOf(async ({ sleep }) => {
    for (let naps = 0; naps < 5; naps++) await sleep(hour);
  });
  const { execution } = await replicas.open({ graph, now: clock.now });
  const { runId } = await start(execution, { threadId: 't1', recursionLimit: 1 });
  for (let naps = 0; naps < 5; naps++) {
    await untilAsleep(replicas, runId);
    const { wakeAt = 0 } = await replicas.threads.getRun({ owner, runId }, call());
    clock.pass(wakeAt - clock.now());
    while ((await replicas.threads.getRun({ owner, runId }, call())).wakeAt === wakeAt)
      await new Promise((resolve) => setImmediate(resolve));
  }
  t.like(resultOf(await endOf(execution, runId)), { iterations: 1, recursion_limit_reached: false });
});

test('a run that sleeps is stopped at once, and never wakes', async (t) => {
  const { replicas, clock } = await open(t);
  let begun = 0;
  const graph = graphOf(async ({ sleep }) => {
    begun++;
    await sleep(hour);
  });
  const { execution } = await replicas.open({ graph, now: clock.now });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  const next = await start(execution, { threadId: 't1' });
  t.is(next.status, 'queued');
  await execution.stopRun({ owner, runId }, call());
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'stopped');
  // The run after it has the thread now.
  await untilAsleep(replicas, next.runId);
  clock.pass(hour);
  t.is(resultOf(await endOf(execution, next.runId)).meta.status, 'completed');
  t.is(begun, 3);
});

test('branches of a fan-out sleep each for themselves, and a worker holds no place meanwhile', async (t) => {
  const { replicas, clock } = await open(t);
  const begun: unknown[] = [];
  const graph = new StateGraph(fields)
    .addNode('work', async (_state, { input, sleep }) => {
      begun.push(input);
      await sleep(Number(input) * hour);
      return { done: [`slept ${String(input)}`] };
    })
    .addConditionalEdges(START, () => [0, 1, 2].map((hours) => send('work', hours)), ['work'])
    .compile();
  const env = { RUN_CONCURRENCY: '1' };
  const { execution } = await replicas.open({ graph, now: clock.now, env });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  // With one place, another run is driven while this one sleeps.
  const beside = await start(execution, { threadId: 't2' });
  await untilAsleep(replicas, beside.runId);
  t.falsy(await fieldOf(replicas.threads, 't1', 'done'));
  clock.pass(2 * hour);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['slept 0', 'slept 1', 'slept 2']);
  t.is(resultOf(await endOf(execution, beside.runId)).meta.status, 'completed');
  t.deepEqual(begun.length, 10);
});

test('the log of a sleeping run is kept, however old it is', async (t) => {
  const { replicas, clock } = await open(t);
  const graph = graphOf(async ({ sleep }) => sleep(1000 * hour));
  const { execution } = await replicas.open({ graph, now: clock.now });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  const before = await replicas.eventLog.last(runId);
  // A log whose run is on no record expires together with the others.
  const lost = { runId: 'lost', threadId: 't2', requestId: 'lost', isNewThread: true };
  const event = { seq: 1, kind: 'metadata', at: clock.now(), data: Buffer.from('{}') };
  await replicas.eventLog.append(lost, 0, [event]);
  clock.pass(999 * hour);
  await replicas.open({ graph, now: clock.now, env: { EVENTS_RETENTION: '3600' } });
  while ((await replicas.eventLog.last(lost.runId)) > 0) await new Promise((resolve) => setImmediate(resolve));
  t.is(await replicas.eventLog.last(runId), before);
  t.is(await statusOf(replicas, runId), 'sleeping');
});

test('a follower of a sleeping run whose log is gone gets what the run has committed, and the rest after the sleep', async (t) => {
  const { replicas, clock } = await open(t);
  const graph = new StateGraph(fields)
    .addNode('first', (_state, { emit }) => {
      emit('good night');
      return { done: ['first'] };
    })
    .addNode('sleeper', async (_state, { sleep }) => {
      await sleep(hour);
      return { done: ['slept'] };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'sleeper')
    .compile();
  const { execution } = await replicas.open({ graph, now: clock.now });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  // What is written for followers that left is written first.
  while ((await replicas.eventLog.unended(Number.MAX_SAFE_INTEGER)).length === 0)
    await new Promise((resolve) => setImmediate(resolve));
  await replicas.eventLog.drop([runId]);
  t.is(await replicas.eventLog.last(runId), 0);
  const other = await replicas.open({ graph, now: clock.now });
  const reader = other.execution.follow({ owner, runId, after: 0 }, call())[Symbol.asyncIterator]();
  const asleep = (await nextEvents(reader)).map(toChunk);
  t.like(asleep[0], { event: 'metadata', data: { rebuilt: true } });
  t.true(asleep.some(({ message }) => JSON.stringify(message ?? '').includes('good night')));
  clock.pass(hour);
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  const events = await followAll(other.execution, runId);
  t.deepEqual(events.slice(0, asleep.length).map(toChunk), asleep);
  t.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => (events[0]?.seq ?? 0) + index),
  );
  await reader.return?.();
});
