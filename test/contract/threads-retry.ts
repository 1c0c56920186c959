import type { TestFn } from 'ava';
import { runOptionsBytes } from '@agent-workflow/kit/sizes';
import type { AcceptRunRequest, ClaimedRun, RunEnd, Threads } from '@agent-workflow/protos/threads';
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
  noInput,
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

const goOn = (threads: Threads, runId: string, parts: Partial<AcceptRunRequest> = {}): ReturnType<typeof accept> =>
  accept(threads, runId, { ...noInput, optionsJson: bytes('{"goesOn":true,"initialState":{}}'), ...parts });

const stop = (threads: Threads, runId: string): ReturnType<Threads['endRun']> =>
  threads.endRun({ owner, runId, status: 'stopped' }, call());

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

  check('a run that is stopped before it begins leaves where the failed run before it stood', async (t, threads) => {
    await failedRun(threads, 'r1');
    await accept(threads, 'r2');
    await stop(threads, 'r2');
    await goOn(threads, 'r3');
    const claimed = await claim(threads, 'r3');
    t.like(claimed, { next: ['b', 'c'], resumes: 'r1' });
    t.like(parse(claimed.optionsJson), { retry: { run: 'r1', from: 1 } });
  });

  check(
    'a run that goes on behind a change has keys of its own, and no records of the failed one',
    async (t, threads) => {
      await failedRun(threads, 'r1');
      await threads.addMessages({ ...thread1, messages: [user('by hand')] }, call());
      await goOn(threads, 'r2');
      const { next, optionsJson } = await claim(threads, 'r2');
      t.deepEqual(next, ['b', 'c']);
      t.false('retry' in (parse(optionsJson) as object));
    },
  );

  check(
    'a run that goes on is refused at its acceptance where the agent no longer has the node',
    async (t, threads) => {
      await failedRun(threads, 'r1');
      for (const claimed of [{ claim: { workerId: 'w1' } }, {}]) {
        const nodes = { names: ['a', 'c'], first: ['a'] };
        const refusal = await refused(t, goOn(threads, 'r2', { nodes, ...claimed }), 'Conflict');
        t.regex(refusal, /run "r1" cannot be tried again: it stood at node "b"/);
      }
      await goOn(threads, 'r2');
    },
  );

  check('what a run brings and what the failed one brought are together bounded as options are', async (t, threads) => {
    await accept(threads, 'r1', { optionsJson: bytes('{"initialState":{"x":"0123456789"}}') });
    const { epoch } = await claim(threads, 'r1');
    await commit(threads, 'r1', epoch, { end: failed, progressJson: left({ merged: false }) });
    const head = '{"goesOn":true,"initialState":{"y":"';
    const large = bytes(`${head}${'y'.repeat(runOptionsBytes - head.length - 3)}"}}`);
    t.is(large.byteLength, runOptionsBytes);
    const refusal = await refused(t, goOn(threads, 'r2', { optionsJson: large }), 'Invalid');
    t.regex(refusal, /its state and the new one have \d+ bytes, more than \d+/);
  });

  check(
    'a run that repeats a first step has its answers, and the questions that a deadline has passed',
    async (t, threads) => {
      const passed = [{ id: 'q', deadline: '2026-01-01T00:00:00.000Z' }];
      await accept(threads, 'r1', { optionsJson: bytes(JSON.stringify({ initialState: {}, resume: {}, passed })) });
      const { epoch } = await claim(threads, 'r1');
      await commit(threads, 'r1', epoch, { end: failed, progressJson: left() });
      await goOn(threads, 'r2');
      t.like(parse((await claim(threads, 'r2')).optionsJson), { resume: {}, passed });
    },
  );

  check('a retry of a run that died in its first step begins with its input, as that did', async (t, threads) => {
    let { epoch } = await acceptAndClaim(threads, 'r1');
    for (let attempt = 0; attempt < 3; attempt++) ({ epoch } = await claim(threads, 'r1', { takeoverEpoch: epoch }));
    await retry(threads, 'r2', 'r1');
    await claim(threads, 'r2');
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, limit: 10, offset: 0 }, call());
    t.deepEqual(
      checkpoints.map(({ source, runId }) => [source, runId]),
      [
        ['input', 'r2'],
        ['input', 'r1'],
      ],
    );
  });

  check(
    'a stopped run leaves where it stood up to a bound, and beyond it only what its step held',
    async (t, threads) => {
      const stoppedWith = async (runId: string, continuation: object): Promise<ClaimedRun> => {
        const { epoch } = await acceptAndClaim(threads, runId);
        const progressJson = bytes(JSON.stringify({ visits: {}, ['carry']: continuation }));
        await commit(threads, runId, epoch, { next: ['b'], progressJson });
        await stop(threads, runId);
        await goOn(threads, `${runId}-on`);
        const claimed = await claim(threads, `${runId}-on`);
        await stop(threads, `${runId}-on`);
        return claimed;
      };
      const large = 'x'.repeat(256 * 1024);
      const small = await stoppedWith('r1', { x: 'x' });
      t.deepEqual([small.next, parse(small.progressJson)], [['b'], { visits: {}, ['carry']: { x: 'x' } }]);
      const none = await stoppedWith('r2', { x: large });
      t.deepEqual([none.next, none.progressJson], [[], undefined]);
      const held = [{ node: 'a', outputs: [{ node: 'a', fields: {}, messages: [], mayReplace: false }] }];
      const kept = await stoppedWith('r3', { x: large, held });
      t.deepEqual([kept.next, parse(kept.progressJson)], [['b'], { visits: {}, ['carry']: { x: large, held } }]);
    },
  );

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
