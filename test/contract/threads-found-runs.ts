import type { TestFn } from 'ava';
import type { CountRunsRequest, ListAllRunsRequest, RunFilter, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  bytes,
  call,
  claim,
  commit,
  completed,
  finishedTurn,
  interrupted,
  owner,
  refused,
  text,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

interface Filters extends RunFilter, Partial<Pick<CountRunsRequest, 'statuses' | 'agent'>> {}

const selectionOf = ({ statuses = [], agent, ...filter }: Filters) => ({
  ...{ statuses, filter },
  ...(agent !== undefined && { agent }),
});

/** The ids of the runs that pass, the newest first, read in pages of so many. */
async function found(threads: Threads, filter: Filters, limit = 100): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const request = { owner, limit, ...selectionOf(filter), ...(cursor !== undefined && { cursor }) };
    const page = await threads.listOwnRuns(request, call());
    ids.push(...page.runs.map(({ runId }) => runId));
    ({ cursor } = page);
    if (cursor === undefined) return ids;
  }
}

const count = (threads: Threads, filter: Filters = {}, timeZone = 'UTC'): ReturnType<Threads['countRuns']> =>
  threads.countRuns({ owner, ...selectionOf(filter), timeZone }, call());

async function failedTurn(threads: Threads, runId: string, message: string): Promise<void> {
  await accept(threads, runId, { threadId: runId });
  const { epoch } = await claim(threads, runId, { threadId: runId });
  const error = { code: 'NodeFailed', message, node: 'fetch' } as const;
  await commit(threads, runId, epoch, { threadId: runId, end: { ...completed, status: 'failed', error } });
}

async function askingTurn(threads: Threads, runId: string): Promise<void> {
  await accept(threads, runId, { threadId: runId, messages: [user(`m-${runId}`, 'Refund A-1042')] });
  const { epoch } = await claim(threads, runId, { threadId: runId });
  const interruptsJson = '[{"id":"i1","node":"ask","value":{"question":"Refund it?"}}]';
  await commit(threads, runId, epoch, {
    ...{ threadId: runId, next: ['ask'], openInterrupts: ['i1'] },
    end: { ...interrupted, interruptsJson },
  });
}

