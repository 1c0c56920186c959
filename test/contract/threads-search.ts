import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import type {
  SearchThreadsReply,
  SearchThreadsRequest,
  Thread,
  ThreadFilter,
  Threads,
  UpdateThreadRequest,
} from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  interrupted,
  interruptedTurn,
  owner,
  parse,
  passMillisecond,
  refused,
  text,
  thread1,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const update = (threads: Threads, parts: Partial<UpdateThreadRequest>): Promise<Thread> =>
  threads.updateThread({ ...thread1, dropName: false, dropMetadata: false, dropTtl: false, ...parts }, call());

const search = (
  threads: Threads,
  filter: Partial<ThreadFilter> = {},
  parts: Partial<SearchThreadsRequest> = {},
): Promise<SearchThreadsReply> =>
  threads.searchThreads(
    {
      owner,
      filter: { threadIds: [], statuses: [], ...filter },
      limit: 100,
      offset: 0,
      sortBy: 'updated_at',
      ascending: false,
      withQuestions: false,
      withValues: false,
      ...parts,
    },
    call(),
  );

const count = (threads: Threads, filter: Partial<ThreadFilter> = {}): ReturnType<Threads['countThreads']> =>
  threads.countThreads({ owner, filter: { threadIds: [], statuses: [], ...filter } }, call());

const idsOf = ({ threads }: SearchThreadsReply): (string | undefined)[] => threads.map(({ thread }) => thread.threadId);

/** A run that asks a question. */
async function askingTurn(threads: Threads, runId: string, threadId: string): Promise<void> {
  await accept(threads, runId, { threadId });
  const { epoch } = await threads.claimRun({ owner, threadId, runId, workerId: 'w1' }, call());
  const interruptsJson = '[{"id":"i1","value":"May I?"}]';
  await commit(threads, runId, epoch, {
    threadId,
    next: ['ask'],
    openInterrupts: ['i1'],
    end: { ...interrupted, interruptsJson },
  });
}

const failed = { ...completed, status: 'failed', error: { code: 'NodeFailed', message: 'no' } } as const;

async function failedTurn(threads: Threads, runId: string, threadId: string): Promise<void> {
  await accept(threads, runId, { threadId });
  const { epoch } = await threads.claimRun({ owner, threadId, runId, workerId: 'w1' }, call());
  await commit(threads, runId, epoch, { threadId, end: failed });
}

