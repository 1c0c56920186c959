import type { TestFn } from 'ava';
import fc from 'fast-check';
import { isServiceError } from '@agent-workflow/kit/errors';
import type { MultitaskStrategy } from '@agent-workflow/protos/lists';
import type { AcceptRunReply, Threads } from '@agent-workflow/protos/threads';
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
  interruptedTurn,
  logOf,
  owner,
  refused,
  text,
  thread1,
} from './thread-calls.ts';
import { newModel, threadCommand } from './thread-model.ts';
import { checkOn, type OpenThreads, type Scale } from './thread-stores/threads-open.ts';
import { byLoad } from '../by-load.ts';

/** What the record promises when many want the same thread: who has it, who is told what, and what nobody may do twice. */
export function threadsRacesContract(
  test: TestFn,
  name: string,
  { open, scale }: { readonly open: OpenThreads; readonly scale: Scale },
): void {
  const check = checkOn(test, name, open);

  test(`${name}: in whatever order runs are accepted, claimed, committed, stopped, taken over and deleted, each ends once and every receipt is true`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(fc.commands(threadCommand(t), { maxCommands: 40, size: 'max' }), async (commands) => {
        await using threads = await open();
        await fc.asyncModelRun(() => ({ model: newModel(), real: threads }), commands);
      }),
      { numRuns: scale.races },
    );
    t.pass();
  });

  // Who drives a run

  check('a running run says whose worker drives it and by which claim, any other does not', async (t, threads) => {
    await accept(threads, 'r1');
    await accept(threads, 'r2');
    const driver = async (runId: string): Promise<unknown[]> => {
      const run = await threads.getRun({ owner, runId }, call());
      return [run.workerId, run.epoch];
    };
    t.deepEqual(await driver('r1'), [undefined, undefined]);
    const { epoch } = await claim(threads, 'r1', { workerId: 'w7' });
    t.deepEqual(await driver('r1'), ['w7', epoch]);
    t.deepEqual(await driver('r2'), [undefined, undefined]);
    const { runs } = await threads.listOpenRuns({ limit: 10 }, call());
    t.deepEqual(
      runs.map((run) => [run.runId, run.workerId, run.epoch]),
      [
        ['r1', 'w7', epoch],
        ['r2', undefined, undefined],
      ],
    );
    const taken = await claim(threads, 'r1', { workerId: 'w8', takeoverEpoch: epoch });
    t.deepEqual(await driver('r1'), ['w8', taken.epoch]);
    await commit(threads, 'r1', taken.epoch, { end: completed });
    t.deepEqual(await driver('r1'), [undefined, undefined]);
    const { claimed } = await accept(threads, 'r3', { threadId: 't2', claim: { workerId: 'w9' } });
    t.deepEqual(await driver('r3'), ['w9', claimed?.epoch]);
  });

  check('only the claim that was thought dead may be taken over, and only once', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    for (const takeoverEpoch of [epoch - 1, epoch + 1, 0])
      await refused(t, claim(threads, 'r1', { takeoverEpoch }), 'Stale');
    const claims = await Promise.allSettled(
      Array.from({ length: 20 }, async () => claim(threads, 'r1', { takeoverEpoch: epoch })),
    );
    t.is(claims.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const each of claims) if (each.status === 'rejected') t.true(isServiceError(each.reason, 'Stale'));
  });

  check('a run that waits again after its worker was thought dead is claimed as ever', async (t, threads) => {
    await accept(threads, 'r1');
    t.like(await claim(threads, 'r1', { takeoverEpoch: 5 }), { attempt: 1, isTakeover: false });
  });

  // Twenty at once

  check('of twenty at once that enqueue, each has its turn, one after the other', async (t, threads) => {
    const replies = await twentyAtOnce(threads, 'enqueue');
    const first = replies.filter(({ value }) => value?.runnable);
    t.is(first.length, 1);
    const order: string[] = [];
    for (let next = first[0]?.value?.runId; next !== undefined;) {
      order.push(next);
      const { epoch } = await claim(threads, next);
      next = (await commit(threads, next, epoch, { end: completed })).nextRunId;
    }
    t.is(new Set(order).size, 20);
    t.deepEqual(await logOf(threads), ['m-r', ...order.map((id) => `m-${id}`)]);
  });

  check('of twenty at once that reject, one is accepted and the others leave no trace', async (t, threads) => {
    const replies = await twentyAtOnce(threads, 'reject');
    const [winner, ...others] = replies.filter(({ value }) => value);
    t.deepEqual(others, []);
    for (const { error } of replies) if (error !== undefined) t.true(isServiceError(error, 'Conflict'));
    t.is((await threads.listRuns({ ...thread1, limit: 100, offset: 0 }, call())).runs.length, 2);
    await claim(threads, winner?.value?.runId ?? '');
    t.deepEqual(await logOf(threads), ['m-r', `m-${winner?.value?.runId ?? ''}`]);
  });

  for (const strategy of ['interrupt', 'rollback'] as const) {
    check(
      `of twenty at once that come to ${strategy}, one is left and each other is stopped once`,
      async (t, threads) => {
        const replies = await twentyAtOnce(threads, strategy, { claim: { workerId: 'w1' } });
        const stopped = replies.flatMap(({ value }) => value?.stoppedRunId ?? []);
        t.is(new Set(stopped).size, 19);
        const { runs } = await threads.listOpenRuns({ limit: 100 }, call());
        t.deepEqual(
          runs.map(({ runId }) => stopped.includes(runId)),
          [false],
        );
        const [left] = runs;
        for (const { value } of replies) {
          const { claimed, runId } = value ?? {};
          if (claimed && runId !== left?.runId)
            await refused(t, commit(threads, runId ?? '', claimed.epoch, {}), 'Stale');
        }
        const lastId = left?.runId ?? '';
        const epoch = left?.epoch ?? (await claim(threads, lastId)).epoch;
        await commit(threads, lastId, epoch, { messages: [assistant('a')], end: completed });
        const log = await logOf(threads);
        if (strategy === 'rollback') t.deepEqual(log, ['m-r', `m-${lastId}`, 'a']);
        else t.deepEqual(log.slice(-2), [`m-${lastId}`, 'a']);
      },
    );
  }

  // Calls that may be made once

  check('a call is new once, and known with its result to whoever has the step', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const note = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'r1/0/c1' };
    t.deepEqual(await threads.noteToolStarted(note, call()), { isNew: true });
    t.deepEqual(await threads.noteToolStarted(note, call()), { isNew: false });
    t.deepEqual(await threads.noteToolStarted({ ...note, callKey: 'r1/0/c2' }, call()), { isNew: true });
    await threads.noteToolResult({ ...note, resultJson: bytes('{"ok":1}') }, call());
    const taken = await claim(threads, 'r1', { takeoverEpoch: epoch });
    const known = await threads.noteToolStarted({ ...note, epoch: taken.epoch }, call());
    t.false(known.isNew);
    t.is(text(known.resultJson), '{"ok":1}');
  });

  check('of many who begin one call at once exactly one is the first', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const note = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'k' };
    const notes = await Promise.all(Array.from({ length: 20 }, async () => threads.noteToolStarted(note, call())));
    t.is(notes.filter(({ isNew }) => isNew).length, 1);
  });

  check('a note of a step that is no longer the worker’s is stale and leaves nothing', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, {});
    const note = { ...thread1, runId: 'r1', epoch, step: 1, callKey: 'k' };
    const wrong = [
      { epoch: epoch + 1 },
      { step: 0 },
      { step: 2 },
      { runId: 'r9' },
      { owner: 'u:bob' },
      { threadId: 't2' },
    ];
    for (const part of wrong) {
      await refused(t, threads.noteToolStarted({ ...note, ...part }, call()), 'Stale');
      await refused(t, threads.noteToolResult({ ...note, ...part, resultJson: bytes('1') }, call()), 'Stale');
    }
    const taken = await claim(threads, 'r1', { takeoverEpoch: epoch });
    await refused(t, threads.noteToolStarted(note, call()), 'Stale');
    t.deepEqual(await threads.noteToolStarted({ ...note, epoch: taken.epoch }, call()), { isNew: true });
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    await refused(t, threads.noteToolResult({ ...note, epoch: taken.epoch, resultJson: bytes('1') }, call()), 'Stale');
  });

  check('notes change no version', async (t, threads) => {
    const { epoch, version } = await acceptAndClaim(threads, 'r1');
    const note = { ...thread1, runId: 'r1', epoch, step: 0, callKey: 'k' };
    await threads.noteToolStarted(note, call());
    await threads.noteToolResult({ ...note, resultJson: bytes('1') }, call());
    t.is((await threads.getState(thread1, call())).version, version);
    t.like(await commit(threads, 'r1', epoch, {}), { version: version + 1 });
  });

  // Idle threads

  check('threads that nothing has changed since a time are listed, unless a run holds them', async (t, threads) => {
    await finishedTurn(threads, 'r1', { threadId: 'idle' });
    await accept(threads, 'r3', { threadId: 'held' });
    await finishedTurn(threads, 'r4', { threadId: 'gone' });
    await threads.beginDelete({ owner, threadId: 'gone' }, call());
    const { updatedAt } = await threads.getThread({ owner, threadId: 'idle' }, call());
    const idle = async (before: number): Promise<string[]> =>
      (await threads.listIdle({ before, limit: 10 }, call())).threads.map(({ threadId }) => threadId);
    t.deepEqual(await idle(updatedAt), []);
    t.deepEqual(await idle(updatedAt + 60_000), ['idle']);
  });

  check('what waits for the caller’s answer counts as idle by a time of its own', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    const before = Date.now() + 60_000;
    const idle = async (waitingBefore?: number): Promise<readonly unknown[]> =>
      (await threads.listIdle({ before, limit: 10, ...(waitingBefore && { waitingBefore }) }, call())).threads;
    t.deepEqual(await idle(), []);
    t.deepEqual(await idle(Date.now() - 60_000), []);
    t.deepEqual(await idle(before), [thread1]);
  });
}

interface Settled {
  readonly value?: AcceptRunReply;
  readonly error?: unknown;
}

/** On a thread with one turn behind it. */
async function twentyAtOnce(
  threads: Threads,
  multitaskStrategy: MultitaskStrategy,
  parts: Parameters<typeof accept>[2] = {},
): Promise<readonly Settled[]> {
  await finishedTurn(threads, 'r');
  return Promise.all(
    Array.from({ length: 20 }, async (_, index): Promise<Settled> => {
      try {
        return { value: await accept(threads, `r${String(index)}`, { multitaskStrategy, ...parts }) };
      } catch (error) {
        return { error };
      }
    }),
  );
}
