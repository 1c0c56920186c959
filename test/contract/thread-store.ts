import { randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { conflict } from '@agent-workflow/kit/errors';
import type { Change } from '@agent-workflow/threads/ports/changes';
import type { MessagesPage } from '@agent-workflow/threads/ports/lists';
import type { AppliedRequest, RunRecord } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import type { TestedStore } from './thread-stores/tested.ts';
import { threadStoreOwnRunsContract } from './thread-store-own-runs.ts';
import { threadStorePastContract } from './thread-store-past.ts';
import {
  bytes,
  checkpoint,
  entry,
  fullHead,
  key,
  snapshotOf,
  mark,
  newHead,
  owner,
  positionsOf,
  put,
  run,
  text,
  textsOf,
} from './thread-rows.ts';

let places = 0;

/** What any record of threads must promise, whatever keeps it. */
export function threadStoreContract(test: TestFn, { name, open, keeps, ages }: TestedStore): void {
  const newPlace = (): string => `threads-${String((places += 1))}`;
  const check = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using store = await open(newPlace());
      await body(t, store);
    });
  };

  check('a thread that was never written is absent', async (t, store) => {
    t.is(await store.getHead(key), undefined);
    t.is(await store.getRun(owner, 'r1'), undefined);
    t.is(await store.getMessage(key, 'm1'), undefined);
    t.deepEqual(await store.listThreads(owner, { limit: 10 }), []);
    t.deepEqual(await store.listMessages(key, { limit: 10 }), []);
    t.deepEqual(textsOf(await store.getState(key)), { fields: {}, context: [] });
  });

  check('the first decision sees no thread, and the next one what it wrote', async (t, store) => {
    t.deepEqual(await snapshotOf(store), {
      head: undefined,
      runs: new Map(),
      entries: new Map(),
      fields: {},
      context: [],
    });
    await put(store, { head: fullHead });
    t.deepEqual((await snapshotOf(store)).head, fullHead);
    t.deepEqual(await store.getHead(key), fullHead);
  });

  check('a head comes back as it was written, with what is absent absent', async (t, store) => {
    await put(store, { head: newHead });
    t.deepEqual(await store.getHead(key), newHead);
    for (const name of [
      'name',
      'metadata',
      'activeRun',
      'worker',
      'foundVersion',
      'newestRun',
      'interruptedRun',
      'progress',
    ])
      t.false(name in ((await store.getHead(key)) ?? {}), name);
  });

  check('what a later head leaves out is gone from it', async (t, store) => {
    const { activeRun: _run, activeStatus: _status, worker: _worker, foundVersion: _found, ...held } = fullHead;
    const { interruptedRun: _interrupted, progress: _progress, ...free } = held;
    await put(store, { head: fullHead });
    await put(store, { head: { ...free, version: 8, queue: [], openCalls: [], next: [] } });
    t.deepEqual(await store.getHead(key), { ...free, version: 8, queue: [], openCalls: [], next: [] });
  });

  check('a decision without a change writes nothing and gives its reply', async (t, store) => {
    t.is(await store.change(key, {}, () => ({ reply: 'seen' })), 'seen');
    t.is(await store.getHead(key), undefined);
  });

  check('all parts of a change are there at once', async (t, store) => {
    const writing = put(store, {
      head: { ...newHead, nextPosition: 2 },
      fields: { topic: bytes('"tea"') },
      messages: [entry(0), entry(1)],
      removedFromContext: [0],
      runs: [run('r1')],
      checkpoint: { ...checkpoint(5), runId: 'r1', step: 3, nodes: ['a', 'b'], metadata: bytes('{"by":"me"}') },
    });
    t.true([undefined, newHead.version].includes((await store.getHead(key))?.version));
    await writing;
    t.deepEqual(textsOf(await store.getState(key)), { fields: { topic: '"tea"' }, context: ['{"n":1}'] });
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0, 1]);
    t.deepEqual(await store.getRun(owner, 'r1'), run('r1'));
  });

  check('what a decision throws is thrown by its change, and nothing is written', async (t, store) => {
    await put(store, { head: newHead, fields: { topic: bytes('"tea"') } });
    const refusal = conflict('no');
    const error = await t.throwsAsync(
      store.change(key, {}, () => {
        throw refusal;
      }),
    );
    t.is(error, refusal);
    t.deepEqual(await store.getHead(key), newHead);
  });

  check('a change that cannot be written whole is not written at all', async (t, store) => {
    await put(store, { head: newHead, runs: [run('r1')] });
    const error = await t.throwsAsync<Error & { code?: string }>(
      put(
        store,
        {
          head: { ...newHead, version: 2 },
          fields: { topic: bytes('"tea"') },
          messages: [entry(0)],
          runs: [run('r1', { threadId: 't2' })],
        },
        { owner, threadId: 't2' },
      ),
    );
    t.is(error.code, 'Conflict');
    const other = { owner, threadId: 't2' };
    t.is(await store.getHead(other), undefined);
    t.deepEqual(await store.listMessages(other, { limit: 10 }), []);
    t.deepEqual(await store.getRun(owner, 'r1'), run('r1'));
  });

  check('a refused change undoes nothing of those decided in the same moment', async (t, store) => {
    const results = await Promise.allSettled([
      put(store, { head: newHead }),
      store.change(key, {}, () => {
        throw conflict('no');
      }),
      put(store, { head: newHead }, { owner, threadId: 't2' }),
    ]);
    t.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    t.deepEqual(
      (await store.listThreads(owner, { limit: 10 })).map(({ threadId }) => threadId),
      ['t2', 't1'],
    );
  });

  check('concurrent changes of a thread each see the one before', async (t, store) => {
    await put(store, { head: { ...newHead, version: 0 } });
    const seen = await Promise.all(
      Array.from({ length: 200 }, () =>
        store.change(key, {}, ({ head }) => {
          const version = (head?.version ?? 0) + 1;
          return { change: { head: { ...newHead, version } }, reply: version };
        }),
      ),
    );
    t.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
    t.is((await store.getHead(key))?.version, 200);
  });

  check('many threads written in one moment are all there', async (t, store) => {
    const keys = Array.from({ length: 300 }, (_, index) => ({ owner, threadId: `t${String(index)}` }));
    await Promise.all(keys.map(async (each) => put(store, { head: newHead, messages: [entry(0)] }, each)));
    t.is((await store.listThreads(owner, { limit: 1000 })).length, 300);
    for (const each of keys) t.deepEqual(positionsOf(await store.listMessages(each, { limit: 10 })), [0]);
  });

  check('only what was asked for is looked up', async (t, store) => {
    await put(store, {
      head: { ...newHead, nextPosition: 3 },
      messages: [entry(0), entry(1), entry(2)],
      runs: [run('r1'), run('r2')],
    });
    const seen = await snapshotOf(store, { runs: ['r2', 'r9'], messages: ['m1', 'm9'] });
    t.deepEqual([...seen.runs], [['r2', run('r2')]]);
    t.deepEqual([...seen.entries], [['m1', { ...entry(1), inContext: true }]]);
  });

  check('a request noted once is told what stood under its key', async (t, store) => {
    t.is(await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 1 }), undefined);
    t.deepEqual(await store.beginRequest(owner, 'k', { bodyHash: 'other', at: 2 }), { bodyHash: 'h', at: 1 });
    await store.endRequest(owner, 'k', bytes('{"a":1}'));
    const known = await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 3 });
    t.is(text(known?.reply), '{"a":1}');
    t.is(await store.beginRequest('u:bob', 'k', { bodyHash: 'h', at: 1 }), undefined);
  });

  check('of many who note one key at once exactly one is the first', async (t, store) => {
    const notes = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => store.beginRequest(owner, 'k', { bodyHash: 'h', at })),
    );
    t.is(notes.filter((known) => known === undefined).length, 1);
  });

  check('one attempt that notes its key twice is told the same both times', async (t, store) => {
    const [mine, other] = [randomUUID(), randomUUID()];
    const note = { bodyHash: 'h', at: 1 };
    t.is(await store.beginRequest(owner, 'k', { ...note, attempt: mine }), undefined);
    t.is(await store.beginRequest(owner, 'k', { ...note, attempt: mine }), undefined);
    t.deepEqual(await store.beginRequest(owner, 'k', { ...note, attempt: other }), note);
  });

  check('a key that was left is taken by the next request, and by one only', async (t, store) => {
    t.is(await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 1 }), undefined);
    await store.endRequest(owner, 'k', undefined);
    t.is((await store.beginRequest(owner, 'k', { bodyHash: 'other', at: 2 }))?.bodyHash, 'h');
    const notes = await Promise.all(
      Array.from({ length: 20 }, async () => store.beginRequest(owner, 'k', { bodyHash: 'h', at: 2 })),
    );
    t.is(notes.filter((known) => known === undefined).length, 1);
    await store.endRequest(owner, 'k', bytes('{"a":1}'));
    await store.endRequest(owner, 'k', undefined);
    t.is(text((await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 3 }))?.reply), '{"a":1}');
  });

  check('a reply that is known from the beginning is that of the first', async (t, store) => {
    t.is(await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 1, reply: bytes('1') }), undefined);
    t.is(text((await store.beginRequest(owner, 'k', { bodyHash: 'h', at: 1, reply: bytes('2') }))?.reply), '1');
  });

  check('a change that applies a request says so to every later one, if it was written', async (t, store) => {
    const applies = (id: string): AppliedRequest => ({
      id,
      reply: bytes(`"${id}"`),
      at: Date.now(),
      keptMs: 60_000,
    });
    const repeatOf = async (request: string, threadId = 't2'): Promise<string | undefined> =>
      store.change({ owner, threadId }, { request }, ({ applied }) => ({ reply: text(applied) }));
    t.is(await repeatOf('k'), undefined);
    await t.throwsAsync(
      put(store, { head: newHead, runs: [run('r1')], applies: applies('k') }, { owner, threadId: 't2' }).then(
        async () => put(store, { head: newHead, runs: [run('r1')], applies: applies('k2') }, { owner, threadId: 't3' }),
      ),
    );
    t.is(await repeatOf('k'), '"k"');
    t.is(await repeatOf('k2', 't3'), undefined);
    t.is(await repeatOf('never'), undefined);
    await put(store, { head: { ...newHead, deleting: true } }, { owner, threadId: 't2' });
    await store.purge({ owner, threadId: 't2' });
    t.is(await repeatOf('k'), undefined);
  });

  if (!ages) {
    check('requests noted before a time are forgotten, at most as many as asked for', async (t, store) => {
      for (const [at, name] of ['a', 'b', 'c', 'd'].entries())
        await store.beginRequest(owner, name, { bodyHash: 'h', at });
      await store.expireRequests(3, 2);
      t.is((await store.beginRequest(owner, 'd', { bodyHash: 'h', at: 9 }))?.bodyHash, 'h');
      t.is((await store.beginRequest(owner, 'c', { bodyHash: 'h', at: 9 }))?.bodyHash, 'h');
      await store.expireRequests(3, 10);
      for (const name of ['a', 'b', 'c'])
        t.is(await store.beginRequest(owner, name, { bodyHash: 'new', at: 9 }), undefined);
    });
  }

  check('fields are put by name, and the others stay', async (t, store) => {
    await put(store, { head: newHead, fields: { a: bytes('1'), b: bytes('2') } });
    await put(store, { head: newHead, fields: { b: bytes('3'), 'ключ "x"': bytes('null') } });
    t.deepEqual(textsOf(await store.getState(key)).fields, { a: '1', b: '3', 'ключ "x"': 'null' });
  });

  check('a field may have the name of what every object has', async (t, store) => {
    await put(store, { head: newHead, fields: { constructor: bytes('1'), toString: bytes('2') } });
    t.deepEqual(Object.entries(textsOf(await store.getState(key)).fields).toSorted(), [
      ['constructor', '1'],
      ['toString', '2'],
    ]);
  });

  check('clearing the state leaves the log', async (t, store) => {
    await put(store, { head: newHead, fields: { a: bytes('1') }, messages: [entry(0), entry(1)] });
    await put(store, { head: { ...newHead, version: 2 }, clearState: true });
    t.deepEqual(textsOf(await store.getState(key)), { fields: {}, context: [] });
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0, 1]);
    await put(store, { head: { ...newHead, version: 3 }, messages: [entry(2)] });
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":2}']);
  });

  check('a message put at a place that is taken replaces what stands there', async (t, store) => {
    await put(store, { head: newHead, messages: [entry(0), entry(1), entry(2)] });
    await put(store, { head: newHead, messages: [{ ...entry(1), json: bytes('"new"') }] });
    t.deepEqual(
      (await store.listMessages(key, { limit: 10 })).map(({ json }) => text(json)),
      ['{"n":0}', '"new"', '{"n":2}'],
    );
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":0}', '"new"', '{"n":2}']);
    t.is(text((await store.getMessage(key, 'm1'))?.json), '"new"');
  });

  check('a message that left the context comes back to it when it is replaced', async (t, store) => {
    await put(store, { head: newHead, messages: [entry(0), entry(1)], removedFromContext: [0, 1] });
    t.deepEqual(textsOf(await store.getState(key)).context, []);
    await put(store, { head: newHead, messages: [entry(0)] });
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":0}']);
  });

  check('a deleted message leaves log, context and lookup', async (t, store) => {
    await put(store, { head: newHead, messages: [entry(0), entry(1), entry(2)] });
    await put(store, { head: newHead, deleted: [1] });
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0, 2]);
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":0}', '{"n":2}']);
    t.is(await store.getMessage(key, 'm1'), undefined);
    t.deepEqual([...(await snapshotOf(store, { messages: ['m1'] })).entries], []);
    await put(store, { head: newHead, messages: [{ ...entry(3), messageId: 'm1' }] });
    t.is((await snapshotOf(store, { messages: ['m1'] })).entries.get('m1')?.position, 3);
  });

  check('bytes of every value come back as they were written', async (t, store) => {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index);
    await put(store, {
      head: { ...newHead, metadata: all },
      fields: { a: all },
      messages: [{ ...entry(0), json: all }],
    });
    const { fields, context } = await store.getState(key);
    for (const read of [(await store.getHead(key))?.metadata, fields['a'], context[0]])
      t.is(Buffer.compare(read ?? new Uint8Array(0), all), 0);
  });

  check('a run is kept whole, and a later write of it changes how it stands', async (t, store) => {
    const waiting = run('r1', { input: bytes('[1]'), answers: ['c1'], hasNewInput: false, isNewThread: true });
    await put(store, { head: newHead, runs: [waiting] });
    t.deepEqual(await store.getRun(owner, 'r1'), waiting);
    const { input: _, ...rest } = waiting;
    const error = { code: 'NodeFailed', message: 'no', node: 'a' } as const;
    const end = { status: 'failed', iterations: 3, recursionLimitReached: true, error } as const;
    const ended: RunRecord = {
      ...rest,
      status: 'failed',
      updatedAt: 9,
      resumes: 'r0',
      resumedBy: 'r2',
      end,
      usage: '[{"model":"ä"}]',
      options: bytes('{"tools":[]}'),
      revision: 'b@1',
    };
    await put(store, { head: newHead, runs: [ended] });
    t.deepEqual(await store.getRun(owner, 'r1'), ended);
    const [listed] = await store.listRuns(key, { limit: 1, offset: 0 });
    t.is(listed?.usage, ended.usage);
  });

  check(
    'the run that the head names as interrupted is read with it, and answered without its other parts',
    async (t, store) => {
      const asked = run('r1', { status: 'interrupted', options: bytes('{"tools":[1]}') });
      const foreign = { owner: 'u:bob', threadId: 't1' };
      const head = { ...newHead, interruptedRun: 'r1' };
      await put(store, { head, runs: [asked] });
      await put(store, { head, runs: [asked] }, foreign);
      const found = await store.change(key, { interruptedRun: true }, ({ runs }) => ({ reply: [...runs.values()] }));
      t.deepEqual(found, [asked]);
      await store.change(key, { interruptedRun: true }, ({ runs }) => ({
        change: {
          head: { ...newHead, version: 2 },
          runs: [run('r2')],
          answered: { ...(runs.get('r1') ?? asked), resumedBy: 'r2' },
        },
        reply: undefined,
      }));
      t.deepEqual(await store.getRun(owner, 'r1'), { ...asked, resumedBy: 'r2' });
      t.is((await store.getRun(foreign.owner, 'r1'))?.resumedBy, undefined);
      t.deepEqual(await store.change(key, { interruptedRun: true }, ({ runs }) => ({ reply: runs.size })), 0);
    },
  );

  check('owners may use the same thread, message and run ids without meeting', async (t, store) => {
    const foreign = { owner: 'u:bob', threadId: 't1' };
    const mine = { head: newHead, fields: { who: bytes('1') }, messages: [entry(0)], runs: [run('r1')] };
    const theirs = {
      head: { ...newHead, name: 'bob' },
      fields: { who: bytes('2') },
      messages: [{ ...entry(0), json: bytes('"bob"') }],
      runs: [run('r1', { requestId: 'bob' })],
    };
    await Promise.all([put(store, mine), put(store, theirs, foreign)]);
    t.deepEqual(textsOf(await store.getState(key)), { fields: { who: '1' }, context: ['{"n":0}'] });
    t.deepEqual(textsOf(await store.getState(foreign)), { fields: { who: '2' }, context: ['"bob"'] });
    t.is((await store.getRun(owner, 'r1'))?.requestId, 'q');
    t.is((await store.getRun('u:bob', 'r1'))?.requestId, 'bob');
    t.is(await store.getRun('u:eve', 'r1'), undefined);
    t.is(text((await store.getMessage(foreign, 'm0'))?.json), '"bob"');
    await mark(store);
    await store.purge(key);
    t.is((await store.getHead(foreign))?.name, 'bob');
    t.is(text((await store.getMessage(foreign, 'm0'))?.json), '"bob"');
  });

  check('ids are told apart to the letter', async (t, store) => {
    const ids = ['T1', 't1', 't1 ', ' t1', 't%', 't_', 'ť1', 't1\n', "t'1", 't"1'];
    for (const [version, threadId] of ids.entries())
      await put(store, { head: { ...newHead, version } }, { owner, threadId });
    for (const [version, threadId] of ids.entries())
      t.is((await store.getHead({ owner, threadId }))?.version, version, JSON.stringify(threadId));
  });

  check('threads are listed by recency, those of one moment by id, both descending', async (t, store) => {
    const times = { a: 5, b: 9, c: 5, d: 1, e: 9 };
    for (const [threadId, updatedAt] of Object.entries(times))
      await put(store, { head: { ...newHead, updatedAt } }, { owner, threadId });
    const rows = await store.listThreads(owner, { limit: 10 });
    t.deepEqual(
      rows.map(({ threadId }) => threadId),
      ['e', 'b', 'c', 'a', 'd'],
    );
    await put(store, { head: { ...newHead, updatedAt: 10 } }, { owner, threadId: 'd' });
    t.is((await store.listThreads(owner, { limit: 1 }))[0]?.threadId, 'd');
  });

  check('pages of threads by offset and by mark cover all, each once', async (t, store) => {
    const times = Array.from({ length: 23 }, (_, index) => (index * 7) % 5);
    for (const [index, updatedAt] of times.entries())
      await put(store, { head: { ...newHead, updatedAt } }, { owner, threadId: `t${String(index).padStart(2, '0')}` });
    const all = (await store.listThreads(owner, { limit: 100 })).map(({ threadId }) => threadId);
    t.is(new Set(all).size, 23);
    for (const limit of [1, 4, 23, 30]) {
      t.deepEqual(await threadsByMark(store, limit), all, `marks, ${String(limit)} a page`);
      const byOffset: string[] = [];
      for (let offset = 0; offset < 23; offset += limit)
        byOffset.push(...(await store.listThreads(owner, { limit, offset })).map(({ threadId }) => threadId));
      t.deepEqual(byOffset, all, `offsets, ${String(limit)} a page`);
    }
    t.deepEqual(await store.listThreads(owner, { limit: 5, offset: 23 }), []);
    const [, , third] = await store.listThreads(owner, { limit: 3 });
    const after = { updatedAt: third?.updatedAt ?? 0, threadId: third?.threadId ?? '' };
    const behind = await store.listThreads(owner, { limit: 4, offset: 5, after });
    t.deepEqual(
      behind.map(({ threadId }) => threadId),
      all.slice(8, 12),
      'an offset is counted from a mark on',
    );
  });

  check('pages by mark skip and repeat nothing while threads are written', async (t, store) => {
    for (const index of Array(10).keys())
      await put(store, { head: { ...newHead, updatedAt: index } }, { owner, threadId: `t${String(index)}` });
    const first = await store.listThreads(owner, { limit: 4 });
    const last = first.at(-1);
    await put(store, { head: { ...newHead, updatedAt: 99 } }, { owner, threadId: 'new' });
    await put(store, { head: { ...newHead, updatedAt: 98 } }, { owner, threadId: 't9' });
    const after = { updatedAt: last?.updatedAt ?? 0, threadId: last?.threadId ?? '' };
    const rest = await store.listThreads(owner, { limit: 100, after });
    t.deepEqual(
      [...first, ...rest].map(({ threadId }) => threadId),
      ['t9', 't8', 't7', 't6', 't5', 't4', 't3', 't2', 't1', 't0'],
    );
  });

  check('the log is read in order, by offset and from a position on', async (t, store) => {
    const log = Array.from({ length: 10 }, (_, index) => entry(index * 3));
    await put(store, { head: newHead, messages: log.toReversed() });
    const read = async (page: { limit: number; offset?: number; after?: number }): Promise<number[]> =>
      positionsOf(await store.listMessages(key, page));
    t.deepEqual(await read({ limit: 100 }), [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    t.deepEqual(await read({ limit: 3 }), [0, 3, 6]);
    t.deepEqual(await read({ limit: 3, offset: 8 }), [24, 27]);
    t.deepEqual(await read({ limit: 3, after: 6 }), [9, 12, 15]);
    t.deepEqual(await read({ limit: 3, after: 7 }), [9, 12, 15]);
    t.deepEqual(await read({ limit: 3, after: 27 }), []);
    const [next] = await store.listMessages(key, { limit: 1, after: 0 });
    t.deepEqual(next && { ...next, json: Uint8Array.from(next.json) }, { ...entry(3), json: bytes('{"n":3}') });
  });

  check('the log is read from its end, by offset and from a position on', async (t, store) => {
    const log = Array.from({ length: 10 }, (_, index) => entry(index * 3));
    await put(store, { head: newHead, messages: log });
    await put(store, { head: newHead, deleted: [24] });
    const read = async (page: Omit<MessagesPage, 'newestFirst'>): Promise<number[]> =>
      positionsOf(await store.listMessages(key, { ...page, newestFirst: true }));
    t.deepEqual(await read({ limit: 100 }), [27, 21, 18, 15, 12, 9, 6, 3, 0]);
    t.deepEqual(await read({ limit: 1000 }), [27, 21, 18, 15, 12, 9, 6, 3, 0]);
    t.deepEqual(await read({ limit: 3 }), [27, 21, 18]);
    t.deepEqual(await read({ limit: 3, offset: 1 }), [21, 18, 15]);
    t.deepEqual(await read({ limit: 3, offset: 8 }), [0]);
    t.deepEqual(await read({ limit: 3, offset: 9 }), []);
    t.deepEqual(await read({ limit: 3, after: 9 }), [6, 3, 0]);
    t.deepEqual(await read({ limit: 2, after: 20, offset: 1 }), [15, 12]);
    t.deepEqual(await read({ limit: 3, after: 0 }), []);
    t.deepEqual(await read({ limit: 2, below: 18 }), [15, 12]);
    t.deepEqual(await read({ limit: 2, below: 18, after: 9 }), [6, 3]);
    t.deepEqual(await read({ limit: 2, below: 9, after: 18 }), [6, 3]);
    t.deepEqual(await read({ limit: 100, bytes: 1 }), [27, 21]);
    const [last] = await store.listMessages(key, { limit: 100, bytes: 1, newestFirst: true });
    t.deepEqual(last && Uint8Array.from(last.json), entry(27).json);
  });

  check('open runs of every owner are paged by id, ended ones are not among them', async (t, store) => {
    const statuses: RunRecord['status'][] = ['queued', 'running', 'interrupted', 'completed', 'failed', 'stopped'];
    for (const [index, status] of statuses.entries()) {
      const threadId = `t${String(index)}`;
      await put(store, { head: newHead, runs: [run(`a${String(index)}`, { threadId, status })] }, { owner, threadId });
      const theirs = { owner: 'u:bob', threadId };
      await put(store, { head: newHead, runs: [run(`b${String(index)}`, { threadId, status })] }, theirs);
    }
    const all = await store.listOpenRuns({ limit: 10 });
    t.deepEqual(
      all.map((each) => [each.runId, each.owner, each.threadId, each.status]),
      [
        ['a0', owner, 't0', 'queued'],
        ['a1', owner, 't1', 'running'],
        ['b0', 'u:bob', 't0', 'queued'],
        ['b1', 'u:bob', 't1', 'running'],
      ],
    );
    const first = await store.listOpenRuns({ limit: 3 });
    const rest = await store.listOpenRuns({ limit: 3, after: first.at(-1)?.runId ?? '' });
    t.deepEqual([...first, ...rest], [...all]);
    const newestFirst = async (limit: number, after?: string): Promise<string[]> =>
      (await store.listOpenRuns({ limit, after, newestFirst: true })).map(({ runId }) => runId);
    t.deepEqual(await newestFirst(10), ['b1', 'b0', 'a1', 'a0']);
    t.deepEqual(
      [await newestFirst(3), await newestFirst(3, 'b0')],
      [
        ['b1', 'b0', 'a1'],
        ['a1', 'a0'],
      ],
    );
    t.deepEqual(await newestFirst(3, 'a0'), []);
    await put(
      store,
      { head: newHead, runs: [run('a1', { threadId: 't1', status: 'completed' })] },
      { owner, threadId: 't1' },
    );
    t.deepEqual(
      (await store.listOpenRuns({ limit: 10 })).map(({ runId }) => runId),
      ['a0', 'b0', 'b1'],
    );
  });

  check('runs that sleep are listed by wake time, and as open again once they are awake', async (t, store) => {
    const wakeAt = Date.now() + 24 * 3_600_000;
    const putRun = async (runId: string, parts: Partial<RunRecord>): Promise<void> =>
      put(store, { head: newHead, runs: [run(runId, { threadId: runId, ...parts })] }, { owner, threadId: runId });
    const listed = async (until: number): Promise<string[]> =>
      (await store.listSleepingRuns({ until, limit: 10 })).map(({ runId }) => runId);
    for (const [runId, status] of [
      ['r1', 'sleeping'],
      ['r2', 'sleeping'],
      ['r3', 'running'],
    ] as const)
      await putRun(runId, { status, wakeAt });
    await putRun('r0', { status: 'sleeping', wakeAt: wakeAt + 1 });
    // Twice: a store may learn at the first time what it need not look at again.
    for (let times = 0; times < 2; times++)
      t.deepEqual(
        (await store.listOpenRuns({ limit: 10 })).map(({ runId }) => runId),
        ['r3'],
      );
    t.deepEqual(await listed(wakeAt), ['r1', 'r2']);
    t.deepEqual(await listed(wakeAt + 1), ['r1', 'r2', 'r0']);
    t.deepEqual(await store.listSleepingRuns({ until: wakeAt + 1, after: { wakeAt, runId: 'r1' }, limit: 1 }), [
      { owner, threadId: 'r2', runId: 'r2', wakeAt },
    ]);
    t.is((await store.getRun(owner, 'r1'))?.wakeAt, wakeAt);
    await putRun('r1', { status: 'running', wakeAt });
    await putRun('r2', { status: 'stopped', wakeAt });
    t.deepEqual(await listed(wakeAt), []);
    t.deepEqual(
      (await store.listOpenRuns({ limit: 10 })).map(({ runId }) => runId),
      ['r1', 'r3'],
    );
  });

  check('interrupted runs with a wake time are listed among those that sleep, as asking', async (t, store) => {
    const wakeAt = Date.now() + 24 * 3_600_000;
    const putRun = async (runId: string, parts: Partial<RunRecord>): Promise<void> =>
      put(store, { head: newHead, runs: [run(runId, { threadId: runId, ...parts })] }, { owner, threadId: runId });
    await putRun('r1', { status: 'interrupted', wakeAt });
    await putRun('r2', { status: 'sleeping', wakeAt });
    await putRun('r3', { status: 'interrupted' });
    await putRun('r4', { status: 'completed', wakeAt });
    await putRun('r0', { status: 'interrupted', wakeAt: wakeAt + 1 });
    const asking = { owner, isAsking: true };
    const [r1, r0] = [
      { ...asking, threadId: 'r1', runId: 'r1', wakeAt },
      { ...asking, threadId: 'r0', runId: 'r0', wakeAt: wakeAt + 1 },
    ];
    const r2 = { owner, threadId: 'r2', runId: 'r2', wakeAt };
    t.deepEqual(await store.listSleepingRuns({ until: wakeAt, limit: 10 }), [r1, r2]);
    t.deepEqual(await store.listSleepingRuns({ until: wakeAt + 1, limit: 2 }), [r1, r2]);
    t.deepEqual(await store.listSleepingRuns({ until: wakeAt + 1, after: r2, limit: 2 }), [r0]);
    await putRun('r1', { status: 'interrupted' });
    t.deepEqual(await store.listSleepingRuns({ until: wakeAt, limit: 10 }), [r2]);
  });

  check('a marked thread leaves the lists and stands among the deleting until it is purged', async (t, store) => {
    await put(store, { head: newHead });
    await put(store, { head: newHead }, { owner: 'u:bob', threadId: 't1' });
    t.deepEqual(await store.listDeleting(10), []);
    await mark(store);
    t.deepEqual(await store.listThreads(owner, { limit: 10 }), []);
    t.is((await store.listThreads('u:bob', { limit: 10 })).length, 1);
    t.deepEqual(await store.listDeleting(10), [key]);
    t.true((await store.getHead(key))?.deleting);
    await store.purge(key);
    t.deepEqual(await store.listDeleting(10), []);
    t.is(await store.getHead(key), undefined);
  });

  check('no more deleting threads are given than asked for', async (t, store) => {
    for (const index of Array(5).keys())
      await put(store, { head: { ...newHead, deleting: true } }, { owner, threadId: `t${String(index)}` });
    t.is((await store.listDeleting(3)).length, 3);
    t.is((await store.listDeleting(30)).length, 5);
  });

  check('purge takes every row of a marked thread, and nothing of one that is not marked', async (t, store) => {
    const whole = {
      head: newHead,
      fields: { a: bytes('1') },
      messages: [entry(0)],
      runs: [run('r1', { status: 'running' as const })],
      checkpoint: checkpoint(1),
    };
    await put(store, whole);
    await store.purge(key);
    t.deepEqual(textsOf(await store.getState(key)), { fields: { a: '1' }, context: ['{"n":0}'] });
    await mark(store);
    await store.purge(key);
    t.is(await store.getHead(key), undefined);
    t.is(await store.getRun(owner, 'r1'), undefined);
    t.is(await store.getMessage(key, 'm0'), undefined);
    t.deepEqual(textsOf(await store.getState(key)), { fields: {}, context: [] });
    t.deepEqual(await store.listMessages(key, { limit: 10 }), []);
    t.deepEqual(await store.listOpenRuns({ limit: 10 }), []);
    await store.purge(key);
    t.is(await store.getHead(key), undefined);
  });

  check('a thread made again under its id is a fresh one', async (t, store) => {
    await put(store, { head: fullHead, fields: { a: bytes('1') }, messages: [entry(0)], runs: [run('r1')] });
    await mark(store);
    await store.purge(key);
    t.is((await snapshotOf(store, { runs: ['r1'], messages: ['m0'] })).head, undefined);
    await put(store, { head: newHead, messages: [{ ...entry(0), json: bytes('"again"') }], runs: [run('r1')] });
    t.deepEqual(await store.getHead(key), newHead);
    t.deepEqual(textsOf(await store.getState(key)), { fields: {}, context: ['"again"'] });
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0]);
  });

  check('a log of thousands is read whole and by its end', async (t, store) => {
    const log = Array.from({ length: 3000 }, (_, index) => entry(index));
    await put(store, { head: newHead, messages: log, removedFromContext: positionsOf(log.slice(0, 2990)) });
    t.is((await store.listMessages(key, { limit: 5000 })).length, 3000);
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 5, after: 2997 })), [2998, 2999]);
    t.is((await store.getState(key)).context.length, 10);
  });

  check('a message of 2 MiB and a metadata text beyond the basic plane are kept', async (t, store) => {
    const big = Buffer.alloc(2 * 1024 * 1024, 97);
    await put(store, { head: { ...newHead, name: 'Ω 🫖' }, messages: [{ ...entry(0), json: big }] });
    t.is((await store.getHead(key))?.name, 'Ω 🫖');
    t.is(Buffer.compare((await store.getMessage(key, 'm0'))?.json ?? Buffer.alloc(0), big), 0);
  });

  test(`${name}: log and context are what a plain list would be after any changes`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(logChange, { maxLength: 12 }), async (changes) => {
        await using store = await open(newPlace());
        const model = new Map<number, { json: string; inContext: boolean }>();
        for (const [version, change] of changes.entries()) {
          await put(store, { ...toChange(change, version), head: { ...newHead, version } });
          applyToModel(model, change, version);
        }
        const ordered = [...model].toSorted(([a], [b]) => a - b);
        const log = await store.listMessages(key, { limit: 100 });
        t.deepEqual(
          log.map(({ position, json }) => [position, text(json)]),
          ordered.map(([position, { json }]) => [position, json]),
        );
        t.deepEqual(
          textsOf(await store.getState(key)).context,
          ordered.filter(([, { inContext }]) => inContext).map(([, { json }]) => json),
        );
      }),
      { numRuns: 20 },
    );
  });

  threadStorePastContract(check, ages);
  threadStoreOwnRunsContract(check);

  if (!keeps) return;

  test(`${name}: what was written is there when the store is opened again`, async (t) => {
    const place = newPlace();
    {
      await using store = await open(place);
      await put(store, { head: fullHead, fields: { a: bytes('1') }, messages: [entry(0)], runs: [run('r1')] });
      await put(store, { head: { ...newHead, deleting: true } }, { owner, threadId: 't2' });
    }
    await using store = await open(place);
    t.deepEqual(await store.getHead(key), fullHead);
    t.deepEqual(textsOf(await store.getState(key)), { fields: { a: '1' }, context: ['{"n":0}'] });
    t.deepEqual(await store.getRun(owner, 'r1'), run('r1'));
    t.deepEqual(await store.listDeleting(10), [{ owner, threadId: 't2' }]);
    await put(store, { head: { ...fullHead, version: 8 } });
    t.is((await store.getHead(key))?.version, 8);
  });

  test(`${name}: a write that resolved is seen by whoever opens the same place beside`, async (t) => {
    const place = newPlace();
    await using store = await open(place);
    await put(store, { head: newHead, messages: [entry(0)] });
    await using beside = await open(place);
    t.deepEqual(await beside.getHead(key), newHead);
    t.is(text((await beside.getMessage(key, 'm0'))?.json), '{"n":0}');
  });

  test(`${name}: what was asked for before the store is closed is written or refused, never lost in silence`, async (t) => {
    const place = newPlace();
    const store = await open(place);
    const writes = Array.from({ length: 20 }, async (_, index) =>
      put(store, { head: newHead }, { owner, threadId: `t${String(index)}` }),
    );
    await store[Symbol.asyncDispose]();
    const settled = await Promise.allSettled(writes);
    await using again = await open(place);
    const kept = await again.listThreads(owner, { limit: 100 });
    t.is(kept.length, settled.filter(({ status }) => status === 'fulfilled').length);
  });
}

