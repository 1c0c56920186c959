import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import test from 'ava';
import { unnamedAgent } from '@agent-workflow/execution/record/agents';
import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { executionSettings } from '@agent-workflow/execution/config';
import { expireLogs } from '@agent-workflow/execution/worker/expire-logs';
import { END, field, START, StateGraph, textOf } from '@agent-workflow/graph';
import { openExecution } from '@agent-workflow/execution/open';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { connect } from '@agent-workflow/protos/wire/connect';
import type { Services as WireServices } from '@agent-workflow/protos/wire/definitions';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { atMost } from '../at-most.ts';
import { areWhole } from '../numbers.ts';
import { call, contextOf, endOf, followAll, logOf, owner, start } from './execution/calls.ts';
import type { OpenServices, Services } from './execution/checks.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { gates, passGate } from './execution/gates.ts';
import { echo, shortening } from './execution/graphs.ts';
import { executionContract } from './execution/index.ts';
import { user } from './execution/messages.ts';
import { eventOf, scopeOf } from '../events.ts';

const silentLog = createLog('test', 'silent');

/** Puts one service behind a transport. */
type Via = <C extends keyof WireServices>(
  context: C,
  service: WireServices[C],
  opened: AsyncDisposableStack,
) => Promise<WireServices[C]>;

const inProcess: Via = async (_context, service) => link(service);

const overGrpc: Via = async (context, service, opened) => {
  const options = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
  const server = opened.use(await serve({ [context]: service }, options));
  return opened.use(connect(context, `127.0.0.1:${String(server.port)}`));
};

/** Composes the services as the one process does. `die` closes the files under them and ends nothing. */
async function openServices(
  via: Via,
  { graph, folder, env = {} }: OpenServices,
): Promise<Services & { die: () => Promise<void>; eventLog: RunLog }> {
  const opened = new AsyncDisposableStack();
  const pathOf = (name: string): string => (folder === undefined ? ':memory:' : join(folder, name));
  const store = opened.use(openSqliteThreadStore({ path: pathOf('threads.sqlite') }));
  const threads = await via('threads', createThreads({ store }), opened);
  const memoryValues = readEnv(memorySettings, {});
  const ownMemory = opened.use(await openMemory({ path: pathOf('memory.sqlite'), values: memoryValues }));
  const memory = await via('memory', ownMemory.memory, opened);
  const log = openSqliteRunLog({ path: pathOf('execution.sqlite') });
  const own = opened.use(
    await openExecution({
      agents: unnamedAgent(graph),
      threads,
      memory,
      queue: openInProcessRunQueue(),
      leases: openInProcessWorkerLeases(),
      control: openInProcessRunControl(),
      codeCalls: openInProcessCodeCalls(),
      sweepMs: 30_000,
      eventLog: log,
      log: silentLog,
      values: readEnv(executionSettings, env),
    }),
  );
  const execution = await via('execution', own.execution, opened);
  return {
    execution,
    threads,
    memory,
    eventLog: log,
    die: async () => opened.disposeAsync(),
    [Symbol.asyncDispose]: async () => {
      await own.drain(1000);
      await opened.disposeAsync();
    },
  };
}

executionContract(test, 'in process', async (options) => openServices(inProcess, options));
/** So many at once over gRPC, each of which is three servers. */
const places = 8;

executionContract(
  test,
  'over gRPC',
  atMost(places, async (options) => openServices(overGrpc, options)),
);

/** Half a second is waited at most, which a busy machine may need for itself. */
const attempts = 20;

for (const [name, via] of [['in process', inProcess] as const, ['over gRPC', overGrpc] as const])
  test(`${name}: where the process that accepts a short run drives it, the reply of its start has the end`, async (t) => {
    await using services = await openServices(via, { graph: echo });
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { runId, end } = await start(services.execution, { messages: [user('hello')], awaitEndMs: 60_000 });
      const last = await services.execution.wait({ owner, runId }, call());
      if (!end) continue;
      t.deepEqual(end, last);
      return;
    }
    t.fail(`${String(attempts)} starts had no end`);
  });

