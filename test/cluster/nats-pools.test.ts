import test, { type ExecutionContext } from 'ava';
import { openNatsClient } from '@agent-workflow/execution/adapters/nats/client/client';
import { workerIdOf } from '@agent-workflow/execution/adapters/nats/leases';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import { namesOf } from '@agent-workflow/execution/adapters/nats/client/names';
import { inboxPrefixOf, tokenOfAgents } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { eventSubjectOf } from '@agent-workflow/execution/adapters/nats/log/places';
import { executionSettings } from '@agent-workflow/execution/config';
import { openExecution } from '@agent-workflow/execution/open';
import { namedAgents, type Agent } from '@agent-workflow/execution/record/agents';
import { createOnRecord } from '@agent-workflow/execution/record/on-record';
import { END, field, interrupt, START, StateGraph, type CompiledGraph } from '@agent-workflow/graph';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import type { Execution } from '@agent-workflow/protos/execution';
import { link } from '@agent-workflow/protos/wire/link';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { call, endOf, followAll, invoke, owner, start } from '../contract/execution/calls.ts';
import { resultOf, toChunk } from '../contract/execution/chunks.ts';
import { gates, passGate } from '../contract/execution/gates.ts';
import { lastUser, user } from '../contract/execution/messages.ts';
import { areWhole } from '../numbers.ts';
import { openNatsAt, openNatsWithAccounts, openNatsWithPools, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

const silentLog = createLog('test', 'silent');

const turns = field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more });

/** Says where it is, asks when it is told to, and waits at the gate that the message names. */
const graphOf = (name: string): CompiledGraph =>
  new StateGraph({ turns })
    .addNode('first', (state, ctx) => {
      ctx.emit(`${name} begins`);
      if (lastUser(state.context) === 'ask') ctx.emit(String(interrupt('sure?')));
      return { turns: 1 };
    })
    .addNode('second', async (state, ctx) => {
      await passGate(state.context, ctx);
      ctx.emit(`${name} ends`);
      return { turns: 1 };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();

const support: Agent = { name: 'support', graph: graphOf('support') };
const billing: Agent = { name: 'billing', graph: graphOf('billing') };

interface Ground extends AsyncDisposable {
  readonly threads: Threads;
  readonly memory: Memory;
  readonly urlOf: (user: string) => string;
}

async function openGround(openServer: typeof openNatsWithPools): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const store = opened.use(openSqliteThreadStore({ path: ':memory:' }));
  const { memory } = opened.use(await openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) }));
  const { urlOf } = opened.use(await openServer(['support', 'billing']));
  const rest = opened.move();
  return {
    ...{ threads: link(createThreads({ store })), memory: link(memory), urlOf },
    [Symbol.asyncDispose]: async () => rest.disposeAsync(),
  };
}

interface Process extends AsyncDisposable {
  readonly execution: Execution;
  readonly drain: (ms: number) => Promise<void>;
  /** Operations that NATS refused. */
  readonly refused: readonly string[];
}

