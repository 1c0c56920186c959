import test, { type ExecutionContext } from 'ava';
import { END, field, START, StateGraph, textOf } from '@agent-workflow/graph';
import type { RunQueue } from '@agent-workflow/execution/ports/queue';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import { areWhole } from '../numbers.ts';
import { call, endOf, followAll, logOf, owner, start } from './execution/calls.ts';
import { resultOf, toChunk, type Chunk } from './execution/chunks.ts';
import { gates, passGate } from './execution/gates.ts';
import { user } from './execution/messages.ts';
import { openReplicas, withoutTaking, type Ground, type Replicas } from './replicas.ts';

/** Says `first`, then, behind the gate that the user names, `second` in two pieces. */
const steps = new StateGraph({
  turns: field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more }),
})
  .addNode('first', (_state, ctx) => {
    ctx.emit('first');
    return { turns: 1 };
  })
  .addNode('second', async (state, ctx) => {
    ctx.emit('sec');
    await passGate(state.context, ctx);
    ctx.emit('ond');
    return { turns: 1 };
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

const often = { graph: steps, sweepMs: 20 };

const replicasFor = async (t: ExecutionContext): Promise<Replicas> => {
  const replicas = await openReplicas();
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return replicas;
};

/** Threads whose commits of one step wait until the test lets them through. `refused` tells what became of the held one. */
function holdCommit(step: number): {
  readonly through: (ground: Ground) => Partial<Ground>;
  readonly held: Promise<void>;
  readonly letThrough: () => void;
  readonly outcome: Promise<unknown>;
} {
  const held = Promise.withResolvers<undefined>();
  const gate = Promise.withResolvers<undefined>();
  const outcome = Promise.withResolvers<unknown>();
  return {
    through: (ground) => ({
      threads: {
        ...ground.threads,
        commitStep: async (request, at) => {
          if (request.step !== step || request.ofInput) return ground.threads.commitStep(request, at);
          held.resolve(undefined);
          await gate.promise;
          const committing = ground.threads.commitStep(request, at);
          committing.then(outcome.resolve, outcome.resolve);
          return committing;
        },
      },
      ...withoutTaking(ground),
    }),
    held: held.promise,
    letThrough: () => gate.resolve(undefined),
    outcome: outcome.promise,
  };
}

const runOf = async (threads: Threads, runId: string): Promise<Run> => threads.getRun({ owner, runId }, call());

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

const statusesOf = (chunks: readonly Chunk[]): unknown[] =>
  chunks.filter(({ event }) => event === 'on_chain_stream').map(({ data }) => data);

/** Numbers without a gap, one end, and each message whole once, with exactly the pieces that make it. */
function holdsTogether(t: ExecutionContext, events: readonly RunEvent[]): void {
  t.true(areWhole(events.map(({ seq }) => seq)));
  const chunks = events.map(toChunk);
  t.is(chunks.filter(({ event }) => event === 'metadata').length, 1);
  t.is(chunks.filter(({ event }) => event === 'on_chain_end' || event === 'error').length, 1);
  for (const { message } of chunks) {
    if (!message) continue;
    const mine = chunks.filter(({ metadata }) => metadata.message_id === message.message_id);
    t.is(mine.filter((each) => each.message).length, 1);
    t.is(mine.map(({ data }) => (typeof data === 'string' ? data : '')).join(''), textOf(message));
  }
}

const wholeOf = (chunks: readonly Chunk[]): string[] =>
  chunks.flatMap(({ message }) => (message ? textOf(message) : []));

test('a worker held between step and commit past its lease is refused when another has taken over, and the run is right', async (t) => {
  const replicas = await replicasFor(t);
  const { threads } = replicas;
  const commit = holdCommit(1);
  const slow = await replicas.open({ graph: steps, through: commit.through });
  const { runId } = await start(slow.execution, { threadId: 't1', granularity: 'full', messages: [user('plain')] });
  await commit.held;
  const before = await runOf(threads, runId);
  await slow.loseLease();

  const other = await replicas.open(often);
  const result = resultOf(await endOf(other.execution, runId));
  t.is(result.meta.status, 'completed');
  commit.letThrough();
  const refused = await commit.outcome;
  t.true(isServiceError(refused, 'Stale'), String(refused));

  t.deepEqual((await logOf(threads, 't1')).map(textOf), ['plain', 'first', 'second']);
  t.deepEqual(result.state?.['turns'], 2);
  const run = await runOf(threads, runId);
  t.is(run.status, 'completed');
  t.not(before.workerId, undefined);
  const events = await followAll(other.execution, runId);
  holdsTogether(t, events);
  const chunks = events.map(toChunk);
  t.deepEqual(statusesOf(chunks), [
    { node: 'first', step: 0, status: 'started' },
    { node: 'first', step: 0, status: 'completed' },
    { node: 'second', step: 1, status: 'started' },
    { node: 'second', step: 1, status: 'restarted', attempt: 1, takeover: true },
    { node: 'second', step: 1, status: 'completed' },
  ]);
  t.deepEqual(wholeOf(chunks), ['first', 'second']);
  // What the dead attempt said is there, under an id that no whole message has.
  const parts = chunks.filter(
    ({ event, message, metadata }) => event === 'messages_chunk' && !message && metadata.node === 'second',
  );
  t.is(new Set(parts.map(({ metadata }) => metadata.message_id)).size, 2);
  t.deepEqual(
    (await followAll(slow.execution, runId)).map(({ seq }) => seq),
    events.map(({ seq }) => seq),
  );
});

test('a worker that is lost in the first step leaves the recorded input of its run, which counts once', async (t) => {
  const replicas = await replicasFor(t);
  const commit = holdCommit(0);
  const slow = await replicas.open({ graph: steps, through: commit.through });
  const initialStateJson = Buffer.from('{"turns":5}');
  const started = { threadId: 't1', messages: [user('plain')], initialStateJson, recordsInput: true };
  const { runId } = await start(slow.execution, started);
  await commit.held;
  const { fields } = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  t.is(Buffer.from(fields['turns'] ?? []).toString(), '5');
  await slow.loseLease();
  const other = await replicas.open(often);
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  commit.letThrough();
  const refused = await commit.outcome;
  t.true(isServiceError(refused, 'Stale'), String(refused));
  const { fields: after } = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  t.is(Buffer.from(after['turns'] ?? []).toString(), '7');
  holdsTogether(t, await followAll(other.execution, runId));
});

test('later events of a worker that was taken over reach no follower', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const slow = await replicas.open({ graph: steps, through: withoutTaking });
  const { runId } = await start(slow.execution, { messages: [user(gate.name)] });
  await gate.entered;
  const { eventLog: log } = replicas;
  await slow.loseLease();
  const other = await replicas.open(often);
  const last = await log.last(runId);
  await until(async () => (await log.last(runId)) > last);
  // Both stand at the gate, and go on at once.
  gate.open();
  t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  const events = await followAll(other.execution, runId);
  holdsTogether(t, events);
  t.deepEqual(wholeOf(events.map(toChunk)), ['first', 'second']);
});

test('a worker that drains hands its runs off, and another continues them at once', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const leaving = await replicas.open({ graph: steps });
  const runs = await Promise.all(
    ['t1', 't2', 't3'].map(async (threadId) => start(leaving.execution, { threadId, messages: [user(gate.name)] })),
  );
  await until(async () =>
    (await Promise.all(runs.map(async ({ runId }) => runOf(replicas.threads, runId)))).every(
      ({ status }) => status === 'running',
    ),
  );
  await gate.entered;
  // It looks for lost runs at its start alone: what it gets later is given to it.
  const staying = await replicas.open({ graph: steps });
  const first = await runOf(replicas.threads, runs[0]?.runId ?? '');
  await leaving.drain(0);
  t.false(await replicas.leases.isAlive(first.workerId ?? ''));
  gate.open();
  for (const { runId, threadId } of runs) {
    t.is(resultOf(await endOf(staying.execution, runId)).meta.status, 'completed');
    t.deepEqual((await logOf(replicas.threads, threadId)).map(textOf), [gate.name, 'first', 'second']);
    const events = await followAll(staying.execution, runId);
    holdsTogether(t, events);
    t.is(events.map(toChunk).filter(({ data }) => (data as { status?: string }).status === 'restarted').length, 1);
  }
  t.is(resultOf(await endOf(staying.execution, (await start(leaving.execution)).runId)).meta.status, 'completed');
});

