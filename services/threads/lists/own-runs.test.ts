import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { ListAllRunsRequest, Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import { newHead } from '../record/head.ts';
import type { RunRecord } from '../ports/record.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createThreads } from '../threads.ts';

const call = () => within(30_000, new AbortController().signal);
const owner = 'ada';

/** So many runs of one thread, of which the n-th oldest has the status that `statusOf` gives. */
async function fill(
  store: ThreadStore,
  count: number,
  statusOf: (index: number) => RunStatus,
  { threadId = 't', agent }: { readonly threadId?: string; readonly agent?: string } = {},
): Promise<void> {
  const runs = Array.from({ length: count }, (_, index): RunRecord => ({
    ...{
      runId: `${agent ?? 'r'}${String(index)}`,
      threadId,
      requestId: 'q',
      status: statusOf(index),
      granularity: 'low',
    },
    ...{ isNewThread: false, createdAt: index, updatedAt: index, options: new Uint8Array(0), answers: [] },
    hasNewInput: true,
  }));
  const head = { ...newHead({}, 1), ...(agent === undefined ? {} : { agent }) };
  await store.change({ owner, threadId }, {}, () => ({ change: { head, runs }, reply: undefined }));
}

interface Walk {
  readonly ids: readonly string[];
  /** How many runs each page had. */
  readonly pages: readonly number[];
}

async function walk(threads: Threads, limit: number, statuses: readonly RunStatus[] = []): Promise<Walk> {
  const ids: string[] = [];
  const pages: number[] = [];
  for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined;) {
    const page = await threads.listOwnRuns({ owner, limit, statuses, ...(cursor !== undefined && { cursor }) }, call());
    ids.push(...page.runs.map(({ runId }) => runId));
    pages.push(page.runs.length);
    ({ cursor } = page);
  }
  return { ids, pages };
}

/** The store, and how many runs are read from it. */
function counting(store: ThreadStore): { readonly watched: ThreadStore; readonly read: () => number } {
  let read = 0;
  const listOwnRuns: ThreadStore['listOwnRuns'] = async (of, page) => {
    const part = await store.listOwnRuns(of, page);
    read += part.runs.length;
    return part;
  };
  return { watched: { ...store, listOwnRuns }, read: () => read };
}

test("pages of an owner's runs are full, and the last one says that it is the last", async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  t.deepEqual(await walk(threads, 3), { ids: [], pages: [0] });
  await fill(store, 9, () => 'completed');
  const all = Array.from({ length: 9 }, (_, index) => `r${String(8 - index)}`);
  t.deepEqual(await walk(threads, 3), { ids: all, pages: [3, 3, 3] });
  t.deepEqual(await walk(threads, 4), { ids: all, pages: [4, 4, 1] });
  t.deepEqual(await walk(threads, 1000), { ids: all, pages: [9] });
});

test('runs are selected by one status or several', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const statuses = ['queued', 'completed', 'failed'] as const;
  await fill(store, 9, (index) => statuses[index % 3] ?? 'stopped');
  t.deepEqual((await walk(threads, 2, ['failed'])).ids, ['r8', 'r5', 'r2']);
  t.deepEqual((await walk(threads, 2, ['failed', 'queued'])).ids, ['r8', 'r6', 'r5', 'r3', 'r2', 'r0']);
  t.deepEqual((await walk(threads, 2, ['stopped'])).ids, []);
});

test('a page that finds few reads 2,000 runs, and its cursor continues after them', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const { watched, read } = counting(store);
  const threads = createThreads({ store: watched });
  await fill(store, 4500, (index) => (index === 0 || index === 4499 ? 'failed' : 'completed'));
  const first = await threads.listOwnRuns({ owner, limit: 10, statuses: ['failed'] }, call());
  t.is(read(), 2000);
  t.deepEqual(
    first.runs.map(({ runId }) => runId),
    ['r4499'],
  );
  t.truthy(first.cursor);
  t.deepEqual(await walk(threads, 10, ['failed']), { ids: ['r4499', 'r0'], pages: [1, 0, 1] });
});