const steps = new StateGraph({ topic: field<string>({ type: 'string', default: '' }) })
  .addNode('first', (_state, ctx) => {
    ctx.emit('first');
    return { topic: 'kept' };
  })
  .addNode('second', async (state, ctx) => {
    await passGate(state.context, ctx);
    ctx.emit('second');
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

test('after a death, what ran continues after its last commit, and what waited is run after it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'execution-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const gate = gates.next();
  const dying = await openServices(inProcess, { graph: steps, folder });
  const running = await start(dying.execution, { threadId: 't1', messages: [user(gate.name)] });
  const waiting = await Promise.all(
    ['a', 'b', 'c'].map(async (text) => start(dying.execution, { threadId: 't1', messages: [user(text)] })),
  );
  await gate.entered;
  await dying.die();

  await using services = await openServices(inProcess, { graph: steps, folder });
  const { execution, threads } = services;
  gate.open();
  const events = await followAll(execution, running.runId);
  t.true(areWhole(events.map(({ seq }) => seq)));
  const chunks = events.map(toChunk);
  t.is(chunks.filter(({ event }) => event === 'metadata').length, 1);
  t.deepEqual(
    chunks.filter(({ event }) => event === 'on_chain_stream').map(({ data }) => data),
    [
      { node: 'first', step: 0, status: 'started' },
      { node: 'first', step: 0, status: 'completed' },
      { node: 'second', step: 1, status: 'started' },
      { node: 'second', step: 1, status: 'restarted', attempt: 1, takeover: true },
      { node: 'second', step: 1, status: 'completed' },
    ],
  );
  const result = resultOf(chunks.at(-1));
  t.is(result.meta.status, 'completed');
  t.deepEqual(result.all_messages.map(textOf), ['first', 'second']);
  t.is((await threads.getRun({ owner, runId: running.runId }, call())).status, 'completed');
  for (const { runId } of waiting) t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual((await logOf(threads, 't1')).map(textOf), [
    gate.name,
    'first',
    'second',
    ...['a', 'b', 'c'].flatMap((text) => [text, 'first', 'second']),
  ]);
  gate.open();
});

test('a log that nobody ended is removed once it is old, and never that of a run that is still open', async (t) => {
  await using services = await openServices(inProcess, { graph: steps });
  const { execution, eventLog: log, threads } = services;
  const gate = gates.next();
  const { runId } = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
  await gate.entered;
  await log.append(scopeOf('of-nobody'), 0, [eventOf(1, 'metadata', {})]);
  const later = Date.now() + 60_000;
  // What nobody follows is written a moment later.
  while ((await log.unended(later)).length < 2) await turnOfLoop();
  t.deepEqual((await log.unended(later)).toSorted(), [runId, 'of-nobody'].toSorted());

  const { signal } = call();
  await expireLogs({ eventLog: log, threads, time: Date.now() - 60_000, signal });
  t.is(await log.last('of-nobody'), 1, 'it is not old yet');
  await expireLogs({ eventLog: log, threads, time: later, signal });
  t.is(await log.last('of-nobody'), 0);
  gate.open();
  const events = await followAll(execution, runId);
  t.true(areWhole(events.map(({ seq }) => seq)));
  t.is(events.at(-1)?.kind, 'on_chain_end');
});

test('a run whose events are no longer kept is told again from the record', async (t) => {
  await using services = await openServices(inProcess, { graph: steps });
  const { execution, eventLog: log } = services;
  const { runId } = await start(execution, { threadId: 't1', messages: [user('plain')] });
  const kept = (await followAll(execution, runId)).map(toChunk);
  t.is(await log.expire(Date.now() + 1, 10), 1);

  const rebuilt = (await followAll(execution, runId)).map(toChunk);
  t.like(rebuilt[0], { event: 'metadata', data: { run_id: runId, rebuilt: true } });
  const wholeOf = (chunks: typeof kept): unknown[] => chunks.flatMap(({ message }) => message ?? []);
  t.deepEqual(wholeOf(rebuilt), wholeOf(kept));
  t.deepEqual(rebuilt.at(-1)?.data, kept.at(-1)?.data);
  const numbers = (await followAll(execution, runId)).map(({ seq }) => seq);
  for (let seen = 0; seen <= kept.length; seen++)
    t.deepEqual(
      (await followAll(execution, runId, seen)).map(toChunk),
      rebuilt,
      'numbers of before mean nothing in it',
    );
  for (const [index, seen] of numbers.entries())
    t.deepEqual((await followAll(execution, runId, seen)).map(toChunk), rebuilt.slice(index + 1));
});

test('after a death in the middle of a deletion the thread is absent, and the next start removes it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'execution-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const gate = gates.next();
  const dying = await openServices(inProcess, { graph: steps, folder });
  const { runId } = await start(dying.execution, { threadId: 't1', messages: [user(gate.name)] });
  await gate.entered;
  await dying.threads.beginDelete({ owner, threadId: 't1' }, call());
  await dying.die();

  await using services = await openServices(inProcess, { graph: steps, folder });
  t.deepEqual((await services.threads.listDeleting({ limit: 10 }, call())).threads, []);
  const error = await t.throwsAsync<Error & { code: string }>(services.threads.getRun({ owner, runId }, call()));
  t.is(error.code, 'NotFound');
  t.true((await start(services.execution, { threadId: 't1' })).isNewThread);
  gate.open();
});