/** What the record promises of finding and counting the runs of an owner. */
export function threadsFoundRunsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('what requests said of themselves is read with their runs, while these go on and after', async (t, threads) => {
    const kept = { of: 'é', n: [1, null] };
    const optionsJson = bytes(JSON.stringify({ config: {}, request: kept, recursionLimit: 5 }));
    await finishedTurn(threads, 'r1', { optionsJson });
    await accept(threads, 'r2', { optionsJson });
    await accept(threads, 'r3');
    await accept(threads, 'r4', { optionsJson: bytes('{"request":') });
    const { requests } = await threads.listRunRequests({ owner, runIds: ['r4', 'r1', 'r2', 'r3', 'absent'] }, call());
    t.deepEqual(
      requests.map(({ runId, requestJson }) => [runId, JSON.parse(text(requestJson) ?? '') as unknown]).toSorted(),
      [
        ['r1', kept],
        ['r2', kept],
      ],
    );
    await accept(threads, 'r5', { optionsJson: bytes('{"config":{"assistant_id":"s1"}}') });
    const named = await threads.listRunRequests({ owner, runIds: ['r5'] }, call());
    t.deepEqual(named.requests, [{ runId: 'r5', assistantId: 's1' }]);
    t.deepEqual((await threads.listRunRequests({ owner: 'u:bob', runIds: ['r1'] }, call())).requests, []);
    const many = Array.from({ length: 101 }, (_, index) => String(index));
    await refused(t, threads.listRunRequests({ owner, runIds: many }, call()), 'Invalid');
  });

  check(
    'the runs of all owners are found, only the newest of each thread, and only those that wait',
    async (t, threads) => {
      await finishedTurn(threads, 'first', { threadId: 'asking' });
      await askingTurn(threads, 'asking');
      await failedTurn(threads, 'broken', 'The price feed did not answer');
      await accept(threads, 'theirs', { owner: 'u:bob', threadId: 'asking' });
      const all = async (more: Partial<ListAllRunsRequest>, limit: number): Promise<readonly string[]> => {
        const found: string[] = [];
        for (let cursor: string | undefined; ;) {
          const asked = { limit, statuses: [], newestOfThread: false, waiting: false, ...more };
          const page = await threads.listAllRuns({ ...asked, ...(cursor !== undefined && { cursor }) }, call());
          found.push(...page.runs.map((run) => `${run.owner} ${run.runId}`));
          ({ cursor } = page);
          if (cursor === undefined) return found;
        }
      };
      for (const limit of [1, 100]) {
        t.deepEqual(await all({}, limit), ['u:bob theirs', `${owner} broken`, `${owner} asking`, `${owner} first`]);
        const newest = ['u:bob theirs', `${owner} broken`, `${owner} asking`];
        t.deepEqual(await all({ newestOfThread: true }, limit), newest);
        t.deepEqual(await all({ waiting: true }, limit), [`${owner} asking`]);
        t.deepEqual(await all({ newestOfThread: true, owner: 'u:bob' }, limit), ['u:bob theirs']);
        t.deepEqual(await all({ statuses: ['failed'], filter: { error: 'feed' } }, limit), [`${owner} broken`]);
      }
      const { cursor = '' } = await threads.listAllRuns(
        { limit: 1, statuses: [], newestOfThread: false, waiting: false },
        call(),
      );
      const elsewhere = { limit: 1, statuses: [], newestOfThread: true, waiting: false, cursor };
      await refused(t, threads.listAllRuns(elsewhere, call()), 'Invalid');
    },
  );

  check('runs are found by status, agent, node, error, title and id', async (t, threads) => {
    await accept(threads, 'done', { threadId: 'done', agent: 'billing' });
    const { epoch } = await claim(threads, 'done', { threadId: 'done', agent: 'billing' });
    await commit(threads, 'done', epoch, { threadId: 'done', end: completed });
    await failedTurn(threads, 'broken', 'The price feed did not answer');
    await askingTurn(threads, 'asking');
    t.deepEqual(await found(threads, {}, 1), ['asking', 'broken', 'done']);
    t.deepEqual(await found(threads, { statuses: ['failed', 'completed'] }, 1), ['broken', 'done']);
    t.deepEqual(await found(threads, { agent: 'billing' }), ['done']);
    t.deepEqual(await found(threads, { node: 'fetch' }), ['broken']);
    t.deepEqual(await found(threads, { node: 'ask' }), ['asking']);
    t.deepEqual(await found(threads, { error: 'PRICE FEED' }), ['broken']);
    t.deepEqual(await found(threads, { search: 'a-1042' }), ['asking']);
    t.deepEqual(await found(threads, { search: 'BROKEN' }), ['broken']);
    t.deepEqual(await found(threads, { search: 'feed', agent: 'billing' }), []);
  });

  check('a run that waits says where it stands and what it asks, until it is answered', async (t, threads) => {
    await askingTurn(threads, 'asking');
    const [run] = (await threads.listOwnRuns({ owner, limit: 1, statuses: [] }, call())).runs;
    t.like(run, { nodes: ['ask'], question: 'Refund it?', threadTitle: 'Refund A-1042' });
    await accept(threads, 'answering', {
      ...{ threadId: 'asking', messages: [], hasNewInput: false },
      resume: { keys: ['i1'] },
    });
    t.deepEqual(await found(threads, { node: 'ask' }), ['answering']);
    const asked = await threads.getRun({ owner, runId: 'asking' }, call());
    t.deepEqual([asked.nodes, asked.question], [[], undefined]);
  });

  check('runs are found by the time of their acceptance and by how long they took', async (t, threads) => {
    for (const runId of ['r1', 'r2', 'r3']) await finishedTurn(threads, runId, { threadId: runId });
    const timeOf = async (runId: string): Promise<number> => (await threads.getRun({ owner, runId }, call())).createdAt;
    const [first, last] = [await timeOf('r1'), await timeOf('r3')];
    t.deepEqual(await found(threads, { from: first, to: last + 1 }, 1), ['r3', 'r2', 'r1']);
    t.deepEqual(await found(threads, { from: last + 1 }), []);
    t.deepEqual(await found(threads, { to: first }), []);
    t.deepEqual(await found(threads, { minDurationMs: 3_600_000 }), []);
    t.deepEqual(await found(threads, { maxDurationMs: 3_600_000 }, 2), ['r3', 'r2', 'r1']);
  });

  check('a cursor of one selection is refused by another', async (t, threads) => {
    for (const runId of ['r1', 'r2']) await finishedTurn(threads, runId, { threadId: runId });
    const list = (filter: Filters, cursor?: string): ReturnType<Threads['listOwnRuns']> =>
      threads.listOwnRuns({ owner, limit: 1, ...selectionOf(filter), ...(cursor !== undefined && { cursor }) }, call());
    const { cursor = '' } = await list({ from: 1, statuses: ['completed', 'failed'] });
    t.is((await list({ statuses: ['failed', 'completed'], from: 1 }, cursor)).runs[0]?.runId, 'r1');
    for (const filter of [{}, { from: 1 }, { from: 2, statuses: ['completed', 'failed'] as const }])
      await refused(t, list(filter, cursor), 'Invalid');
  });

  check('runs are counted by day and status, each filter and owner for itself', async (t, threads) => {
    t.deepEqual(await count(threads), { days: [], atLeast: false });
    for (const runId of ['r1', 'r2']) await finishedTurn(threads, runId, { threadId: runId });
    await failedTurn(threads, 'broken', 'no');
    await accept(threads, 'theirs', { owner: 'u:bob' });
    const numbers = async (filter: Filters = {}): Promise<Record<string, number>> => {
      const sums: Record<string, number> = {};
      for (const { counts } of (await count(threads, filter)).days)
        for (const { status, count: more } of counts) sums[status] = (sums[status] ?? 0) + more;
      return sums;
    };
    t.deepEqual(await numbers(), { completed: 2, failed: 1 });
    t.deepEqual(await numbers({ statuses: ['failed'] }), { failed: 1 });
    t.deepEqual(await numbers({ from: Date.now() + 3_600_000 }), {});
    const { medianMs = -1, p95Ms = -1, atLeast } = await count(threads);
    t.true(medianMs >= 0 && p95Ms >= medianMs && !atLeast);
    await refused(t, count(threads, {}, 'Mars/Olympus'), 'Invalid');
  });
}