test('the list of all owners ends with its newest 10,000 runs, in pages of any size, and says that there are others', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  await fill(store, 10_200, (index) => (index % 5100 === 0 ? 'failed' : 'completed'));
  const pagesOf = async (limit: number, more: Partial<ListAllRunsRequest> = {}) => {
    const ids: string[] = [];
    for (let pages = 1, cursor: string | undefined; ; pages += 1) {
      const asked = { limit, statuses: [], newestOfThread: false, waiting: false, ...more };
      const page = await threads.listAllRuns({ ...asked, ...(cursor !== undefined && { cursor }) }, call());
      ids.push(...page.runs.map(({ runId }) => runId));
      ({ cursor } = page);
      if (cursor === undefined) return { found: ids.length, last: ids.at(-1), pages, atLeast: page.atLeast };
      t.false(page.atLeast);
    }
  };
  t.deepEqual(await pagesOf(1000), { found: 10_000, last: 'r200', pages: 10, atLeast: true });
  t.deepEqual(await pagesOf(640), { found: 10_000, last: 'r200', pages: 16, atLeast: true });
  t.deepEqual(await pagesOf(10, { statuses: ['failed'] }), { found: 1, last: 'r5100', pages: 5, atLeast: true });
  t.deepEqual(await pagesOf(1000, { owner }), { found: 10_000, last: 'r200', pages: 10, atLeast: true });
  const ofBefore = { filter: { to: 5000 }, statuses: ['failed'] } as const;
  t.deepEqual(await pagesOf(10, ofBefore), { found: 1, last: 'r0', pages: 3, atLeast: false });
});

test("a page of one agent's runs is full, however many runs others have, and reads no more than it gives", async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const { watched, read } = counting(store);
  for (const agent of ['billing', 'support'])
    await fill(store, agent === 'billing' ? 3 : 4500, () => 'completed', { threadId: agent, agent });
  const page = await createThreads({ store: watched }).listOwnRuns(
    { owner, limit: 10, statuses: [], agent: 'billing' },
    call(),
  );
  t.deepEqual(
    page.runs.map(({ runId }) => runId),
    ['billing2', 'billing1', 'billing0'],
  );
  t.is(page.cursor, undefined);
  t.is(read(), 3);
});

test('a cursor that no list gave is refused', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const request = { owner, limit: 1, statuses: [], cursor: 'none' };
  const error = await t.throwsAsync(createThreads({ store }).listOwnRuns(request, call()));
  t.true(isServiceError(error, 'Invalid'));
});

test('runs are all counted where a request to the store gives fewer than it is asked for', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  await fill(store, 3000, () => 'completed');
  let reads = 0;
  const giving = (most: number): ThreadStore => ({
    ...store,
    listOwnRuns: async (of, page) => {
      reads += 1;
      return store.listOwnRuns(of, { ...page, limit: Math.min(page.limit, most) });
    },
  });
  const counted = async (most: number): Promise<unknown[]> => {
    const threads = createThreads({ store: giving(most) });
    const { days, atLeast } = await threads.countRuns({ owner, statuses: [], timeZone: 'UTC' }, call());
    return [days.flatMap(({ counts }) => counts).reduce((sum, { count }) => sum + count, 0), atLeast];
  };
  t.deepEqual(await counted(100), [3000, false]);
  reads = 0;
  t.deepEqual(await counted(1), [64, true], 'the requests are bounded');
  t.is(reads, 64);
});

test('a page of runs that stand at nodes with long names is within its bytes', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const nodes = Array.from({ length: 10 }, (_, index) => `${'n'.repeat(100_000)}${String(index)}`);
  for (let index = 0; index < 40; index += 1) {
    const threadId = `t${String(index)}`;
    await fill(store, 1, () => 'running', { threadId, agent: threadId });
    await store.change({ owner, threadId }, {}, ({ head = newHead({}, 1) }) => ({
      change: { head: { ...head, activeRun: `${threadId}0`, activeStatus: 'running', next: nodes } },
      reply: undefined,
    }));
  }
  const threads = createThreads({ store });
  const page = await threads.listOwnRuns({ owner, limit: 100, statuses: [] }, call());
  t.true(page.runs.length > 0 && JSON.stringify(page.runs).length <= sizes.page, String(page.runs.length));
  t.truthy(page.cursor);
});