test('a worker that drains waits for runs that end in time, and hands nothing off', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const leaving = await replicas.open({ graph: steps });
  const { runId } = await start(leaving.execution, { messages: [user(gate.name)] });
  await gate.entered;
  const { workerId } = await runOf(replicas.threads, runId);
  const drained = leaving.drain(20_000);
  t.true(await replicas.leases.isAlive(workerId ?? ''), 'it works as long as it waits');
  gate.open();
  await drained;
  t.false(await replicas.leases.isAlive(workerId ?? ''));
  t.is((await runOf(replicas.threads, runId)).status, 'completed');
  t.false((await followAll(leaving.execution, runId)).some(({ data }) => Buffer.from(data).includes('restarted')));
});

test('runs of a live worker are not taken over, however often others sweep', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  let renewals = 0;
  const living = await replicas.open({
    ...often,
    through: (ground) => ({
      ...withoutTaking(ground),
      leases: {
        ...ground.leases,
        renew: async (workerId, leaseMs) => {
          await ground.leases.renew(workerId, leaseMs);
          renewals++;
        },
      },
    }),
    env: { LEASE_MS: '2000' },
  });
  const { runId } = await start(living.execution, { messages: [user(gate.name)] });
  await gate.entered;
  const { epoch } = await runOf(replicas.threads, runId);
  let sweeps = 0;
  await replicas.open({
    ...often,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        listOpenRuns: async (request, at) => {
          sweeps++;
          return threads.listOpenRuns(request, at);
        },
      },
    }),
  });
  // Longer than one lease: it is alive because it renews.
  const renewed = renewals;
  await until(() => sweeps > 50 && renewals > renewed + 4);
  t.is((await runOf(replicas.threads, runId)).epoch, epoch);
  gate.open();
  t.is(resultOf(await endOf(living.execution, runId)).meta.status, 'completed');
});