test('an event log that cannot be written holds up no run', async (t) => {
  const services = await openServices(inProcess, { graph: steps });
  const { execution, threads, eventLog: log } = services;
  const gate = gates.next();
  const { runId } = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
  const waiting = await start(execution, { threadId: 't1' });
  await gate.entered;
  await log[Symbol.asyncDispose]();
  gate.open();
  for (const id of [runId, waiting.runId]) {
    while (['queued', 'running'].includes((await threads.getRun({ owner, runId: id }, call())).status))
      await turnOfLoop();
    t.is((await threads.getRun({ owner, runId: id }, call())).status, 'completed');
  }
  t.deepEqual((await logOf(threads, 't1')).map(textOf), [gate.name, 'first', 'second', 'hi', 'first', 'second']);
});

test('after a restart a run sees the shortened context, and the log is whole', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'execution-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const sendText = async ({ execution }: Services, text: string): Promise<string> => {
    const { runId } = await start(execution, { threadId: 't1', messages: [user(text)] });
    return resultOf(await endOf(execution, runId))
      .messages.map(textOf)
      .join();
  };
  {
    await using services = await openServices(inProcess, { graph: shortening, folder });
    for (const text of ['a', 'b', 'c']) await sendText(services, text);
  }
  await using services = await openServices(inProcess, { graph: shortening, folder });
  t.deepEqual(await contextOf(services.threads, 't1'), ['c', 'saw 5']);
  t.is(await sendText(services, 'd'), 'saw 3');
  t.deepEqual((await logOf(services.threads, 't1')).map(textOf), [
    'a',
    'saw 1',
    'b',
    'saw 3',
    'c',
    'saw 5',
    'd',
    'saw 3',
  ]);
});

const rethinking = new StateGraph({ seen: field<string>({ type: 'string', default: '' }) })
  .addNode('forget', ({ context }) => ({
    messages: [{ message_id: 'b', content: 'second' }],
    removed_from_context: context.map(({ message_id: id }) => id),
  }))
  .addNode('recall', () => ({ messages: [{ message_id: 'a', content: 'first again' }] }))
  .addNode('look', ({ context }) => ({ seen: context.map(({ message_id: id }) => id).join() }))
  .addEdge(START, 'forget')
  .addEdge('forget', 'recall')
  .addEdge('recall', 'look')
  .compile();

test('a message that comes back to the context is where the log has it, for the next node as for the record', async (t) => {
  await using services = await openServices(inProcess, { graph: rethinking });
  const { execution, threads } = services;
  const input = [user('first', 'a')];
  const { runId } = await start(execution, { threadId: 't1', messages: input, granularity: 'full' });
  const { data } = await endOf(execution, runId);
  const { state, context } = data as { state: Record<string, unknown>; context: { message_id: string }[] };
  t.is(state['seen'], 'a,b');
  t.deepEqual(
    context.map(({ message_id: id }) => id),
    ['a', 'b'],
  );
  t.deepEqual(await contextOf(threads, 't1'), ['first again', 'second']);
});

const forgetting = new StateGraph({})
  .addNode('say', ({ context }, { emit }) => {
    emit('done');
    return context.length < 5 ? {} : { removed_from_context: context.slice(0, -1).map(({ message_id: id }) => id) };
  })
  .addEdge(START, 'say')
  .compile();

test('messages that have left the context take no room among the states that are kept', async (t) => {
  const known: boolean[] = [];
  const watching: Via = async (context, service, opened) => {
    const linked = await inProcess(context, service, opened);
    if (!('acceptRun' in linked)) return linked;
    const acceptRun: typeof linked.acceptRun = async (request, ...rest) => {
      known.push(request.claim?.knownVersion !== undefined);
      return linked.acceptRun(request, ...rest);
    };
    return { ...linked, acceptRun };
  };
  await using services = await openServices(watching, { graph: forgetting, env: { HOT_STATE_MB: '1' } });
  const { execution, threads } = services;
  const large = ['a', 'b', 'c'].map((text) => user(text.repeat(400_000)));
  for (const messages of [large, [user('d')], [user('e')]]) {
    const { runId } = await start(execution, { threadId: 't1', messages });
    await endOf(execution, runId);
  }
  t.deepEqual(await contextOf(threads, 't1'), ['d', 'done', 'e', 'done']);
  // Three heavy messages are more than is kept; what is left when they are gone is not.
  t.deepEqual(known, [false, false, true]);
});
