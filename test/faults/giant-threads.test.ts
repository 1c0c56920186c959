import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import test, { type ExecutionContext } from 'ava';
import { unnamedAgent } from '@agent-workflow/execution/record/agents';
import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { executionSettings } from '@agent-workflow/execution/config';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { openExecution } from '@agent-workflow/execution/open';
import { readEnv } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import { sizes } from '@agent-workflow/kit/sizes';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { within } from '@agent-workflow/protos/call';
import type { Execution, StartRequest } from '@agent-workflow/protos/execution';
import type { Threads } from '@agent-workflow/protos/threads';
import { connect } from '@agent-workflow/protos/wire/connect';
import { serve } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import type { Change } from '@agent-workflow/threads/ports/changes';
import type { Head, LogEntry } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { cassandra } from '../servers/cassandra.ts';
import { openKeyspace } from '../servers/cassandra-keyspace.ts';
import { newHead } from '../contract/thread-rows.ts';
import { withFaults, withFaultsOf } from './suite.ts';
import { byLoad } from '../by-load.ts';

const silentLog = createLog('test', 'silent');

const messageBytes = 1_950_000;
const owner = 'u:giant';
const call = (): ReturnType<typeof within> => within(byLoad(60_000));

const entryAt = (position: number): LogEntry => {
  const messageId = `m${String(position)}`;
  const message = { message_id: messageId, role: 'user', timestamp: '2026-01-01T00:00:00.000Z' };
  const frame = JSON.stringify({ ...message, content: [{ type: 'text', text: '' }] }).length;
  const text = 'x'.repeat(messageBytes - frame);
  return {
    position,
    messageId,
    json: Buffer.from(JSON.stringify({ ...message, content: [{ type: 'text', text }] })),
  };
};

/** A thread whose context is larger than any call lets it become. */
async function writeGiant(store: ThreadStore, threadId: string, count: number): Promise<Head> {
  let head: Head = { ...newHead, version: 1_000_000, nextPosition: 0, size: { fields: 0, context: 0 } };
  const write = (change: Change): Promise<void> =>
    store.change({ owner, threadId }, {}, () => ({ change, reply: undefined }));
  for (let at = 0; at < count; at += 3) {
    const messages = Array.from({ length: Math.min(3, count - at) }, (_, index) => entryAt(at + index));
    const context = messages.reduce((sum, { json }) => sum + json.byteLength + 1, head.size.context);
    head = { ...head, version: head.version + 1, nextPosition: at + messages.length, size: { fields: 0, context } };
    await write({ head, messages });
  }
  return head;
}

/** A run of it that waits for its first claim. */
async function queueRun(store: ThreadStore, threadId: string, runId: string): Promise<void> {
  await store.change({ owner, threadId }, {}, ({ head }) => {
    if (!head) throw new Error('the thread is absent');
    const run = {
      ...{ runId, threadId, requestId: 'q', isNewThread: false, createdAt: 1, updatedAt: 1 },
      granularity: 'full' as const,
      status: 'queued' as const,
      options: Buffer.from('{"config":{},"user":{},"initialState":{},"tools":[],"recursionLimit":25}'),
      ...{ input: Buffer.from('[]'), answers: [], hasNewInput: true },
    };
    const held: Head = { ...head, activeRun: runId, activeStatus: 'queued', newestRun: runId };
    return { change: { head: held, runs: [run] }, reply: undefined };
  });
}

const graph = new StateGraph({})
  .addNode('answer', () => ({ messages: [{ content: 'yes' }] }))
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

interface Opened extends AsyncDisposable {
  readonly threads: Threads;
  readonly execution: Execution;
}