test('a worker that cannot renew its lease continues when no other takes its runs', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const alone = await replicas.open({ graph: steps, env: { LEASE_MS: '500' } });
  const { runId } = await start(alone.execution, { messages: [user(gate.name)] });
  await gate.entered;
  await alone.loseLease();
  gate.open();
  t.is(resultOf(await endOf(alone.execution, runId)).meta.status, 'completed');
});

test('a sweeper that was delayed takes over no run whose new worker is alive', async (t) => {
  const replicas = await replicasFor(t);
  const { threads } = replicas;
  const gate = gates.next();
  const dead = await replicas.open({ graph: steps, through: withoutTaking });
  const { runId } = await start(dead.execution, { messages: [user(gate.name)] });
  await gate.entered;
  dead.kill();
  const { epoch: before = 0 } = await runOf(threads, runId);

  // It has seen that the worker is dead, and is held up before it can say so.
  const seen = Promise.withResolvers<undefined>();
  const wedge = Promise.withResolvers<undefined>();
  const claims: unknown[] = [];
  const wedged: (ground: Ground) => { readonly queue: RunQueue; readonly threads: Threads } = (ground) => ({
    queue: {
      ...ground.queue,
      enqueue: async (run) => {
        seen.resolve(undefined);
        await wedge.promise;
        await ground.queue.enqueue(run);
      },
    },
    threads: {
      ...ground.threads,
      claimRun: async (request, at) => {
        const claiming = ground.threads.claimRun(request, at);
        await claiming.then(
          () => claims.push('claimed'),
          (error: unknown) => claims.push(error),
        );
        return claiming;
      },
    },
  });
  const late = replicas.open({ graph: steps, through: wedged });
  await seen.promise;
  const living = await replicas.open({ graph: steps, env: { RUN_CONCURRENCY: '1' } });
  await until(async () => (await runOf(threads, runId)).epoch === before + 1);
  const taken = await runOf(threads, runId);
  wedge.resolve(undefined);
  await late;
  await until(() => claims.length > 0);
  t.true(isServiceError(claims[0], 'Stale'), String(claims[0]));
  t.deepEqual(await runOf(threads, runId), taken);
  gate.open();
  t.is(resultOf(await endOf(living.execution, runId)).meta.status, 'completed');
  holdsTogether(t, await followAll(living.execution, runId));
});