/** A process of the role `api`, which drives nothing, or a worker of the pool of one agent. */
async function openProcess({ threads, memory, urlOf }: Ground, agent?: Agent): Promise<Process> {
  await using opened = new AsyncDisposableStack();
  const refused: string[] = [];
  const pool = agent && { agents: [agent.name] };
  const onRefused = (operation: string): void => void refused.push(operation);
  const answersPools = agent ? undefined : { onRecord: createOnRecord(threads) };
  const nats = opened.use(await openNatsAt(urlOf(agent?.name ?? 'api'), pool, { onRefused, answersPools }));
  const { execution, drain } = opened.use(
    await openExecution({
      ...nats,
      ...{ threads, memory, agents: namedAgents(agent ? [agent] : [support, billing], 'support') },
      ...{ drives: agent !== undefined, accepts: agent === undefined, housekeeps: agent === undefined },
      ...{ log: silentLog, sweepMs: 300 },
      values: readEnv(executionSettings, { LEASE_MS: '1500' }),
    }),
  );
  const rest = opened.move();
  return { execution: link(execution), drain, refused, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

async function isSupportsRun(t: ExecutionContext, execution: Execution, runId: string): Promise<void> {
  const events = await followAll(execution, runId);
  t.true(areWhole(events.map(({ seq }) => seq)));
  t.is(toChunk(events.at(-1)).event, 'on_chain_end');
  t.true(JSON.stringify(events.map(toChunk)).includes('support ends'));
}

const places = { 'with a user of its own': openNatsWithPools, 'with an account of its own': openNatsWithAccounts };

withServer(test, privateNats(), () => {
  for (const [place, openServer] of Object.entries(places)) {
    test.serial(`${place}: a worker runs, streams, stops and continues runs, and is refused nothing`, async (t) => {
      t.timeout(byLoad(120_000));
      await using ground = await openGround(openServer);
      await using api = await openProcess(ground);
      const { execution } = api;
      await using worker = await openProcess(ground, support);
      const go = { agent: 'support', messages: [user('go')] };

      t.is((await invoke(execution, go)).meta.status, 'completed');
      const { runId } = await start(execution, go);
      await isSupportsRun(t, execution, runId);

      const asking = await start(execution, { agent: 'support', threadId: 'asked', messages: [user('ask')] });
      t.is(resultOf(await endOf(execution, asking.runId)).meta.status, 'interrupted');
      const answered = await start(execution, {
        ...{ agent: 'support', threadId: 'asked', messages: [user('yes')] },
      });
      t.not(resultOf(await endOf(execution, answered.runId)).meta.status, 'failed');

      const gate = gates.next();
      const held = await start(execution, { ...go, threadId: 'held', messages: [user(gate.name)] });
      await gate.entered;
      // A run that waits on its thread is enqueued by the worker that ends the one before it.
      const next = await start(execution, { ...go, threadId: 'held' });
      await execution.stopRun({ owner, runId: held.runId }, call());
      t.is(await gate.fired, 'the signal fired');
      t.is(resultOf(await endOf(execution, held.runId)).meta.status, 'stopped');
      t.is(resultOf(await endOf(execution, next.runId)).meta.status, 'completed');
      t.deepEqual(worker.refused, []);
      t.deepEqual(api.refused, []);
    });

    test.serial(
      `${place}: the api alone takes over the runs of a dead worker of a pool, and the next worker continues the log`,
      async (t) => {
        t.timeout(byLoad(120_000));
        await using ground = await openGround(openServer);
        await using api = await openProcess(ground);
        const { execution } = api;
        const gate = gates.next();
        const dying = await openProcess(ground, support);
        const { runId } = await start(execution, { agent: 'support', messages: [user(gate.name)] });
        const following = followAll(execution, runId);
        await gate.entered;
        await dying[Symbol.asyncDispose]();
        await using worker = await openProcess(ground, support);
        await until(async () => (await ground.threads.getRun({ owner, runId }, call())).epoch === 2, {
          timeoutMs: 30_000,
        });
        gate.open();
        t.true(areWhole((await following).map(({ seq }) => seq)));
        await isSupportsRun(t, execution, runId);
        t.deepEqual(worker.refused, []);
      },
    );

    test.serial(`${place}: what a pool puts among the events of its ended runs harms no follower`, async (t) => {
      t.timeout(byLoad(120_000));
      await using ground = await openGround(openServer);
      await using api = await openProcess(ground);
      await using _worker = await openProcess(ground, support);
      const { runId } = await start(api.execution, { agent: 'support', messages: [user('go')] });
      await isSupportsRun(t, api.execution, runId);
      const log = createLog('test', 'silent');
      await using junk = await openNatsClient({
        ...{ url: ground.urlOf('support'), name: 'junk', log },
        inboxPrefix: inboxPrefixOf(['support']),
      });
      const names = namesOf(poolsPrefix);
      const subject = eventSubjectOf(names, hashOfAgent('support'), runId);
      for (const text of ['', 'junk', '9 9 1 1 1 0 0 w parts\n{}']) await junk.request(subject, Buffer.from(text));
      await isSupportsRun(t, api.execution, runId);
      await using other = await openProcess(ground);
      await isSupportsRun(t, other.execution, runId);
      t.is(resultOf(await endOf(other.execution, runId)).meta.status, 'completed');

      // A log of which only what cannot be read is left is published from the record.
      await using platform = await openNatsClient({ url: ground.urlOf('api'), name: 'platform', log });
      const purge = Buffer.from(JSON.stringify({ filter: subject }));
      await platform.request(`$JS.API.STREAM.PURGE.${names.events}`, purge);
      await junk.request(subject, Buffer.from('junk'));
      await using later = await openProcess(ground);
      const events = (await followAll(later.execution, runId)).map(toChunk);
      t.is(events.at(-1)?.event, 'on_chain_end');
      t.true(JSON.stringify(events).includes('support ends'));
    });

    test.serial(`${place}: a worker of a pool waits for a process of the role api, and says so`, async (t) => {
      await using ground = await openGround(openServer);
      const reasons: string[] = [];
      const health = { fails: (reason: string) => void reasons.push(reason), works: () => void reasons.push('works') };
      const opening = openNatsAt(ground.urlOf('support'), { agents: ['support'] }, { health });
      const causes =
        /^nobody answers at \S+\.lanes: no process with ROLE=api runs, or this NATS account does not import this subject for agent support \(/;
      await until(() => reasons.some((reason) => causes.test(reason)));
      await using _api = await openNatsAt(ground.urlOf('api'));
      await using worker = await opening;
      t.true(worker.isConnected());
      t.is(reasons.at(-1), 'works');
    });
  }

  test.serial(
    'a worker with the user of a pool that is not set to hold one names the setting while it waits',
    async (t) => {
      await using ground = await openGround(openNatsWithAccounts);
      const reasons: string[] = [];
      const health = { fails: (reason: string) => void reasons.push(reason), works: () => undefined };
      const left = new AbortController();
      const given = { health, answersPools: undefined };
      const opening = openNatsAt(ground.urlOf('support'), undefined, given, left.signal);
      await until(() => reasons.some((reason) => reason.includes('NATS_ACCESS=pool')));
      left.abort(new Error('left'));
      await t.throwsAsync(opening, { message: 'left' });
    },
  );

  test.serial(
    'a worker whose account does not import the subjects of one of its agents says that this is the cause',
    async (t) => {
      await using ground = await openGround(openNatsWithAccounts);
      await using _api = await openNatsAt(ground.urlOf('api'));
      const reasons: string[] = [];
      const health = { fails: (reason: string) => void reasons.push(reason), works: () => undefined };
      const left = new AbortController();
      const opening = openNatsAt(ground.urlOf('support'), { agents: ['support', 'billing'] }, { health }, left.signal);
      const cause =
        /^nobody answers at \S+\.lanes: this NATS account does not import this subject for agent billing \(/;
      await until(() => reasons.some((reason) => cause.test(reason)));
      left.abort(new Error('left'));
      await t.throwsAsync(opening, { message: 'left' });
    },
  );

  test.serial('a pool that makes up thousands of workers lets no worker of another pool count as dead', async (t) => {
    await using ground = await openGround(openNatsWithAccounts);
    await using api = await openNatsAt(ground.urlOf('api'));
    await using victim = await openNatsAt(ground.urlOf('billing'), { agents: ['billing'] });
    await victim.leases.renew(victim.workerId, 600_000);
    await using attacker = await openNatsClient({ url: ground.urlOf('support'), name: 'attacker', log: silentLog });
    const token = tokenOfAgents(['support']);
    for (let index = 0; index < 12_000; index++)
      attacker.connection.publish(`${poolsPrefix}.alive.${token}.${workerIdOf(token, `w${index}`)}`, '600000');
    await attacker.connection.flush();
    await until(() => api.leases.living().has(workerIdOf(token, 'w11999')));
    t.true(await api.leases.isAlive(victim.workerId));
    t.true(api.leases.living().size <= 2001);
  });

  test.serial('a pool enqueues no run that it has made up, and nothing of it waits', async (t) => {
    await using ground = await openGround(openNatsWithAccounts);
    const answersPools = { onRecord: createOnRecord(ground.threads) };
    await using api = await openNatsAt(ground.urlOf('api'), undefined, { answersPools });
    await using pool = await openNatsAt(ground.urlOf('support'), { agents: ['support'] });
    await using process = await openProcess(ground);
    const real = await start(process.execution, { messages: [user('go')], threadId: 't1', agent: 'support' });
    const run = { owner, threadId: 't1', runId: real.runId, agent: 'support' };
    const waiting = async (): Promise<number> => {
      await api.queue.recount([{ agent: 'support' }, { agent: 'support', revision: 'zz' }]);
      return api.queue.waiting('support');
    };
    await until(async () => (await waiting()) === 1);
    for (const madeUp of [{ runId: 'none' }, { threadId: 'none' }, { owner: 'u:mallory' }])
      await t.throwsAsync(pool.queue.enqueue({ ...run, ...madeUp }), { code: 'Unavailable' });
    // The run itself, in a claim or at a revision that it has not.
    await pool.queue.enqueue({ ...run, takeoverEpoch: 7 });
    await pool.queue.enqueue({ ...run, revision: 'zz' });
    await pool.queue.enqueue(run);
    t.is(await waiting(), 1);
  });

  test.serial('a worker whose account does not import the queue of its revision says so in its log', async (t) => {
    await using server = await openNatsWithAccounts(['support'], ['v1']);
    await using _api = await openNatsAt(server.urlOf('api'));
    const warned: unknown[][] = [];
    const warn = (...what: unknown[]): void => void warned.push(what);
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, { warn });
    const held = { agents: ['support'], revision: 'v9' };
    await using worker = await openNatsAt(server.urlOf('support'), held, { log });
    const left = new AbortController();
    const taking = worker.queue.take(held, left.signal);
    await until(() => warned.length > 0);
    const [[fields, text] = []] = warned;
    t.like(fields, { agent: 'support', revision: 'v9' });
    t.regex(String(text), /^nobody answers where the runs of an agent are taken: .* does not import the subject/);
    left.abort(new Error('left'));
    await t.throwsAsync(taking, { message: 'left' });
    t.is(warned.length, 1);
  });
});