/** Threads and execution, each behind gRPC, on this store. */
async function openOverGrpc(store: ThreadStore): Promise<Opened> {
  const opened = new AsyncDisposableStack();
  const wire = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
  const threadsServer = opened.use(await serve({ threads: createThreads({ store }) }, wire));
  const threads = opened.use(connect('threads', `127.0.0.1:${String(threadsServer.port)}`));
  const ownMemory = opened.use(await openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) }));
  const own = opened.use(
    await openExecution({
      ...{ agents: unnamedAgent(graph), threads, memory: ownMemory.memory, log: silentLog, sweepMs: 1000 },
      ...{ queue: openInProcessRunQueue(), leases: openInProcessWorkerLeases(), control: openInProcessRunControl() },
      codeCalls: openInProcessCodeCalls(),
      eventLog: openSqliteRunLog({ path: ':memory:' }),
      values: readEnv(executionSettings, {}),
    }),
  );
  const server = opened.use(await serve({ execution: own.execution }, wire));
  const execution = opened.use(connect('execution', `127.0.0.1:${String(server.port)}`));
  return { threads, execution, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const startRequest = (threadId: string, runId: string): StartRequest => ({
  ...{ owner, threadId, runId, requestId: 'q', tools: [], recursionLimit: 25 },
  ...{ granularity: 'full', multitaskStrategy: 'enqueue' },
  messages: [
    {
      messageId: `in-${runId}`,
      json: Buffer.from(
        JSON.stringify({
          message_id: `in-${runId}`,
          role: 'user',
          content: [{ type: 'text', text: 'hello' }],
          timestamp: '2026-01-01T00:00:00.000Z',
        }),
      ),
    },
  ],
});

const refusal = /context would have \d+ bytes, more than 12582912/;

/** What a giant thread must still let its owner do. */
async function outgrow(t: ExecutionContext, store: ThreadStore, count: number): Promise<void> {
  const key = { owner, threadId: `giant-${String(count)}` };
  await writeGiant(store, key.threadId, count);
  await queueRun(store, key.threadId, 'waited');
  await using opened = await openOverGrpc(store);
  const { threads, execution } = opened;
  const blocked = monitorEventLoopDelay({ resolution: 5 });
  blocked.enable();
  const took: string[] = [];
  const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const begun = performance.now();
    const result = await work;
    took.push(`${what} ${(performance.now() - begun).toFixed(0)} ms`);
    return result;
  };

  const waited = await timed('a run that waited', execution.wait({ owner, runId: 'waited' }, call()));
  t.is(waited.kind, 'error');
  t.regex(Buffer.from(waited.data).toString(), /VALIDATION_ERROR/);
  t.regex(Buffer.from(waited.data).toString(), refusal);
  t.is((await threads.getThread(key, call())).activeRunId, undefined);

  const state = await timed('its state', threads.getState(key, call()));
  t.true(state.contextTruncated);
  t.true(state.contextJson.byteLength <= sizes.contextWithInput + 1);
  t.true(state.contextJson.byteLength > sizes.contextWithInput - messageBytes);
  const newest = JSON.parse(Buffer.from(state.contextJson).toString()) as { message_id: string }[];
  t.is(newest.at(-1)?.message_id, `m${String(count - 1)}`);

  const refused = await t.throwsAsync(execution.start(startRequest(key.threadId, 'refused'), call()));
  t.true(isServiceError(refused, 'Invalid'), String(refused));
  t.regex(refused.message, refusal);
  t.is((await threads.getThread(key, call())).activeRunId, undefined);

  await timed('a message deleted', threads.deleteMessage({ ...key, messageId: 'm0' }, call()));
  t.is((await store.getHead(key))?.size.context, (count - 1) * (messageBytes + 1));
  const fixed = await timed('fixed', threads.fixThread(key, call()));
  t.is(fixed.removedCount, 0);

  await timed('cleared', threads.clearState(key, call()));
  t.is(Buffer.from((await threads.getState(key, call())).contextJson).toString(), '[]');
  const { checkpoints } = await threads.listCheckpoints({ ...key, limit: 2, offset: 0 }, call());
  const { checkpointId = '' } = checkpoints[1] ?? {};
  const before = await timed('the state before', threads.getCheckpoint({ ...key, checkpointId }, call()));
  t.true(before.state.contextTruncated);
  // Compared as bytes: an assertion that looks at every one of them takes a minute.
  t.is(Buffer.compare(before.state.contextJson, state.contextJson), 0);

  await execution.start(startRequest(key.threadId, 'after'), call());
  const end = await timed('a run', execution.wait({ owner, runId: 'after' }, call()));
  t.is(end.kind, 'on_chain_end');
  t.is(Buffer.from((await threads.getMessage({ ...key, messageId: 'm1' }, call())).json).byteLength, messageBytes);
  blocked.disable();
  t.log(`${String(count)} messages: ${took.join(', ')}; longest block ${(blocked.max / 1e6).toFixed(0)} ms`);
}

withFaults(test, () => {
  for (const count of [9, 60]) {
    test.serial(
      `a thread of ${String(count)} messages of 1.95 MB is read, trimmed and cleared over gRPC, and runs again, on SQLite`,
      async (t) => {
        t.timeout(byLoad(120_000));
        const folder = await mkdtemp(join(tmpdir(), 'giant-'));
        t.teardown(() => rm(folder, { recursive: true }));
        await using store = openSqliteThreadStore({ path: join(folder, 'threads.sqlite') });
        await outgrow(t, store, count);
      },
    );
  }
});

withFaultsOf(test, cassandra, (server) => {
  for (const count of [24]) {
    test.serial(
      `a thread of ${String(count)} messages of 1.95 MB is read, trimmed and cleared over gRPC, and runs again, on Cassandra`,
      async (t) => {
        t.timeout(byLoad(240_000));
        await using keyspace = await openKeyspace(await server());
        await using store = await keyspace.open();
        await outgrow(t, store, count);
      },
    );
  }
});
