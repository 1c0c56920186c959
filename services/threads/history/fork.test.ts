import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { Head } from '../ports/record.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createThreads } from '../threads.ts';
import { createForks } from './fork.ts';

const owner = 'u:ada';
const fork = { owner, threadId: 'fork' };
const call = (): ReturnType<typeof within> => within(5000);

/** A fork that got no further than this, begun so long ago. */
async function leaveBehind(store: ThreadStore, agoMs: number, epoch = 0): Promise<void> {
  const createdAt = Date.now() - agoMs;
  const head: Head = {
    createdAt,
    updatedAt: createdAt,
    version: createdAt * 1000,
    epoch,
    step: 0,
    queue: [],
    nextPosition: 1,
    openCalls: [],
    next: [],
    openInterrupts: [],
    size: { fields: 0, context: 0 },
    claims: 0,
    deleting: true,
  };
  const messages = [{ position: 0, messageId: 'left behind', json: Buffer.from('{}') }];
  await store.change(fork, {}, () => ({ change: { head, messages }, reply: undefined }));
}

/** A thread with one version, to fork from; gives the id of that. */
async function makeThread(threads: Threads): Promise<string> {
  await threads.acceptRun(
    {
      owner,
      threadId: 't1',
      runId: 'r1',
      requestId: 'q',
      messages: [{ messageId: 'm1', json: Buffer.from('{"message_id":"m1","role":"user","content":[]}') }],
      answers: [],
      hasNewInput: true,
      optionsJson: Buffer.from('{}'),
      multitaskStrategy: 'enqueue',
      granularity: 'low',
      claim: { workerId: 'w1' },
    },
    call(),
  );
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId: 't1', limit: 1, offset: 0 }, call());
  return checkpoints[0]?.checkpointId ?? '';
}

test('a fork on its way to be is absent, and not among what is to be removed', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const checkpointId = await makeThread(threads);
  await leaveBehind(store, 1000);
  await t.throwsAsync(threads.getThread(fork, call()), { message: /does not exist/ });
  t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, []);
  const request = { owner, threadId: 't1', checkpointId, newThreadId: 'fork' };
  await t.throwsAsync(threads.forkThread(request, within(200)), { message: /is being made/, code: 'Unavailable' });
});

test('a request that is made again at another replica waits for the fork that the first is making', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const again = createThreads({ store });
  const checkpointId = await makeThread(again);
  const [begun, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const slowStore: ThreadStore = {
    ...store,
    getFields: async (...read) => {
      begun.resolve(undefined);
      await goOn.promise;
      return store.getFields(...read);
    },
  };
  const first = createThreads({ store: slowStore });
  const request = { owner, threadId: 't1', checkpointId, newThreadId: 'fork' };
  const made = first.forkThread(request, call());
  await begun.promise;
  const polled = Promise.withResolvers<undefined>();
  const pollingStore: ThreadStore = {
    ...store,
    getHead: async (key) => {
      const head = await store.getHead(key);
      if (key.threadId === 'fork') polled.resolve(undefined);
      return head;
    },
  };
  const second = createThreads({ store: pollingStore }).forkThread(request, call());
  await Promise.race([polled.promise, second]);
  goOn.resolve(undefined);
  t.deepEqual(await second, await made);
});

test('what a fork left behind that was cut short is removed, by the sweeper or by the same request again', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const checkpointId = await makeThread(threads);
  await leaveBehind(store, 120_000);
  t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, [fork]);
  await threads.forkThread({ owner, threadId: 't1', checkpointId, newThreadId: 'fork' }, call());
  const { messagesJson } = await threads.listMessages({ ...fork, limit: 10, offset: 0 }, call());
  t.is(Buffer.from(messagesJson).toString(), '[{"message_id":"m1","role":"user","content":[]}]');
  t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, []);
});

test('a thread that is deleted while it is made is removed like any other', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  await leaveBehind(store, 1000, 1);
  t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, [fork]);
});