async function threadsByMark(store: ThreadStore, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: { updatedAt: number; threadId: string } | undefined; ;) {
    const rows = await store.listThreads(owner, { limit, ...(after ? { after } : {}) });
    ids.push(...rows.map(({ threadId }) => threadId));
    const last = rows.at(-1);
    if (!last) return ids;
    after = { updatedAt: last.updatedAt, threadId: last.threadId };
  }
}

interface LogChange {
  readonly put: readonly number[];
  readonly join: readonly number[];
  readonly leave: readonly number[];
  readonly remove: readonly number[];
  readonly clear: boolean;
}

const places8 = fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { maxLength: 4 });
const logChange: fc.Arbitrary<LogChange> = fc.record({
  put: places8,
  join: places8,
  leave: places8,
  remove: fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { maxLength: 2 }),
  clear: fc.boolean(),
});

const toChange = ({ put: at, join, leave, remove, clear }: LogChange, version: number): Omit<Change, 'head'> => ({
  messages: at.map((position) => ({ ...entry(position), json: bytes(`${String(version)}/${String(position)}`) })),
  addedToContext: join,
  removedFromContext: leave,
  deleted: remove,
  clearState: clear,
});

function applyToModel(
  model: Map<number, { json: string; inContext: boolean }>,
  { put: at, join, leave, remove, clear }: LogChange,
  version: number,
): void {
  if (clear) for (const message of model.values()) message.inContext = false;
  for (const position of at) model.set(position, { json: `${String(version)}/${String(position)}`, inContext: true });
  for (const position of join) {
    const message = model.get(position);
    if (message) message.inContext = true;
  }
  for (const position of leave) {
    const message = model.get(position);
    if (message) message.inContext = false;
  }
  for (const position of remove) model.delete(position);
}
