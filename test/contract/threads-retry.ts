import type { TestFn } from 'ava';
import type { ClaimedRun, RunEnd, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  logOf,
  owner,
  parse,
  refused,
  text,
  thread1,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const error = { code: 'NodeFailed', message: 'b fails', node: 'b' } as const;
const failed: RunEnd = { ...completed, status: 'failed', error };

/** What a worker leaves of a step that failed. */
const left = (parts: object = {}): Uint8Array =>
  bytes(JSON.stringify({ visits: {}, failed: { next: ['b', 'c'], merged: true, returned: { c: 1 }, ...parts } }));

/** A run that committed one step and failed in the next, in which a call had a result. */
async function failedRun(threads: Threads, runId: string): Promise<ClaimedRun> {
  await accept(threads, runId, { optionsJson: bytes('{"config":{"colour":"red"},"initialState":{"x":1},"resume":2}') });
  const claimed = await claim(threads, runId);
  const { epoch } = claimed;
  await commit(threads, runId, epoch, { next: ['b', 'c'], messages: [assistant(`a-${runId}`)] });
  const fence = { ...thread1, runId, epoch, step: 1, callKey: 'key' };
  await threads.noteToolStarted(fence, call());
  await threads.noteToolResult({ ...fence, resultJson: bytes('"paid"') }, call());
  await commit(threads, runId, epoch, { step: 1, end: failed, progressJson: left() });
  return claimed;
}

const retry = (threads: Threads, runId: string, retryOf: string): ReturnType<typeof accept> =>
  accept(threads, runId, { messages: [], hasNewInput: false, multitaskStrategy: 'reject', retryOf });

/** What the record promises of a run that tries a failed one again. */
export function threadsRetryContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check(
    'a failed run is tried again with its options, at the step that failed, and has its records',
    async (t, threads) => {
      await failedRun(threads, 'r1');
      await retry(threads, 'r2', 'r1');
      const claimed = await claim(threads, 'r2');
      t.like(claimed, { step: 0, next: ['b', 'c'], appended: [], resumes: 'r1', resumeUnmatched: false });
      t.like(parse(claimed.optionsJson), {
        ...{ config: { colour: 'red' }, initialState: {} },
        retry: { run: 'r1', from: 1, hasRecords: true },
      });
      t.false('resume' in (parse(claimed.optionsJson) as object));
      t.deepEqual(parse(claimed.progressJson), { visits: {}, returned: { c: 1 } });
      const fence = { ...thread1, runId: 'r2', epoch: claimed.epoch, step: 0, callKey: 'key' };
      const known = await threads.noteToolStarted({ ...fence, recordOf: 'r1' }, call());
      t.deepEqual([known.isNew, text(known.resultJson)], [false, '"paid"']);
      t.true((await threads.noteToolStarted(fence, call())).isNew);
      await commit(threads, 'r2', claimed.epoch, { end: completed, messages: [assistant('a2')] });
      const { runs } = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
      t.deepEqual(
        runs.map(({ runId, status, resumes }) => [runId, status, resumes]),
        [
          ['r2', 'completed', 'r1'],
          ['r1', 'failed', undefined],
        ],
      );
      t.deepEqual(await logOf(threads), ['m-r1', 'a-r1', 'a2']);
    },
  );

  check('whoever takes over a run that tries another again begins where that failed', async (t, threads) => {
    await failedRun(threads, 'r1');
    await retry(threads, 'r2', 'r1');
    const first = await claim(threads, 'r2');
    const taken = await claim(threads, 'r2', { workerId: 'w2', takeoverEpoch: first.epoch });
    t.like(taken, { step: 0, next: ['b', 'c'], isTakeover: true });
    t.deepEqual(parse(taken.progressJson), { visits: {}, returned: { c: 1 } });
    await commit(threads, 'r2', taken.epoch, { next: ['d'] });
    const later = await claim(threads, 'r2', { workerId: 'w3', takeoverEpoch: taken.epoch });
    t.is(later.progressJson, undefined);
  });

  check(
    'a run that tries another again and fails in a later step is tried again there, under the keys of the first',
    async (t, threads) => {
      await failedRun(threads, 'r1');
      await retry(threads, 'r2', 'r1');
      const { epoch } = await claim(threads, 'r2');
      await commit(threads, 'r2', epoch, { next: ['d'] });
      await commit(threads, 'r2', epoch, {
        step: 1,
        end: failed,
        progressJson: left({ next: ['d'], returned: {}, hasRecords: false }),
      });
      await retry(threads, 'r3', 'r2');
      const third = await claim(threads, 'r3');
      t.deepEqual(third.next, ['d']);
      t.like(parse(third.optionsJson), { retry: { run: 'r1', from: 2, hasRecords: false } });
    },
  );

  check('a run that was claimed too often is tried again at the step that no worker survived', async (t, threads) => {
    let { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { next: ['b'] });
    for (let attempt = 0; attempt < 4; attempt++) ({ epoch } = await claim(threads, 'r1', { takeoverEpoch: epoch }));
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'failed');
    await retry(threads, 'r2', 'r1');
    const claimed = await claim(threads, 'r2');
    t.deepEqual(claimed.next, ['b']);
    t.like(parse(claimed.optionsJson), { retry: { run: 'r1', from: 1, hasRecords: true } });
  });

  check(
    'a run is tried again only while it is the last that changed its thread, and has failed in a step',
    async (t, threads) => {
      t.regex(await refused(t, retry(threads, 'r0', 'r1'), 'NotFound'), /run "r1" does not exist/);
      await failedRun(threads, 'r1');
      await threads.addMessages({ ...thread1, messages: [user('by hand')] }, call());
      t.regex(await refused(t, retry(threads, 'r2', 'r1'), 'Conflict'), /was changed since/);
      await failedRun(threads, 'r3');
      t.regex(await refused(t, retry(threads, 'r4', 'r1'), 'Conflict'), /has a later run/);
      await retry(threads, 'r4', 'r3');
      t.regex(await refused(t, retry(threads, 'r5', 'r3'), 'Conflict'), /has a later run/);
      t.regex(await refused(t, retry(threads, 'r5', 'r4'), 'Conflict'), /is queued/);
      const { epoch } = await claim(threads, 'r4');
      await commit(threads, 'r4', epoch, { end: { ...failed, error: { code: 'Invalid', message: 'no' } } });
      t.regex(await refused(t, retry(threads, 'r5', 'r4'), 'Conflict'), /failed before a step began/);
    },
  );

  check('of many who try a run again at once, one is accepted', async (t, threads) => {
    await failedRun(threads, 'r1');
    const replies = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => retry(threads, `n${String(index)}`, 'r1')),
    );
    t.is(replies.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  check(
    'a stop puts what was streamed, in its own write, and says what; what is in the log already it leaves out',
    async (t, threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      await commit(threads, 'r1', epoch, { next: ['b'], messages: [assistant('a1')] });
      const partial = { messages: [assistant('a1'), assistant('a2')], seq: 7 };
      const end = { owner, runId: 'r1', status: 'stopped', partial, onceKey: 'once' } as const;
      const { kept, endedNow } = await threads.endRun(end, call());
      t.deepEqual([endedNow, kept], [true, { seq: 7, messageIds: ['a2'] }]);
      t.deepEqual((await threads.endRun(end, call())).kept, kept);
      t.deepEqual(await logOf(threads), ['m-r1', 'a1', 'a2']);
      const { runs } = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
      t.is(runs[0]?.status, 'stopped');
    },
  );
}