/** A store on which the first reading of fields waits until `meanwhile` is done: a fork is half way then. */
const slowed = (store: ThreadStore, meanwhile: () => Promise<unknown>): ThreadStore => {
  let done: Promise<unknown> | undefined;
  return {
    ...store,
    getFields: async (...read) => {
      await (done ??= meanwhile());
      return store.getFields(...read);
    },
  };
};

const added = [{ messageId: 'm2', json: Buffer.from('{"message_id":"m2","role":"user","content":[]}') }];

const add = (threads: Threads): Promise<unknown> =>
  threads.addMessages({ owner, threadId: 't1', messages: added }, call());

/** A thread of two versions that no run holds; gives the id of the older. */
async function makeIdleThread(threads: Threads): Promise<string> {
  const checkpointId = await makeThread(threads);
  await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
  await add(threads);
  return checkpointId;
}

test('a fork outlasts the pruning of its checkpoint while the thread stays as it is', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const checkpointId = await makeIdleThread(threads);
  const forking = createThreads({
    store: slowed(store, () => threads.pruneThread({ owner, threadId: 't1', keep: 1 }, call())),
  });
  await forking.forkThread({ owner, threadId: 't1', checkpointId, newThreadId: 'fork' }, call());
  const { messagesJson } = await threads.listMessages({ ...fork, limit: 10, offset: 0 }, call());
  t.is(Buffer.from(messagesJson).toString(), '[{"message_id":"m1","role":"user","content":[]}]');
});

test('a fork whose checkpoint is pruned while the thread moves on is refused, and leaves nothing', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const checkpointId = await makeIdleThread(threads);
  const meanwhile = async (): Promise<void> => {
    await add(threads);
    await threads.pruneThread({ owner, threadId: 't1', keep: 1 }, call());
  };
  const forking = createThreads({ store: slowed(store, meanwhile) });
  const request = { owner, threadId: 't1', checkpointId, newThreadId: 'fork' };
  await t.throwsAsync(forking.forkThread(request, call()), { code: 'NotFound' });
  t.is(await store.getHead(fork), undefined);
});

test('the present version is copied also when its checkpoint is no longer kept', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  await makeIdleThread(threads);
  t.true((await store.expireCheckpoints(Date.now() + 60_000, 100)) > 0);
  await threads.forkThread({ owner, threadId: 't1', newThreadId: 'fork' }, call());
  const { messagesJson } = await threads.listMessages({ ...fork, limit: 10, offset: 0 }, call());
  t.regex(Buffer.from(messagesJson).toString(), /"m1".*"m2"/);
  const moving = createThreads({ store: slowed(store, () => add(threads)) });
  await store.expireCheckpoints(Date.now() + 60_000, 100);
  const request = { owner, threadId: 't1', newThreadId: 'other' };
  const moved = moving.forkThread(request, call()).then(
    () => 'made',
    () => 'refused',
  );
  t.is(await moved, 'refused');
});

test('a thread of more messages than a fork may hold is refused, and leaves nothing', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  await makeIdleThread(threads);
  const { make } = createForks(store, { now: Date.now, maxBytes: 60 });
  const request = { owner, threadId: 't1', newThreadId: 'fork' };
  await t.throwsAsync(make(request, call()), { code: 'Conflict', message: /bytes/ });
  t.is(await store.getHead(fork), undefined);
});

test('a fork whose thread is removed half way leaves nothing', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const checkpointId = await makeThread(threads);
  const forking = threads.forkThread({ owner, threadId: 't1', checkpointId, newThreadId: 'fork' }, call());
  await threads.beginDelete({ owner, threadId: 't1' }, call());
  await threads.finishDelete({ owner, threadId: 't1' }, call());
  const made = await forking.then(
    () => true,
    () => false,
  );
  t.is((await store.getHead(fork)) !== undefined, made);
});
