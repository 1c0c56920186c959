import type { ExecutionContext } from 'ava';
import type { RunMark } from '@agent-workflow/threads/ports/lists';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { key, mark, newHead, owner, put, run } from './thread-rows.ts';

type CheckStore = (title: string, body: (t: ExecutionContext, store: ThreadStore) => Promise<void>) => void;

const hourMs = 3600 * 1000;

/** Ids as the service makes them, in their order. */
const ours = ['0', '1', '9', 'a', 'f'].map((digit) => `01a20ac1-5994-7000-b04e-${digit.repeat(12)}`);

/** What a store must promise of the runs of an owner. */
export function threadStoreOwnRunsContract(check: CheckStore): void {
  check(
    'the runs of an owner are listed over all threads, those of one moment by id, both descending',
    async (t, store) => {
      const times = { a: 5, b: 9 * hourMs, c: 5, d: 1, e: 9 * hourMs, f: 700 * hourMs };
      for (const [index, [runId, createdAt]] of Object.entries(times).entries()) {
        const threadId = `t${String(index % 3)}`;
        await put(store, { head: newHead, runs: [run(runId, { threadId, createdAt })] }, { owner, threadId });
      }
      await put(store, { head: newHead, runs: [run('theirs')] }, { ...key, owner: 'u:bob' });
      for (const limit of [1, 2, 6, 100]) t.deepEqual(await idsByMark(store, limit), ['f', 'e', 'b', 'c', 'a', 'd']);
      t.deepEqual(await idsByMark(store, 10, 'u:eve'), []);
    },
  );

  check(
    'pages of runs of one moment skip and repeat none, whatever their ids look like, each page at the same place each time',
    async (t, store) => {
      const ids = [...ours, ...ours.map((id) => id.toUpperCase()), ...ours.map((id) => `${id}x`), 'a', 'z', '0', 'Z'];
      for (const [index, runId] of ids.entries())
        await put(store, { head: newHead, runs: [run(runId, { createdAt: 5 + Math.floor(index / 20) })] });
      const owned = await idsByMark(store, 100);
      t.deepEqual(owned.toSorted(), ids.toSorted());
      const oursAmong = (listed: readonly string[]): string[] => listed.filter((id) => ours.includes(id));
      t.deepEqual(oursAmong(owned), ours.toReversed());
      for (const limit of [1, 3]) {
        t.deepEqual(await idsByMark(store, limit), owned);
        t.deepEqual(await idsOfThread(store, limit), owned);
        const open = await idsOfOpenRuns(store, limit);
        t.deepEqual(open, await idsOfOpenRuns(store, 100));
        t.deepEqual(open.toSorted(), ids.toSorted());
        t.deepEqual(oursAmong(open), ours);
      }
    },
  );

  check('sleeping runs of one moment are paged without a gap, whatever their ids look like', async (t, store) => {
    const wakeAt = Date.now() + 24 * hourMs;
    const ids = [...ours, ...ours.map((id) => id.toUpperCase()), 'a', 'z', '0'];
    for (const runId of ids)
      await put(
        store,
        { head: newHead, runs: [run(runId, { threadId: runId, status: 'sleeping', wakeAt })] },
        { owner, threadId: runId },
      );
    for (const limit of [1, 3, 100]) t.deepEqual((await idsOfSleepers(store, limit)).toSorted(), ids.toSorted());
    t.deepEqual(await idsOfSleepers(store, 1), await idsOfSleepers(store, 100));
  });

  check('the runs of one agent are all found among those of others, in their order', async (t, store) => {
    const agents = ['billing', 'support', undefined];
    for (const index of Array(12).keys()) {
      const agent = agents[index % 3];
      const threadId = `t${String(index % 6)}`;
      const head = { ...newHead, ...(agent === undefined ? {} : { agent }) };
      await put(store, { head, runs: [run(`r${String(index)}`, { threadId, createdAt: index })] }, { owner, threadId });
    }
    await put(store, { head: { ...newHead, agent: 'billing' }, runs: [run('theirs')] }, { ...key, owner: 'u:bob' });
    for (const limit of [1, 3, 100]) {
      t.deepEqual(await idsOfAgent(store, 'billing', limit), ['r9', 'r6', 'r3', 'r0']);
      t.deepEqual(await idsOfAgent(store, 'support', limit), ['r10', 'r7', 'r4', 'r1']);
      t.deepEqual(await idsOfAgent(store, 'nobody', limit), []);
    }
    await put(store, { head: { ...newHead, agent: 'billing', deleting: true } }, { owner, threadId: 't3' });
    t.deepEqual(await idsOfAgent(store, 'billing', 2), ['r6', 'r0']);
  });

  check(
    'a run of the owner is listed as it stands, beside who drives it and how its thread is called',
    async (t, store) => {
      const end = { status: 'completed', iterations: 1, recursionLimitReached: false } as const;
      await put(store, { head: newHead, runs: [run('r1'), run('r2', { createdAt: 2 })] });
      const driven = {
        activeRun: 'r2',
        activeStatus: 'running',
        worker: 'w',
        epoch: 7,
        name: 'n',
        title: 't',
      } as const;
      const runs = [
        run('r1', { status: 'completed', startedAt: 5, updatedAt: 9, end, usage: '[]' }),
        run('r2', { createdAt: 2, status: 'running' }),
      ];
      await put(store, { head: { ...newHead, ...driven }, runs });
      const part = await store.listOwnRuns(owner, { limit: 10 });
      t.like(part.runs[0], { runId: 'r2', threadId: 't1', status: 'running', head: driven });
      t.like(part.runs[1], { runId: 'r1', status: 'completed', startedAt: 5, updatedAt: 9, end, usage: '[]' });
      t.is(part.next, undefined);
    },
  );

  check("pages of an owner's runs skip and repeat nothing while runs are accepted", async (t, store) => {
    const ids = Array.from({ length: 10 }, (_, index) => `r${String(index)}`);
    for (const [index, runId] of ids.entries())
      await put(store, { head: newHead, runs: [run(runId, { createdAt: index })] });
    const { runs: first, next } = await store.listOwnRuns(owner, { limit: 4 });
    await put(store, { head: newHead, runs: [run('new', { createdAt: 99 })] });
    const { runs: rest } = await store.listOwnRuns(owner, { limit: 100, after: next });
    t.deepEqual(
      [...first, ...rest].map(({ runId }) => runId),
      ids.toReversed(),
    );
  });

  check(
    'the runs of a thread that is being deleted, or was, are not listed, and others after them are',
    async (t, store) => {
      const other = { owner, threadId: 't2' };
      await put(store, { head: newHead, runs: [run('old', { threadId: 't2' })] }, other);
      const gone = Array.from({ length: 8 }, (_, index) => run(`r${String(index)}`, { createdAt: 3 * hourMs + index }));
      await put(store, { head: newHead, runs: gone });
      await mark(store);
      t.deepEqual(await idsByMark(store, 3), ['old']);
      await store.purge(key);
      t.deepEqual(await idsByMark(store, 3), ['old']);
      await put(store, { head: newHead, runs: [run('again', { createdAt: 3 * hourMs })] });
      t.deepEqual(await idsByMark(store, 3), ['again', 'old']);
    },
  );

  check(
    'the runs of all owners are one list, newest first, and pages of any size skip and repeat none',
    async (t, store) => {
      const owners = ['u:alice', 'u:bob', 'anon', 'a'];
      for (const index of Array(24).keys()) {
        const threadId = `t${String(index % 3)}`;
        const owner = owners[index % owners.length] ?? '';
        const runs = [
          run(`r${String(index).padStart(2, '0')}`, { threadId, createdAt: Math.floor(index / 2) * hourMs }),
        ];
        await put(store, { head: { ...newHead, newestRun: `r${String(index)}` }, runs }, { owner, threadId });
      }
      const all = await everybodysRuns(store, 100);
      t.deepEqual(
        all.map(([, runId]) => runId),
        Array.from({ length: 24 }, (_, index) => `r${String(23 - index).padStart(2, '0')}`),
      );
      t.deepEqual(all[0], ['a', 'r23', 'r23']);
      for (const limit of [1, 2, 7]) t.deepEqual(await everybodysRuns(store, limit), all);
    },
  );

  check('the list of all runs has none of a thread that is being deleted, or was', async (t, store) => {
    await put(store, { head: newHead, runs: [run('theirs', { threadId: 't2' })] }, { owner: 'u:bob', threadId: 't2' });
    await put(store, { head: newHead, runs: [run('r1', { createdAt: 9 }), run('r2', { createdAt: 10 })] });
    const ids = async (): Promise<readonly unknown[]> => (await everybodysRuns(store, 2)).map(([, runId]) => runId);
    t.deepEqual(await ids(), ['r2', 'r1', 'theirs']);
    await mark(store);
    t.deepEqual(await ids(), ['theirs']);
    await store.purge(key);
    t.deepEqual(await ids(), ['theirs']);
  });

  check("a part of an owner's runs ends by its bytes, after its second run at the earliest", async (t, store) => {
    const usage = `"${'u'.repeat(5000)}"`;
    for (const index of Array(6).keys())
      await put(store, { head: newHead, runs: [run(`r${String(index)}`, { createdAt: index, usage })] });
    const { runs, next } = await store.listOwnRuns(owner, { limit: 10, bytes: 1 });
    t.deepEqual(
      runs.map(({ runId }) => runId),
      ['r5', 'r4'],
    );
    t.deepEqual(next, { createdAt: 4, runId: 'r4' });
    t.is((await store.listOwnRuns(owner, { limit: 10, bytes: 100_000 })).runs.length, 6);
  });
}

