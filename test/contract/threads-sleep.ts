import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  bytes,
  call,
  claim,
  commit,
  completed,
  owner,
  refused,
  text,
  thread1,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const hour = 3_600_000;
/** Clocks of two processes may be so far apart. */
const second = 1000;

/** A run that has slept since its first commit, until `wakeAt`. */
async function asleep(
  threads: Threads,
  runId: string,
  wakeAt: number,
  place: { readonly owner?: string; readonly threadId?: string } = {},
): Promise<{ readonly epoch: number }> {
  await accept(threads, runId, place);
  const { epoch } = await claim(threads, runId, place);
  await commit(threads, runId, epoch, { ...place, next: ['a'], progressJson: bytes('{"p":1}'), wakeAt });
  return { epoch };
}

/** What the record promises about runs that sleep. */
export function threadsSleepContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);
  const listed = async (
    threads: Threads,
    until: number,
    after?: { wakeAt: number; runId: string },
  ): Promise<string[]> => {
    const request = { until, limit: 100, ...(after && { after }) };
    return (await threads.listSleepingRuns(request, call())).runs.map(({ runId }) => runId);
  };

  check('a run that sleeps says until when, and its worker commits nothing more of it', async (t, threads) => {
    const wakeAt = Date.now() + hour;
    const { epoch } = await asleep(threads, 'r1', wakeAt);
    const run = await threads.getRun({ owner, runId: 'r1' }, call());
    t.like(run, { status: 'sleeping', wakeAt, runnable: false, workerId: undefined, epoch: epoch + 1 });
    await refused(t, commit(threads, 'r1', epoch, { step: 1, end: completed }), 'Stale');
    await refused(t, threads.releaseRun({ ...thread1, runId: 'r1', epoch }, call()), 'Stale');
  });

  check(
    'a sleeping run is claimed when its time has come and not before, and continues after its last commit',
    async (t, threads) => {
      await asleep(threads, 'early', Date.now() + hour);
      await refused(t, claim(threads, 'early'), 'Stale');
      await refused(t, claim(threads, 'early', { takeoverEpoch: 1 }), 'Stale');
      const place = { threadId: 't2' };
      const wakeAt = Date.now() - 1;
      await asleep(threads, 'due', wakeAt, place);
      const woken = await claim(threads, 'due', { ...place, workerId: 'w2' });
      t.like(woken, { step: 1, attempt: 1, isTakeover: true, wakeAt, next: ['a'] });
      t.is(text(woken.progressJson), '{"p":1}');
      await refused(t, claim(threads, 'due', place), 'Stale');
      const run = await threads.getRun({ owner, runId: 'due' }, call());
      t.like(run, { status: 'running', workerId: 'w2', wakeAt: undefined });
      await commit(threads, 'due', woken.epoch, { ...place, step: 1, end: completed });
      t.is((await threads.getRun({ owner, runId: 'due' }, call())).status, 'completed');
    },
  );

  check('a run may sleep again, and a claim that dies after a sleep is taken over as any other', async (t, threads) => {
    await asleep(threads, 'r1', Date.now() - 10);
    const first = await claim(threads, 'r1');
    const second = await claim(threads, 'r1', { takeoverEpoch: first.epoch });
    t.like(second, { attempt: 2, wakeAt: undefined, isTakeover: true });
    const wakeAt = Date.now() + hour;
    await commit(threads, 'r1', second.epoch, { step: 1, next: ['a'], wakeAt });
    t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'sleeping', wakeAt });
    t.deepEqual(await listed(threads, wakeAt), ['r1']);
  });

  check(
    'a worker whose clock is ahead leaves no time of the future, and its run sleeps as long as it should',
    async (t, threads) => {
      const aheadMs = 10 * 60_000;
      await accept(threads, 'r1');
      const { epoch } = await claim(threads, 'r1');
      const at = Date.now() + aheadMs;
      const asked = { next: ['a'], at, wakeAt: at + hour, attemptId: randomUUID() };
      const first = await commit(threads, 'r1', epoch, asked);
      t.deepEqual(await commit(threads, 'r1', epoch, asked), first);
      const { updatedAt, wakeAt = 0 } = await threads.getRun({ owner, runId: 'r1' }, call());
      t.true(updatedAt <= Date.now() + second);
      t.is(wakeAt - updatedAt, hour);
    },
  );

  check('the thread of a run that ended by a clock that is ahead has no time of the future', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { at: Date.now() + 23 * hour, end: completed });
    const run = await threads.getRun({ owner, runId: 'r1' }, call());
    const { updatedAt } = await threads.getThread(thread1, call());
    t.is(run.status, 'completed');
    for (const time of [run.updatedAt, updatedAt]) t.true(time <= Date.now() + second);
  });

  check('runs that sleep are listed by wake time and id, for every owner, page by page', async (t, threads) => {
    const first = Date.now() + hour;
    await asleep(threads, 'c', first + 1, { threadId: 't1' });
    await asleep(threads, 'b', first + 2, { threadId: 't2' });
    await asleep(threads, 'a', first + 2, { threadId: 't3', owner: 'u:bob' });
    await asleep(threads, 'd', first + 3, { threadId: 't4' });
    t.deepEqual(await listed(threads, first), []);
    t.deepEqual(await listed(threads, first + 2), ['c', 'a', 'b']);
    t.deepEqual(await listed(threads, Number.MAX_SAFE_INTEGER), ['c', 'a', 'b', 'd']);
    t.deepEqual(await listed(threads, first + 3, { wakeAt: first + 2, runId: '' }), ['a', 'b', 'd']);
    t.deepEqual(await listed(threads, first + 3, { wakeAt: first + 2, runId: 'a' }), ['b', 'd']);
    const page = await threads.listSleepingRuns({ until: first + 3, limit: 2 }, call());
    t.deepEqual(page.runs, [
      { owner, threadId: 't1', runId: 'c', wakeAt: first + 1, agent: 'default' },
      { owner: 'u:bob', threadId: 't3', runId: 'a', wakeAt: first + 2, agent: 'default' },
    ]);
    t.true(page.hasMore);
    t.false((await threads.listSleepingRuns({ until: first + 3, limit: 4 }, call())).hasMore);
  });

  check('a run that was woken, stopped or deleted is not listed any more', async (t, threads) => {
    const past = Date.now() - 10;
    await asleep(threads, 'woken', past, { threadId: 't1' });
    await asleep(threads, 'stopped', past, { threadId: 't2' });
    await asleep(threads, 'deleted', past, { threadId: 't3' });
    await asleep(threads, 'left', past, { threadId: 't4' });
    await claim(threads, 'woken', { threadId: 't1' });
    const ended = await threads.endRun({ owner, runId: 'stopped', status: 'stopped' }, call());
    t.like(ended, { endedNow: true, status: 'stopped' });
    const { stoppedRunIds } = await threads.beginDelete({ owner, threadId: 't3' }, call());
    t.deepEqual(stoppedRunIds, ['deleted']);
    await threads.finishDelete({ owner, threadId: 't3' }, call());
    t.deepEqual(await listed(threads, Date.now()), ['left']);
    await refused(t, claim(threads, 'stopped', { threadId: 't2' }), 'Stale');
    const { runs } = await threads.listOpenRuns({ limit: 10 }, call());
    t.true(runs.some(({ runId, status }) => runId === 'woken' && status === 'running'));
  });

  check('a sleeping run holds its thread as a running one does', async (t, threads) => {
    await asleep(threads, 'r1', Date.now() + hour);
    await refused(t, threads.clearState(thread1, call()), 'Conflict');
    await refused(t, threads.addMessages({ ...thread1, messages: [user('m9')] }, call()), 'Conflict');
    await refused(t, accept(threads, 'r2', { multitaskStrategy: 'reject' }), 'Conflict');
    t.like(await accept(threads, 'r3'), { status: 'queued', runnable: false });
    const taking = await accept(threads, 'r4', { multitaskStrategy: 'interrupt' });
    t.like(taking, { runnable: true, stoppedRunId: 'r1' });
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'stopped');
    t.deepEqual(await listed(threads, Number.MAX_SAFE_INTEGER), []);
  });

  check('a sleeping run is rolled back by a run that asks for it', async (t, threads) => {
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    await commit(threads, 'r1', epoch, { fields: { a: bytes('1') }, next: ['a'], wakeAt: Date.now() + hour });
    const reply = await accept(threads, 'r2', {
      multitaskStrategy: 'rollback',
      ...{ messages: [], hasNewInput: true },
    });
    t.is(reply.stoppedRunId, 'r1');
    t.deepEqual((await threads.getState(thread1, call())).fields, {});
  });

  check('a step does not end its run and sleep', async (t, threads) => {
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    await refused(t, commit(threads, 'r1', epoch, { end: completed, wakeAt: Date.now() }), 'Invalid');
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'running');
  });
}