/** What the record promises of changing, finding and counting threads. */
export function threadsSearchContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('a thread is made without a run, once', async (t, threads) => {
    const create = { ...thread1, threadName: 'new', metadataJson: bytes('{"a":1}'), ttlSeconds: 3600 };
    const made = await threads.createThread({ ...create, agent: 'helper', attemptId: 'first' }, call());
    t.like(made, { threadId: 't1', threadName: 'new', status: 'idle', agent: 'helper', ttlSeconds: 3600 });
    t.is(text(made.metadataJson), '{"a":1}');
    t.deepEqual(await threads.getThread(thread1, call()), made);
    t.deepEqual(await threads.createThread({ ...create, agent: 'helper', attemptId: 'first' }, call()), made);
    await refused(t, threads.createThread({ ...create, attemptId: 'second' }, call()), 'Conflict');
    t.deepEqual(idsOf(await search(threads)), ['t1']);
    t.deepEqual((await threads.getState(thread1, call())).fields, {});
    t.deepEqual((await threads.listCheckpoints({ ...thread1, limit: 10, offset: 0 }, call())).checkpoints, []);
    const run = await accept(threads, 'r1', { agent: 'helper' });
    t.like(run, { isNewThread: false, status: 'queued' });
    await refused(t, threads.createThread({ ...create, ...thread1, owner: 'u:ada' }, call()), 'Conflict');
    t.is((await threads.createThread({ owner: 'u:ben', threadId: 't1' }, call())).metadataJson, undefined);
  });

  check('a thread gets another name and further metadata, and keeps the rest', async (t, threads) => {
    await accept(threads, 'r1', { threadName: 'old', metadataJson: bytes('{"a":1,"b":{"c":2}}') });
    const before = await threads.getThread(thread1, call());
    const renamed = await update(threads, { threadName: 'new' });
    t.is(renamed.threadName, 'new');
    t.is(renamed.version, before.version);
    t.deepEqual(parse(renamed.metadataJson), { a: 1, b: { c: 2 } });
    const { metadataJson } = await update(threads, { metadataJson: bytes('{"b":null,"d":[1],"__proto__":3}') });
    t.is(text(metadataJson), '{"a":1,"d":[1],"__proto__":3}');
    const unchanged = await update(threads, {});
    t.deepEqual(await threads.getThread(thread1, call()), { ...before, ...unchanged, activeRunId: 'r1' });
    const [listed] = (await threads.listThreads({ owner, limit: 1, offset: 0 }, call())).threads;
    t.deepEqual([listed?.threadName, text(listed?.metadataJson)], ['new', text(metadataJson)]);
    const bare = await update(threads, { dropName: true, dropMetadata: true });
    t.deepEqual([bare.threadName, bare.metadataJson], [undefined, undefined]);
    t.like((await threads.listThreads({ owner, limit: 1, offset: 0 }, call())).threads, {
      0: { threadId: 't1', threadName: undefined, metadataJson: undefined },
    });
  });

  check('a thread is called by its name, else by the first message of a user', async (t, threads) => {
    const titleOf = async (): Promise<unknown[]> => {
      const [listed] = (await threads.listThreads({ owner, limit: 1, offset: 0 }, call())).threads;
      const [found] = (await search(threads)).threads;
      const [run] = (await threads.listOwnRuns({ owner, limit: 1, statuses: [] }, call())).runs;
      const [ofThread] = (await threads.listRuns({ ...thread1, limit: 1, offset: 0 }, call())).runs;
      const titles = [(await threads.getThread(thread1, call())).title, listed?.title, found?.thread.title];
      return [...new Set([...titles, run?.threadTitle, ofThread?.threadTitle])];
    };
    await accept(threads, 'r1', { messages: [assistant('a1')] });
    t.deepEqual(await titleOf(), [undefined]);
    await accept(threads, 'r2', { messages: [user('m2', ' Was it\ncharged twice? ')] });
    t.deepEqual(await titleOf(), ['Was it charged twice?']);
    await accept(threads, 'r3', { messages: [user('m3', 'later')] });
    t.deepEqual(await titleOf(), ['Was it charged twice?']);
    t.deepEqual(idsOf(await search(threads, { search: 'CHARGED' })), ['t1']);
    await update(threads, { threadName: 'named' });
    t.deepEqual(await titleOf(), ['named']);
    await update(threads, { dropName: true });
    t.deepEqual(await titleOf(), ['Was it charged twice?']);
  });

  check('a message that is deleted or replaced is not shown as a title', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [user('m1', 'secret')] });
    const titleOf = async (): Promise<unknown> => (await threads.getThread(thread1, call())).title;
    t.is(await titleOf(), 'secret');
    await threads.addMessages({ ...thread1, messages: [user('m1', 'public')] }, call());
    t.is(await titleOf(), 'public');
    await threads.deleteMessage({ ...thread1, messageId: 'm1' }, call());
    t.is(await titleOf(), undefined);
    await threads.addMessages({ ...thread1, messages: [user('m2', 'next')] }, call());
    t.is(await titleOf(), 'next');
  });

  check('a fork has the title of its thread when it holds the message that gave it', async (t, threads) => {
    await finishedTurn(threads, 'r1', { messages: [assistant('a1')] });
    await finishedTurn(threads, 'r2', { messages: [user('m1', 'secret')] });
    const listed = await threads.listCheckpoints({ ...thread1, limit: 10, offset: 0 }, call());
    const titles: unknown[] = [];
    for (const { checkpointId } of listed.checkpoints) {
      const newThreadId = `fork-${checkpointId}`;
      titles.push((await threads.forkThread({ ...thread1, checkpointId, newThreadId }, call())).title);
    }
    t.deepEqual(titles, ['secret', 'secret', undefined, undefined]);
    await threads.addMessages({ ...thread1, messages: [user('m1', 'public')] }, call());
    const [replaced] = (await threads.listCheckpoints({ ...thread1, limit: 1, offset: 0 }, call())).checkpoints;
    const before = listed.checkpoints[0]?.checkpointId ?? '';
    for (const [checkpointId, title] of [
      [before, undefined],
      [replaced?.checkpointId ?? '', 'public'],
    ] as const)
      t.is(
        (await threads.forkThread({ ...thread1, checkpointId, newThreadId: `to-${checkpointId}` }, call())).title,
        title,
      );
  });

  check('a run says when a worker began with it', async (t, threads) => {
    await accept(threads, 'r1');
    t.false('startedAt' in (await threads.getRun({ owner, runId: 'r1' }, call())));
    const { epoch } = await claim(threads, 'r1');
    const { startedAt = 0, createdAt } = await threads.getRun({ owner, runId: 'r1' }, call());
    t.true(startedAt >= createdAt);
    await commit(threads, 'r1', epoch, { end: completed });
    const [run] = (await threads.listOwnRuns({ owner, limit: 1, statuses: [] }, call())).runs;
    t.is(run?.startedAt, startedAt);
  });

  check('a thread is renamed while a worker commits, and the run goes on', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await update(threads, { threadName: 'named' });
    await commit(threads, 'r1', epoch, { messages: [], end: completed });
    t.like(await threads.getThread(thread1, call()), { threadName: 'named', status: 'idle' });
  });

  check('a change that was asked for once is not made again after another', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const keyed = { threadName: 'first', onceKey: 'k1' };
    await update(threads, keyed);
    await update(threads, { threadName: 'second' });
    t.is((await update(threads, keyed)).threadName, 'second');
  });

  check('a run sets marks in the metadata of a thread that is there and idle', async (t, threads) => {
    const metadata = async (): Promise<unknown> => {
      const { metadataJson } = await threads.getThread({ owner, threadId: 't1' }, call());
      return metadataJson && parse(metadataJson);
    };
    const marks = (of: string) => ({ marksJson: bytes(JSON.stringify({ of, graph: 'g' })) });
    await accept(threads, 'r1', { ...marks('1'), metadataJson: bytes('{"a":{"b":1}}') });
    t.deepEqual(await metadata(), { a: { b: 1 } });
    await accept(threads, 'r2', marks('2'));
    t.deepEqual(await metadata(), { a: { b: 1 } }, 'a run holds the thread');
    for (const runId of ['r1', 'r2']) await threads.endRun({ owner, runId, status: 'stopped' }, call());
    await accept(threads, 'r3', marks('3'));
    t.deepEqual(await metadata(), { a: { b: 1 }, of: '3', graph: 'g' });
    await threads.endRun({ owner, runId: 'r3', status: 'stopped' }, call());
    const full = bytes(JSON.stringify({ a: 'x'.repeat(sizes.metadata - 10) }));
    await update(threads, { dropMetadata: true, metadataJson: full });
    await accept(threads, 'r4', marks('4'));
    t.deepEqual(await metadata(), parse(full), 'there is no room');
  });

  check('metadata has a bound, and what is absent, of others or deleted is not changed', async (t, threads) => {
    await accept(threads, 'r1', { metadataJson: bytes(JSON.stringify({ a: 'x'.repeat(sizes.metadata - 100) })) });
    await refused(t, update(threads, { metadataJson: bytes(JSON.stringify({ b: 'y'.repeat(200) })) }), 'Invalid');
    await update(threads, { dropMetadata: true, metadataJson: bytes(JSON.stringify({ b: 'y'.repeat(200) })) });
    await refused(t, update(threads, { threadId: 't2', threadName: 'x' }), 'NotFound');
    await refused(t, update(threads, { owner: 'u:bob', threadName: 'x' }), 'NotFound');
    await threads.beginDelete(thread1, call());
    await refused(t, update(threads, { threadName: 'x' }), 'NotFound');
  });

  check('a thread shows what happens on it, before and after each reply', async (t, threads) => {
    const status = async (threadId = 't1'): Promise<unknown[]> => {
      const found = await threads.getThread({ owner, threadId }, call());
      const [match] = (await search(threads, { threadIds: [threadId] })).threads;
      t.deepEqual([match?.thread.status, match?.thread.waitsFor], [found.status, found.waitsFor]);
      t.deepEqual(idsOf(await search(threads, { statuses: found.status ? [found.status] : [] })), [threadId]);
      return [found.status, ...(found.waitsFor ? [found.waitsFor] : [])];
    };
    await accept(threads, 'r1');
    t.deepEqual(await status(), ['queued']);
    const { epoch } = await threads.claimRun({ ...thread1, runId: 'r1', workerId: 'w1' }, call());
    t.deepEqual(await status(), ['running']);
    await commit(threads, 'r1', epoch, { end: completed });
    t.deepEqual(await status(), ['idle']);
    await accept(threads, 'r2');
    const second = await threads.claimRun({ ...thread1, runId: 'r2', workerId: 'w1' }, call());
    const error = { code: 'NodeFailed', message: 'no' } as const;
    await commit(threads, 'r2', second.epoch, { end: { ...completed, status: 'failed', error } });
    t.deepEqual(await status(), ['failed']);
    await interruptedTurn(threads, 'r3');
    t.deepEqual(await status(), ['interrupted', 'tool_results']);
  });

  check('threads are found and counted by each filter, and by all of them together', async (t, threads) => {
    const colours = ['red', 'blue', 'red'];
    for (const [index, colour] of colours.entries()) {
      const metadataJson = bytes(JSON.stringify({ colour, nested: { n: index, m: [1] } }));
      await finishedTurn(threads, `r${String(index)}`, {
        threadId: `t${String(index)}`,
        metadataJson,
        threadName: `Name ${String(index)}`,
      });
    }
    await accept(threads, 'b1', { owner: 'u:bob', threadId: 'tb', metadataJson: bytes('{"colour":"red"}') });
    const { version } = await threads.getState({ owner, threadId: 't2' }, call());
    const fields = {
      step: bytes('7'),
      done: bytes('true'),
      note: bytes('"x"'),
      none: bytes('null'),
      list: bytes('[1]'),
    };
    await threads.writeState({ owner, threadId: 't2', expectedVersion: version, fields, messages: [] }, call());
    const found = async (filter: Partial<ThreadFilter>): Promise<unknown> => {
      const ids = idsOf(await search(threads, filter)).toSorted();
      t.deepEqual(await count(threads, filter), { count: ids.length, atLeast: false });
      return ids;
    };
    t.deepEqual(await found({}), ['t0', 't1', 't2']);
    t.deepEqual(await found({ metadataJson: bytes('{"colour":"red"}') }), ['t0', 't2']);
    t.deepEqual(await found({ metadataJson: bytes('{"nested":{"m":[1],"n":0}}') }), ['t0']);
    t.deepEqual(await found({ metadataJson: bytes('{"nested":{"n":0}}') }), ['t0']);
    t.deepEqual(await found({ metadataJson: bytes('{"nested":{"n":0,"m":[1,2]}}') }), []);
    t.deepEqual(await found({ metadataIfAnyJson: bytes('{"colour":"red","absent":1}') }), ['t0', 't2']);
    t.deepEqual(
      await found({ metadataJson: bytes('{"colour":"red"}'), metadataIfAnyJson: bytes('{"nested":{"n":2}}') }),
      ['t2'],
    );
    t.deepEqual(await found({ metadataJson: bytes('{"toString":1}') }), []);
    t.deepEqual(await found({ valuesJson: bytes('{"step":7,"done":true,"note":"x","none":null}') }), ['t2']);
    t.deepEqual(await found({ valuesJson: bytes('{"step":"7"}') }), []);
    t.deepEqual(await found({ valuesJson: bytes('{"absent":null}') }), []);
    t.deepEqual(await found({ search: 'NAME 1' }), ['t1']);
    t.deepEqual(await found({ agent: 'default' }), ['t0', 't1', 't2']);
    t.deepEqual(await found({ agent: 'support' }), []);
    t.deepEqual(await found({ threadIds: ['t1', 'tb', 't1', 'gone'] }), ['t1']);
    t.deepEqual(await found({ threadIds: ['t0', 't1'], metadataJson: bytes('{"colour":"red"}'), statuses: ['idle'] }), [
      't0',
    ]);
    t.deepEqual(await found({ statuses: ['failed', 'running'] }), []);
  });

  check('threads are found by the times at which they were made and changed', async (t, threads) => {
    for (const threadId of ['t1', 't2', 't3']) {
      await finishedTurn(threads, threadId, { threadId });
      await passMillisecond();
    }
    await update(threads, { threadName: 'changed last' });
    const { createdAt: made, updatedAt: changed } = await threads.getThread({ owner, threadId: 't2' }, call());
    const found = async (filter: Partial<ThreadFilter>): Promise<unknown> => {
      const ids = idsOf(await search(threads, filter, { limit: 1 }));
      for (let { cursor } = await search(threads, filter, { limit: 1 }); cursor !== undefined;) {
        const page = await search(threads, filter, { limit: 1, cursor });
        ids.push(...idsOf(page));
        ({ cursor } = page);
      }
      t.deepEqual(await count(threads, filter), { count: ids.length, atLeast: false });
      t.deepEqual(idsOf(await search(threads, filter, { sortBy: 'thread_id' })), ids.toSorted().reverse());
      return ids;
    };
    t.deepEqual(await found({ createdFrom: made }), ['t3', 't2']);
    t.deepEqual(await found({ createdFrom: made, createdTo: made + 1 }), ['t2']);
    t.deepEqual(await found({ createdTo: made }), ['t1']);
    t.deepEqual(await found({ updatedFrom: changed }), ['t1', 't3', 't2']);
    t.deepEqual(await found({ updatedFrom: changed + 1 }), ['t1', 't3']);
    t.deepEqual(await found({ updatedTo: changed + 1 }), ['t2']);
    t.deepEqual(await found({ updatedTo: changed }), []);
  });

  check('pages of every order hold each thread once, also by cursor', async (t, threads) => {
    const ids = Array.from({ length: 7 }, (_, index) => `t${String(index)}`);
    for (const [index, threadId] of ids.entries())
      await finishedTurn(threads, `r${String(index)}`, { threadId, threadName: `n${String((index * 3) % 7)}` });
    const byName = ids.toSorted((a, b) => ((Number(a[1]) * 3) % 7) - ((Number(b[1]) * 3) % 7));
    const expected = {
      ...{ updated_at: ids, created_at: ids, thread_id: ids, thread_name: byName },
      // All of them idle: the ids decide.
      status: ids,
    } as const;
    for (const [sortBy, order] of Object.entries(expected) as [keyof typeof expected, string[]][])
      for (const ascending of [true, false]) {
        const all: unknown[] = [];
        const offsets: unknown[] = [];
        for (let cursor: string | undefined; ;) {
          const page = await search(
            threads,
            {},
            { sortBy, ascending, limit: 3, ...(cursor === undefined ? {} : { cursor }) },
          );
          all.push(...idsOf(page));
          ({ cursor } = page);
          if (cursor === undefined) break;
        }
        for (let offset = 0; offset < 9; offset += 3)
          offsets.push(...idsOf(await search(threads, {}, { sortBy, ascending, limit: 3, offset })));
        t.deepEqual(all, ascending ? order : order.toReversed(), `${sortBy} ${String(ascending)}`);
        t.deepEqual(offsets, all);
      }
    const { cursor = '' } = await search(threads, {}, { limit: 2 });
    await refused(t, search(threads, { agent: 'default' }, { limit: 2, cursor }), 'Invalid');
    await refused(t, search(threads, {}, { limit: 2, cursor, ascending: true }), 'Invalid');
  });

  check('threads in the order of their statuses, and with the fields that they have stored', async (t, threads) => {
    await finishedTurn(threads, 'r1', { threadId: 'a-idle' });
    await accept(threads, 'r2', { threadId: 'b-queued' });
    await askingTurn(threads, 'r3', 'c-interrupted');
    await failedTurn(threads, 'r4', 'd-failed');
    const byStatus = { sortBy: 'status', ascending: true } as const;
    const order = ['d-failed', 'a-idle', 'c-interrupted', 'b-queued'];
    const first = await search(threads, {}, { ...byStatus, limit: 2 });
    t.deepEqual(idsOf(first), order.slice(0, 2));
    const { cursor = '' } = first;
    t.deepEqual(idsOf(await search(threads, {}, { ...byStatus, limit: 2, cursor })), order.slice(2));
    t.deepEqual(idsOf(await search(threads, {}, { sortBy: 'status' })), order.toReversed());
    const of = { owner, threadId: 'a-idle' };
    const { version } = await threads.getState(of, call());
    const fields = { step: bytes('7'), '"quoted"': bytes('{"a":[1]}') };
    await threads.writeState({ ...of, expectedVersion: version, fields, messages: [] }, call());
    const { threads: found } = await search(threads, {}, { sortBy: 'thread_id', ascending: true, withValues: true });
    t.deepEqual(
      found.map(({ valuesJson }) => parse(valuesJson)),
      [{ step: 7, '"quoted"': { a: [1] } }, {}, {}, {}],
    );
    t.false((await search(threads)).threads.some((match) => 'valuesJson' in match));
  });

  check('a page with values ends where they fill it, and the next goes on', async (t, threads) => {
    const ids = ['t1', 't2', 't3'];
    for (const threadId of ids) {
      await finishedTurn(threads, `r-${threadId}`, { threadId });
      const { version } = await threads.getState({ owner, threadId }, call());
      const fields = { large: bytes(JSON.stringify('x'.repeat(1_900_000))) };
      await threads.writeState({ owner, threadId, expectedVersion: version, fields, messages: [] }, call());
    }
    const parts = { sortBy: 'thread_id', ascending: true, withValues: true } as const;
    const page = await search(threads, {}, parts);
    t.deepEqual(idsOf(page), ['t1', 't2']);
    t.deepEqual(idsOf(await search(threads, {}, { ...parts, cursor: page.cursor ?? '' })), ['t3']);
  });

  check('a thread is failed while the run that failed is its newest', async (t, threads) => {
    const status = async (): Promise<unknown> => (await threads.getThread(thread1, call())).status;
    await accept(threads, 'r1');
    await accept(threads, 'r2');
    const { epoch } = await threads.claimRun({ ...thread1, runId: 'r1', workerId: 'w1' }, call());
    await commit(threads, 'r1', epoch, { end: failed });
    t.is(await status(), 'queued');
    const second = await threads.claimRun({ ...thread1, runId: 'r2', workerId: 'w1' }, call());
    await commit(threads, 'r2', second.epoch, { end: completed });
    t.is(await status(), 'idle');
    await failedTurn(threads, 'r3', 't1');
    t.is(await status(), 'failed');
    await threads.addMessages({ ...thread1, messages: [user('later')] }, call());
    t.is(await status(), 'failed');
    await accept(threads, 'r4');
    await threads.endRun({ owner, runId: 'r4', status: 'failed' }, call());
    t.is(await status(), 'failed');
    await finishedTurn(threads, 'r5');
    t.is(await status(), 'idle');
  });

  check(
    'a thread has a time of its own from its first run or later, and then counts as idle to no sweep',
    async (t, threads) => {
      const noted = async (): Promise<number> =>
        (await threads.countResources({ owner, kind: 'expiry', atMost: 100 }, call())).count;
      const isIdle = async (): Promise<boolean> =>
        (await threads.listIdle({ before: Date.now() + 60_000, limit: 10 }, call())).threads.length > 0;
      await finishedTurn(threads, 'r1', { ttlSeconds: 3600 });
      t.is((await threads.getThread(thread1, call())).ttlSeconds, 3600);
      t.deepEqual([await noted(), await isIdle()], [1, false]);
      await finishedTurn(threads, 'r2', { ttlSeconds: 7200 });
      t.is((await threads.getThread(thread1, call())).ttlSeconds, 3600);
      t.is((await search(threads)).threads[0]?.thread.ttlSeconds, 3600);
      t.is((await update(threads, { ttlSeconds: 3600 })).ttlSeconds, 3600);
      t.is(await noted(), 1);
      t.is((await update(threads, { ttlSeconds: 60 })).ttlSeconds, 60);
      t.is(await noted(), 2);
      const { version } = await threads.getThread(thread1, call());
      t.false('ttlSeconds' in (await update(threads, { dropTtl: true })));
      t.is((await threads.getThread(thread1, call())).version, version);
      t.deepEqual([await noted(), await isIdle()], [2, true]);
    },
  );

  check('what waits for an answer is found with its questions until it is answered', async (t, threads) => {
    await askingTurn(threads, 'r1', 't1');
    await finishedTurn(threads, 'r2', { threadId: 't2' });
    await accept(threads, 'r3', { threadId: 't3' });
    const waiting = (): Promise<SearchThreadsReply> => search(threads, { waitsFor: 'answer' }, { withQuestions: true });
    const [match, ...others] = (await waiting()).threads;
    t.deepEqual(others, []);
    t.like(match, { thread: { threadId: 't1', status: 'interrupted', waitsFor: 'answer' }, askedBy: 'r1' });
    t.deepEqual(parse(match?.interruptsJson), [{ id: 'i1', value: 'May I?' }]);
    t.deepEqual(await count(threads, { waitsFor: 'answer' }), { count: 1, atLeast: false });
    t.deepEqual(await count(threads, { waitsFor: 'tool_results' }), { count: 0, atLeast: false });
    await accept(threads, 'r4', { messages: [], hasNewInput: false, resume: { keys: [] } });
    t.deepEqual((await waiting()).threads, []);
  });
}