test('a run whose workers die is taken over until its third claim without a commit, and then fails; the next run goes on', async (t) => {
  const replicas = await replicasFor(t);
  const { threads } = replicas;
  const gate = gates.next();
  let holder = await replicas.open({ graph: steps, through: withoutTaking });
  const { runId } = await start(holder.execution, { threadId: 't1', messages: [user(gate.name)] });
  const next = await start(holder.execution, { threadId: 't1', messages: [user('next')] });
  await gate.entered;
  // The first claim committed a step: the count begins after it.
  for (let claim = 1; claim <= 3; claim++) {
    const { epoch = 0 } = await runOf(threads, runId);
    holder.kill();
    holder = await replicas.open({ graph: steps });
    await until(async () => (await runOf(threads, runId)).epoch === epoch + 1);
  }
  holder.kill();
  holder = await replicas.open({ graph: steps });
  t.is((await endOf(holder.execution, runId)).event, 'error');
  const { status, end } = await runOf(threads, runId);
  t.is(status, 'failed');
  t.like(end?.error, { code: 'Internal' });
  const events = await followAll(holder.execution, runId);
  holdsTogether(t, events);
  t.is(events.at(-1)?.kind, 'error');
  t.is(resultOf(await endOf(holder.execution, next.runId)).meta.status, 'completed');
  t.deepEqual((await logOf(threads, 't1')).map(textOf), [gate.name, 'first', 'next', 'first', 'second']);
  gate.open();
});

test('a run whose claim took effect and was never answered is found by its own worker', async (t) => {
  const replicas = await replicasFor(t);
  let lost = 0;
  const { execution } = await replicas.open({
    ...often,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        acceptRun: async (request, at) => {
          const reply = await threads.acceptRun(request, at);
          if (lost++ === 0) throw new Error('the answer was lost');
          return reply;
        },
      },
    }),
  });
  const runId = '01a1fe0b-746f-73b2-9d81-b3f2b7ed7117';
  await t.throwsAsync(start(execution, { runId, messages: [user('plain')] }));
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
});

test('a run that the queue has lost is enqueued again by the next sweep for waiting runs', async (t) => {
  const replicas = await replicasFor(t);
  const { execution } = await replicas.open({
    graph: steps,
    env: { RUN_CONCURRENCY: '1' },
    through: ({ queue }) => ({ queue: { ...queue, enqueue: async () => Promise.resolve() } }),
  });
  const gate = gates.next();
  const held = await start(execution, { messages: [user(gate.name)] });
  const lost = await Promise.all(['t1', 't2'].map(async (threadId) => start(execution, { threadId })));
  const behind = await start(execution, { threadId: 't1', messages: [user('behind')] });
  t.is(replicas.queue.waiting(), 0);
  const other = await replicas.open({ graph: steps });
  for (const { runId } of [...lost, behind])
    t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');
  gate.open();
  t.is(resultOf(await endOf(execution, held.runId)).meta.status, 'completed');
});

test('a run that a commit named, and whose worker died before it was enqueued, is enqueued by the second sweep that finds it', async (t) => {
  const replicas = await replicasFor(t);
  const other = await replicas.open(often);
  const { execution } = await replicas.open({
    graph: steps,
    through: (ground) => {
      const { queue } = withoutTaking(ground);
      return { queue: { ...queue, enqueue: async () => Promise.resolve() } };
    },
  });
  const gate = gates.next();
  const first = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
  const behind = await start(execution, { threadId: 't1', messages: [user('behind')] });
  gate.open();
  t.is(resultOf(await endOf(execution, first.runId)).meta.status, 'completed');
  t.is(resultOf(await endOf(other.execution, behind.runId)).meta.status, 'completed');
});

test('followers get an end that a worker could not publish before it died', async (t) => {
  const replicas = await replicasFor(t);
  const gate = gates.next();
  const dying = await replicas.open({
    graph: steps,
    through: (ground) => ({
      threads: {
        ...ground.threads,
        commitStep: async (request, at) => {
          const reply = await ground.threads.commitStep(request, at);
          if (request.end) dying.kill();
          return reply;
        },
      },
      ...withoutTaking(ground),
    }),
  });
  const other = await replicas.open({ graph: steps, env: { LEASE_MS: '500' } });
  const { runId } = await start(dying.execution, { granularity: 'full', messages: [user(gate.name)] });
  const following = followAll(other.execution, runId);
  const waiting = endOf(other.execution, runId);
  await gate.entered;
  gate.open();
  t.is(resultOf(await waiting).meta.status, 'completed');
  const events = await following;
  holdsTogether(t, events);
  t.deepEqual(wholeOf(events.map(toChunk)), ['first', 'second']);
});
