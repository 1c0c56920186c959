import type { ExecutionContext } from 'ava';
import type { StepTrace } from '@agent-workflow/protos/threads';
import type { Change, UndoSink } from '@agent-workflow/threads/ports/changes';
import type { CheckpointRow } from '@agent-workflow/threads/ports/history';
import type { ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import {
  bytes,
  checkpoint,
  entry,
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

type CheckStore = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>) => void;

/** What a store must promise so that earlier versions can be had again: previous values, checkpoints, and notes of calls. */
export function threadStorePastContract(check: CheckStore, ages: boolean): void {
  check('a decision sees the fields it asks for, or all of them, and only those', async (t, store) => {
    await put(store, { head: newHead, fields: { a: bytes('1'), b: bytes('2'), constructor: bytes('3') } });
    const seen = async (fields: readonly string[] | 'all'): Promise<[string, string | undefined][]> =>
      Object.entries((await snapshotOf(store, { fields })).fields)
        .map(([name, json]): [string, string | undefined] => [name, text(json)])
        .toSorted();
    t.deepEqual(await seen([]), []);
    t.deepEqual(await seen(['b', 'absent', 'toString']), [['b', '2']]);
    t.deepEqual(await seen('all'), [
      ['a', '1'],
      ['b', '2'],
      ['constructor', '3'],
    ]);
    t.deepEqual(Object.entries(await store.getFields(key)).length, 3);
    const named = await store.getFields(key, ['b', 'constructor', 'absent', 'toString']);
    t.deepEqual(
      Object.entries(named)
        .map(([name, json]) => [name, text(json)])
        .toSorted(),
      [
        ['b', '2'],
        ['constructor', '3'],
      ],
    );
    t.deepEqual(await store.getFields({ owner, threadId: 'absent' }), {});
    t.deepEqual(await store.getFields({ owner, threadId: 'absent' }, ['b']), {});
  });

  check(
    'a decision sees the messages it asks for as they stand, and the context by its positions',
    async (t, store) => {
      await put(store, { head: newHead, messages: [entry(0), entry(1), entry(2)], removedFromContext: [1] });
      const seen = await snapshotOf(store, { messages: ['m1', 'm2', 'absent'] });
      t.deepEqual(
        [...seen.entries],
        [
          ['m1', { ...entry(1), inContext: false }],
          ['m2', { ...entry(2), inContext: true }],
        ],
      );
      t.deepEqual(seen.context, []);
      t.deepEqual((await snapshotOf(store, { context: true })).context, [0, 2]);
    },
  );

  check('a field that is cleared is gone', async (t, store) => {
    await put(store, { head: newHead, fields: { a: bytes('1'), b: bytes('2') } });
    await put(store, { head: newHead, fields: { a: undefined, c: undefined, b: bytes('3') } });
    t.deepEqual(textsOf(await store.getState(key)).fields, { b: '3' });
    t.deepEqual((await snapshotOf(store, { fields: ['a'] })).fields, {});
  });

  check('fields that a change puts stand after it has cleared the others', async (t, store) => {
    await put(store, { head: newHead, fields: { a: bytes('1') }, messages: [entry(0)] });
    await put(store, { head: newHead, clearState: true, fields: { b: bytes('2') }, messages: [entry(1)] });
    t.deepEqual(textsOf(await store.getState(key)), { fields: { b: '2' }, context: ['{"n":1}'] });
  });

  check('what leaves the context leaves it last: also what the same change puts or brings back', async (t, store) => {
    await put(store, { head: newHead, messages: [entry(0), entry(1), entry(2)], removedFromContext: [0, 1, 2] });
    await put(store, { head: newHead, messages: [entry(0)], addedToContext: [1, 2, 7], removedFromContext: [0, 2] });
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":1}']);
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0, 1, 2]);
  });

  check('from a position on the log is cut off, with lookup and context', async (t, store) => {
    await put(store, { head: newHead, messages: [0, 1, 2, 3].map(entry) });
    await put(store, { head: newHead, deletedFrom: 2, messages: [{ ...entry(1), json: bytes('"back"') }] });
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 10 })), [0, 1]);
    t.deepEqual(textsOf(await store.getState(key)).context, ['{"n":0}', '"back"']);
    t.is(await store.getMessage(key, 'm2'), undefined);
    await put(store, { head: newHead, messages: [{ ...entry(2), messageId: 'm3' }] });
    t.is((await snapshotOf(store, { messages: ['m3'] })).entries.get('m3')?.position, 2);
  });

  check('a message is given with the version that put it as it is, when that has a checkpoint', async (t, store) => {
    const at = (version: number): Change => ({ head: { ...newHead, version }, checkpoint: checkpoint(version) });
    await put(store, { head: newHead, messages: [entry(0)] });
    await put(store, { ...at(7), messages: [entry(1), entry(2), entry(3)] });
    await put(store, { ...at(8), messages: [{ ...entry(2), json: bytes('"new"') }], removedFromContext: [3] });
    await put(store, { ...at(9), addedToContext: [3], deleted: [1] });
    const listed = await store.listMessages(key, { limit: 10 });
    t.deepEqual(
      listed.map(({ messageId, version }) => [messageId, version]),
      [
        ['m0', undefined],
        ['m2', 8],
        ['m3', 7],
      ],
    );
    for (const { messageId, json, version } of listed) {
      const found = await store.getMessage(key, messageId);
      t.deepEqual([text(found?.json), found?.version], [text(json), version]);
    }
    await put(store, { ...at(10), messages: [{ ...entry(4), messageId: 'm1' }], dropCheckpointsTo: 9 });
    t.is((await store.getMessage(key, 'm1'))?.version, 10);
    t.is((await store.getMessage(key, 'm2'))?.version, 8);
  });

  check('the context and entries of the log are read with their places', async (t, store) => {
    await put(store, { head: newHead, messages: [0, 2, 5].map(entry), removedFromContext: [2] });
    t.deepEqual(await store.listContext(key, { maxBytes: 1000 }), { entries: [entry(0), entry(5)], bottom: 0 });
    t.deepEqual(await store.getEntries(key, [5, 1, 2]), [
      { ...entry(2), inContext: false },
      { ...entry(5), inContext: true },
    ]);
    t.deepEqual(await store.getEntries(key, []), []);
    const foreign = await store.listContext({ owner: 'u:bob', threadId: 't1' }, { maxBytes: 1000 });
    t.deepEqual(foreign, { entries: [], bottom: 0 });
    t.deepEqual(await store.getEntries({ owner: 'u:bob', threadId: 't1' }, [0]), []);
  });

  check('a checkpoint comes back as it was put, with what is absent absent', async (t, store) => {
    const work = { startedAt: 4, attempt: 2, retries: 1, inputTokens: 10, outputTokens: 1 };
    const shape = { runId: 'r1', step: 0, nodes: ['a', 'b'], next: ['c'], metadata: bytes('{"k":1}'), work };
    const full = { ...checkpoint(5), ...shape };
    await put(store, { head: { ...newHead, version: 7 }, checkpoint: { ...full, source: 'update' } });
    await put(store, { head: { ...newHead, version: 8 }, checkpoint: checkpoint(6) });
    const { undo: _, ...shown } = full;
    const { undo: _undo, ...bare } = checkpoint(6);
    t.deepEqual(await store.listCheckpoints(key, { limit: 10 }), [
      { ...bare, version: 8 },
      { ...shown, source: 'update', version: 7 },
    ]);
  });

  check('checkpoints and undos are read from the newest down, page by page', async (t, store) => {
    const all = await versions(store, 1, 9);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 100 })), all);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 3 })), [9, 8, 7]);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 3, offset: 7 })), [2, 1]);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 3, below: 7 })), [6, 5, 4]);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 3, below: 1 })), []);
    const undos = await store.listUndos(key, { above: 6, limit: 100 });
    t.deepEqual(
      undos.map(({ version, undo }) => [version, text(undo)]),
      [
        [9, 'undo 9'],
        [8, 'undo 8'],
        [7, 'undo 7'],
      ],
    );
    t.deepEqual(versionsOf(await store.listUndos(key, { above: 2, below: 8, limit: 2 })), [7, 6]);
    t.deepEqual(versionsOf(await store.listUndos(key, { above: 9, limit: 2 })), []);
    const other = { owner: 'u:bob', threadId: 't1' };
    t.deepEqual(await store.listCheckpoints(other, { limit: 10 }), []);
    t.deepEqual(await store.listUndos(other, { above: 0, limit: 10 }), []);
  });

  check('traces stand with their checkpoints and in no other list, and go with them', async (t, store) => {
    const trace = (version: number, rest: Partial<StepTrace> = {}): StepTrace => ({
      spansJson: bytes(`{"spans":[${String(version)}]}`),
      ...rest,
    });
    const contentJson = bytes('{"0":{"logs":[]}}');
    for (const version of [1, 2, 3, 4, 5])
      await put(store, {
        head: { ...newHead, version },
        checkpoint: {
          ...checkpoint(version),
          ...(version !== 3 && { trace: trace(version, version === 4 ? { contentJson } : {}) }),
        },
      });
    const range = { from: 2, to: 5, withContent: false, bytes: 1000 };
    t.deepEqual(
      await store.listTraces(key, range),
      [2, 4, 5].map((version) => ({ version, ...trace(version) })),
    );
    const whole = await store.listTraces(key, { ...range, from: 4, withContent: true });
    t.deepEqual(whole, [
      { version: 4, ...trace(4, { contentJson }) },
      { version: 5, ...trace(5) },
    ]);
    t.deepEqual(versionsOf(await store.listTraces(key, { ...range, from: 1, bytes: 1 })), [1, 2], 'one more than fits');
    t.deepEqual(await store.listTraces({ owner: 'u:bob', threadId: 't1' }, range), []);
    const [listed] = await store.listCheckpoints(key, { limit: 1 });
    t.false(listed && 'trace' in listed);
    await put(store, { head: { ...newHead, version: 6 }, dropCheckpointsTo: 4 });
    t.deepEqual(versionsOf(await store.listTraces(key, { ...range, from: 0, to: 9 })), [5]);
    await mark(store);
    await store.purge(key);
    await put(store, { head: { ...newHead, version: 7 } });
    t.deepEqual(await store.listTraces(key, { ...range, from: 0, to: 9 }), []);
  });

  check('an undo of megabytes comes back byte for byte', async (t, store) => {
    const undo = Buffer.alloc(3 * 1024 * 1024, '0123456789');
    await put(store, { head: newHead, checkpoint: { ...checkpoint(1), undo } });
    const [row] = await store.listUndos(key, { above: 0, limit: 1 });
    t.is(Buffer.compare(row?.undo ?? Buffer.alloc(0), undo), 0);
  });

  check('a decision sees what the versions overwrote that the active run made', async (t, store) => {
    await versions(store, 1, 4);
    const head = { ...newHead, version: 7, activeRun: 'r1', activeStatus: 'running', foundVersion: 4 } as const;
    await put(store, { head: { ...head, version: 5 }, checkpoint: checkpoint(5) });
    await put(store, { head: { ...head, version: 7 }, checkpoint: checkpoint(7) });
    let seen: unknown[] = [];
    const undosOfActiveRun = (): UndoSink => {
      seen = [];
      return { add: ({ version, undo }) => seen.push([version, text(undo)]) };
    };
    await snapshotOf(store, { undosOfActiveRun });
    t.deepEqual(seen, [
      [7, 'undo 7'],
      [5, 'undo 5'],
    ]);
    await put(store, { head: { ...newHead, version: 8 } });
    await snapshotOf(store, { undosOfActiveRun });
    t.deepEqual(seen, []);
  });

  check('checkpoints are dropped up to a version, and those above it stay', async (t, store) => {
    await versions(store, 1, 6);
    await put(store, { head: { ...newHead, version: 7 }, checkpoint: checkpoint(7), dropCheckpointsTo: 4 });
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 10 })), [7, 6, 5]);
    await put(store, { head: { ...newHead, version: 8 }, dropCheckpointsTo: 0 });
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 10 })), [7, 6, 5]);
    t.deepEqual(versionsOf(await store.listUndos(key, { above: 0, limit: 10 })), [7, 6, 5]);
  });

  check('checkpoints between a version and the new one are dropped, the new one stands', async (t, store) => {
    await versions(store, 1, 6);
    await put(store, { head: { ...newHead, version: 7 }, checkpoint: checkpoint(7), dropCheckpointsAfter: 3 });
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 10 })), [7, 3, 2, 1]);
    t.deepEqual(versionsOf(await store.listUndos(key, { above: 0, limit: 10 })), [7, 3, 2, 1]);
  });

  check('a purged thread leaves no checkpoint and no note to the one made after it', async (t, store) => {
    await versions(store, 1, 3);
    await put(store, { head: { ...newHead, version: 4 }, toolCall: { runId: 'r1', callKey: 'k', result: bytes('1') } });
    await mark(store);
    await store.purge(key);
    await put(store, { head: { ...newHead, version: 5 } });
    t.deepEqual(await store.listCheckpoints(key, { limit: 10 }), []);
    t.is((await snapshotOf(store, { toolCall: { runId: 'r1', callKey: 'k' } })).toolCall, undefined);
  });

  check('a noted call is known by its run and key, and with its result once that is noted', async (t, store) => {
    const toolCall = { runId: 'r1', callKey: 'r1/0/c1' };
    await put(store, { head: newHead, runs: [run('r1', { status: 'running' })], toolCall });
    t.false('toolCall' in (await snapshotOf(store)));
    t.deepEqual((await snapshotOf(store, { toolCall })).toolCall, toolCall);
    for (const other of [
      { ...toolCall, runId: 'r2' },
      { ...toolCall, callKey: 'r1/0/c2' },
    ])
      t.is((await snapshotOf(store, { toolCall: other })).toolCall, undefined);
    await put(store, { head: newHead, toolCall: { ...toolCall, result: bytes('{"ok":true}') } });
    const known = (await snapshotOf(store, { toolCall })).toolCall;
    t.deepEqual({ ...known, result: text(known?.result) }, { ...toolCall, result: '{"ok":true}' });
    const elsewhere = await store.change({ owner: 'u:bob', threadId: 't1' }, { toolCall }, (snapshot) => ({
      reply: snapshot.toolCall,
    }));
    t.is(elsewhere, undefined);
  });

  check(
    'idle threads of every owner are found: none that is newer, held by a run, or on its way out, and those that wait by a time of their own',
    async (t, store) => {
      const held = { activeRun: 'r1', activeStatus: 'queued' } as const;
      const threads: readonly [ThreadKey, Partial<Change['head']>][] = [
        [{ owner, threadId: 'old' }, { updatedAt: 5 }],
        [{ owner, threadId: 'young' }, { updatedAt: 10 }],
        [
          { owner, threadId: 'held' },
          { updatedAt: 1, ...held },
        ],
        [
          { owner, threadId: 'going' },
          { updatedAt: 1, deleting: true },
        ],
        [{ owner: 'u:bob', threadId: 'old' }, { updatedAt: 9 }],
        [{ owner: 'u:eve', threadId: 'old' }, { updatedAt: 2 }],
        [
          { owner, threadId: 'of its own time' },
          { updatedAt: 1, ttl: 60 },
        ],
        [
          { owner, threadId: 'asks' },
          { updatedAt: 3, openInterrupts: ['i1'] },
        ],
        [
          { owner: 'u:eve', threadId: 'calls' },
          { updatedAt: 4, openCalls: [{ callId: 'c1', name: 'look' }] },
        ],
      ];
      for (const [at, parts] of threads) await put(store, { head: { ...newHead, ...parts } }, at);
      const idle = async (before: number, limit: number, waitingBefore?: number): Promise<string[]> =>
        (await store.listIdle({ before, waitingBefore }, limit))
          .map((each) => `${each.owner} ${each.threadId}`)
          .toSorted();
      t.deepEqual(await idle(10, 10), ['u:ada old', 'u:bob old', 'u:eve old']);
      t.deepEqual(await idle(5, 10), ['u:eve old']);
      t.deepEqual(await idle(1, 10), []);
      t.deepEqual(await idle(10, 10, 3), ['u:ada old', 'u:bob old', 'u:eve old']);
      t.deepEqual(await idle(10, 10, 4), ['u:ada asks', 'u:ada old', 'u:bob old', 'u:eve old']);
      t.deepEqual(await idle(4, 10, 10), ['u:ada asks', 'u:eve old']);
      const two = await idle(10, 2);
      t.is(two.length, 2);
      t.deepEqual(
        two.filter((each) => !each.endsWith(' old')),
        [],
      );
    },
  );

  check('a thread whose question has a deadline is idle since that, and not before', async (t, store) => {
    const idle = async (waitingBefore: number): Promise<string[]> =>
      (await store.listIdle({ before: 100, waitingBefore }, 10)).map(({ threadId }) => threadId).toSorted();
    for (const [threadId, runId, parts] of [
      ['uuid', '01a22716-d103-7000-aa36-559f6a623eaa', { wakeAt: 50 }],
      ['named', 'r1', { wakeAt: 50 }],
      ['without', 'r2', {}],
    ] as const) {
      const asking = run(runId, { threadId, status: 'interrupted', ...parts });
      const head = { ...newHead, updatedAt: 3, openInterrupts: ['i1'], interruptedRun: runId };
      await put(store, { head, runs: [asking] }, { owner, threadId });
      // A fork waits for the same answer, without the deadline.
      await put(store, { head }, { owner, threadId: `fork of ${threadId}` });
    }
    const forks = ['fork of named', 'fork of uuid', 'fork of without'];
    t.deepEqual(await idle(3), []);
    t.deepEqual(await idle(50), [...forks, 'without']);
    t.deepEqual(await idle(51), [...forks, 'named', 'uuid', 'without']);
  });

  if (ages) return;

  check(
    'checkpoints made before a time go, of a thread from its oldest on, and no more than asked for',
    async (t, store) => {
      const other = { owner: 'u:bob', threadId: 't9' };
      await versions(store, 1, 5);
      await versions(store, 3, 6, other);
      const left = async (): Promise<number[][]> => [
        versionsOf(await store.listCheckpoints(key, { limit: 10 })),
        versionsOf(await store.listCheckpoints(other, { limit: 10 })),
      ];
      t.is(await store.expireCheckpoints(1, 10), 0);
      t.is(await store.expireCheckpoints(4, 2), 2);
      t.is((await left()).flat().length, 7);
      t.is(await store.expireCheckpoints(4, 10), 2);
      t.deepEqual(await left(), [
        [5, 4],
        [6, 5, 4],
      ]);
      t.is(await store.expireCheckpoints(100, 10), 5);
      t.is(await store.expireCheckpoints(100, 10), 0);
      await put(store, { head: { ...newHead, version: 9 }, checkpoint: checkpoint(9) });
      t.is(await store.expireCheckpoints(10, 10), 1);
    },
  );

  check('one checkpoint that is old by its clock does not go from above one that is not', async (t, store) => {
    for (const [version, at] of [
      [1, 1],
      [2, 8],
      [3, 2],
    ] as const)
      await put(store, { head: { ...newHead, version }, checkpoint: checkpoint(at) });
    t.is(await store.expireCheckpoints(5, 10), 1);
    t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 10 })), [3, 2]);
  });

  check(
    'checkpoints from the version on that the active run found stay while it holds the thread',
    async (t, store) => {
      await versions(store, 1, 3);
      const held = { ...newHead, activeRun: 'r1', activeStatus: 'running', foundVersion: 3 } as const;
      await put(store, { head: { ...held, version: 4 }, checkpoint: checkpoint(4) });
      t.is(await store.expireCheckpoints(100, 10), 2);
      t.is(await store.expireCheckpoints(100, 10), 0);
      t.deepEqual(versionsOf(await store.listCheckpoints(key, { limit: 10 })), [4, 3]);
      await put(store, { head: { ...newHead, version: 5 }, checkpoint: checkpoint(5) });
      t.is(await store.expireCheckpoints(100, 10), 3);
    },
  );
}

/** Writes these versions, each with a checkpoint made at the time of its number. */
async function versions(store: ThreadStore, from: number, to: number, at: ThreadKey = key): Promise<number[]> {
  const all = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  for (const version of all) await put(store, { head: { ...newHead, version }, checkpoint: checkpoint(version) }, at);
  return all.reverse();
}

const versionsOf = (rows: readonly Pick<CheckpointRow, 'version'>[]): number[] => rows.map(({ version }) => version);