/** All ids, read part by part. */
async function idsByMark(store: ThreadStore, limit: number, of = owner): Promise<string[]> {
  const ids: string[] = [];
  for (let after: RunMark | undefined; ;) {
    const { runs, next } = await store.listOwnRuns(of, { limit, after });
    ids.push(...runs.map(({ runId }) => runId));
    if (!next) return ids;
    after = next;
  }
}

/** Owner, id and the newest run of the thread, of all runs, read part by part. */
async function everybodysRuns(store: ThreadStore, limit: number): Promise<(readonly (string | undefined)[])[]> {
  const found: (readonly (string | undefined)[])[] = [];
  for (let after: RunMark | undefined; ;) {
    const { runs, next } = await store.listAllRuns({ limit, after });
    found.push(...runs.map(({ owner: of, runId, head }) => [of, runId, head.newestRun]));
    if (!next) return found;
    after = next;
  }
}

/** Those of an agent. A store may give others, too. */
async function idsOfAgent(store: ThreadStore, agent: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: RunMark | undefined; ;) {
    const { runs, next } = await store.listOwnRuns(owner, { limit, after, agent });
    ids.push(...runs.filter(({ head }) => head.agent === agent).map(({ runId }) => runId));
    if (!next) return ids;
    after = next;
  }
}

async function idsOfThread(store: ThreadStore, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: RunMark | undefined; ;) {
    const runs = await store.listRuns(key, { limit, after });
    ids.push(...runs.map(({ runId }) => runId));
    after = runs.at(-1);
    if (!after) return ids;
  }
}

async function idsOfOpenRuns(store: ThreadStore, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const runs = await store.listOpenRuns({ limit, after: ids.at(-1) });
    if (runs.length === 0) return ids;
    ids.push(...runs.map(({ runId }) => runId));
  }
}

async function idsOfSleepers(store: ThreadStore, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Parameters<ThreadStore['listSleepingRuns']>[0]['after']; ;) {
    const runs = await store.listSleepingRuns({ until: Date.now() + 48 * hourMs, limit, after });
    ids.push(...runs.map(({ runId }) => runId));
    after = runs.at(-1);
    if (!after) return ids;
  }
}
