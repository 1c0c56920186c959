import type { TestFn } from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { State, Threads } from '@agent-workflow/protos/threads';
import {
  absentToAll,
  accept,
  acceptAndClaim,
  answer,
  answering,
  assistant,
  bytes,
  call,
  calling,
  claim,
  commit,
  completed,
  contentOf,
  entriesOf,
  fieldsOf,
  finishedTurn,
  idsIn,
  interrupted,
  interruptedTurn,
  logOf,
  messagesOf,
  noInput,
  owner,
  pagesOfMessages,
  pagesOfThreads,
  passMillisecond,
  refused,
  resultOf,
  text,
  thread1,
  twoCalls,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads, type Scale } from './thread-stores/threads-open.ts';
import { threadsAgentsContract } from './threads-agents.ts';
import { threadsPagesContract } from './threads-pages.ts';
import { threadsPastContract } from './threads-past.ts';
import { threadsRepeatsContract } from './threads-repeats.ts';
import { threadsFoundRunsContract } from './threads-found-runs.ts';
import { threadsFusedContract } from './threads-fused.ts';
import { threadsFilesContract } from './threads-files.ts';
import { threadsRacesContract } from './threads-races.ts';
import { threadsOutboxContract } from './threads-outbox.ts';
import { threadsQuestionsContract } from './threads-questions.ts';
import { threadsResourcesContract } from './threads-resources.ts';
import { threadsSearchContract } from './threads-search.ts';
import { threadsRevisionsContract } from './threads-revisions.ts';
import { threadsSizesContract } from './threads-sizes.ts';
import { threadsEndsContract } from './threads-ends.ts';
import { threadsSleepContract } from './threads-sleep.ts';
import { threadsUnreadableContract } from './threads-unreadable.ts';
import { threadsKeptToolsContract } from './threads-kept-tools.ts';
import { threadsRetryContract } from './threads-retry.ts';
import { threadsUsageContract } from './threads-usage.ts';

/** What the record promises to whoever speaks to it, in process or over a wire. `open` gives an empty one each time. */
export function threadsContract(test: TestFn, name: string, open: OpenThreads, scale: Scale): void {
  const check = checkOn(test, name, open);

  // Accepting

  check('the first run of a thread makes it', async (t, threads) => {
    const reply = await accept(threads, 'r1', { threadName: 'Tea', metadataJson: bytes('{"k":1}') });
    t.like(reply, { runId: 'r1', threadId: 't1', isNewThread: true, status: 'queued', runnable: true });
    const thread = await threads.getThread(thread1, call());
    t.like(thread, { threadId: 't1', threadName: 'Tea', runId: 'r1' });
    t.is(text(thread.metadataJson), '{"k":1}');
    t.true(thread.createdAt > 0 && thread.updatedAt >= thread.createdAt);
  });

  check('a run on a known thread leaves its name and metadata', async (t, threads) => {
    await finishedTurn(threads, 'r1', { threadName: 'Tea' });
    const reply = await accept(threads, 'r2', { threadName: 'Coffee', metadataJson: bytes('{}') });
    t.like(reply, { isNewThread: false, runnable: true });
    const thread = await threads.getThread(thread1, call());
    t.like(thread, { threadName: 'Tea', runId: 'r2' });
    t.false('metadataJson' in thread);
  });

  check('the same run accepted again changes nothing and gives the same reply', async (t, threads) => {
    const first = await accept(threads, 'r1');
    const before = await threads.getThread(thread1, call());
    t.deepEqual(await accept(threads, 'r1', { messages: [user('m9')] }), { ...first, existed: true });
    t.deepEqual(await threads.getThread(thread1, call()), before);
    await claim(threads, 'r1');
    t.like(await accept(threads, 'r1'), { status: 'running', runnable: false, isNewThread: true });
    await commit(threads, 'r1', 1, { end: completed });
    t.like(await accept(threads, 'r1'), { status: 'completed', runnable: false });
    t.deepEqual(await logOf(threads), ['m-r1']);
  });

  check('ids that are wrongly said to be new are found out by what stands on record', async (t, threads) => {
    const areNew = { runIdIsNew: true, threadIdIsNew: true, claim: { workerId: 'w1' } };
    const first = await accept(threads, 'r1', areNew);
    t.true(first.isNewThread);
    const again = await accept(threads, 'r1', areNew);
    t.deepEqual([again.isNewThread, again.status, again.claimed], [true, 'running', undefined]);
    const behind = await accept(threads, 'r2', areNew);
    t.deepEqual([behind.isNewThread, behind.status], [false, 'queued']);
    await refused(t, accept(threads, 'r3', { ...areNew, multitaskStrategy: 'reject' }), 'Conflict');
    await commit(threads, 'r1', first.claimed?.epoch ?? 0, { next: [], end: completed });
    t.is((await claim(threads, 'r2')).epoch, (first.claimed?.epoch ?? 0) + 1);
  });

  check('a run of another thread is not accepted under the same id', async (t, threads) => {
    await accept(threads, 'r1');
    await refused(t, accept(threads, 'r1', { threadId: 't2' }), 'Conflict');
    await refused(t, threads.getThread({ owner, threadId: 't2' }, call()), 'NotFound');
  });

  check('the same run accepted many times at once is one run', async (t, threads) => {
    const replies = await Promise.all(Array.from({ length: 20 }, async () => accept(threads, 'r1')));
    t.is(new Set(replies.map(({ existed: _, ...reply }) => JSON.stringify(reply))).size, 1);
    t.is(replies.filter(({ existed }) => existed !== true).length, 1);
    await claim(threads, 'r1');
    await commit(threads, 'r1', 1, { end: completed });
    t.deepEqual(await logOf(threads), ['m-r1']);
  });

  check('input stands in no log before its run is claimed', async (t, threads) => {
    await accept(threads, 'r1');
    await accept(threads, 'r2');
    t.deepEqual(await logOf(threads), []);
    await claim(threads, 'r1');
    t.deepEqual(await logOf(threads), ['m-r1']);
    await commit(threads, 'r1', 1, { messages: [assistant('a1')], end: completed });
    await claim(threads, 'r2');
    t.deepEqual(await logOf(threads), ['m-r1', 'a1', 'm-r2']);
  });

  check('while a run is under way, reject is a conflict that leaves no trace', async (t, threads) => {
    await accept(threads, 'r1');
    await refused(t, accept(threads, 'r2', { multitaskStrategy: 'reject' }), 'Conflict');
    await refused(t, threads.getRun({ owner, runId: 'r2' }, call()), 'NotFound');
    t.like(await threads.getThread(thread1, call()), { runId: 'r1' });
    await claim(threads, 'r1');
    t.is((await commit(threads, 'r1', 1, { end: completed })).nextRunId, undefined);
    t.true((await accept(threads, 'r2', { multitaskStrategy: 'reject' })).runnable);
  });

  check('a run that names the newest one of its thread is accepted only behind that', async (t, threads) => {
    await accept(threads, 'r1');
    t.is((await accept(threads, 'r2', { newestRunId: 'r1' })).status, 'queued');
    const error = await accept(threads, 'r3', { newestRunId: 'r1' }).catch((thrown: unknown) => thrown);
    t.true(isServiceError(error, 'Conflict') && error.details[0]?.type === 'newer_run');
    await refused(t, threads.getRun({ owner, runId: 'r3' }, call()), 'NotFound');
    t.like(await threads.getThread(thread1, call()), { runId: 'r2' });
    await refused(t, accept(threads, 'r4', { threadId: 't2', newestRunId: 'r1' }), 'Conflict');
    t.is((await accept(threads, 'r2', { newestRunId: 'r1' })).status, 'queued');
  });

  check('a page of messages begins behind the one that it names, in either order', async (t, threads) => {
    await threads.createThread(thread1, call());
    await threads.addMessages({ ...thread1, messages: ['a', 'b', 'c', 'd'].map((id) => user(id)) }, call());
    const page = async (afterMessageId: string, more: object = {}): Promise<unknown[]> => {
      const asked = { ...thread1, limit: 2, offset: 0, afterMessageId, ...more };
      return idsIn((await threads.listMessages(asked, call())).messagesJson);
    };
    t.deepEqual([await page('a'), await page('c'), await page('d')], [['b', 'c'], ['d'], []]);
    t.deepEqual([await page('d', { newestFirst: true }), await page('a', { newestFirst: true })], [['c', 'b'], []]);
    await refused(t, page('none'), 'NotFound');
    const { cursor = '' } = await threads.listMessages(
      { ...thread1, limit: 1, offset: 0, afterMessageId: 'a' },
      call(),
    );
    const next = await threads.listMessages({ ...thread1, limit: 9, offset: 0, cursor }, call());
    t.deepEqual(idsIn(next.messagesJson), ['c', 'd']);
  });

  check('waiting runs get the thread in order of acceptance', async (t, threads) => {
    const ids = ['r5', 'r1', 'r4', 'r2'];
    for (const id of ids) t.is((await accept(threads, id)).runnable, id === 'r5');
    const order: string[] = [];
    for (let next: string | undefined = 'r5'; next !== undefined;) {
      order.push(next);
      t.true((await threads.getRun({ owner, runId: next }, call())).runnable);
      const { epoch } = await claim(threads, next);
      next = (await commit(threads, next, epoch, { end: completed })).nextRunId;
    }
    t.deepEqual(order, ids);
  });

  check('a waiting run cannot be claimed before its turn', async (t, threads) => {
    await accept(threads, 'r1');
    await accept(threads, 'r2');
    await refused(t, claim(threads, 'r2'), 'Stale');
    t.deepEqual(await logOf(threads), []);
  });

  const { waitingRuns } = scale;
  const isFull = waitingRuns === sizes.queuedRuns;
  check(`${isFull ? 'no more than ' : ''}${String(waitingRuns)} runs wait for one thread`, async (t, threads) => {
    await accept(threads, 'first');
    const replies = await Promise.all(
      Array.from({ length: waitingRuns }, async (_, index) => accept(threads, `r${String(index)}`, noInput)),
    );
    t.true(replies.every(({ status, runnable }) => status === 'queued' && !runnable));
    if (!isFull) return;
    const error = await refused(t, accept(threads, 'last', noInput), 'Conflict');
    t.regex(error, /1000 runs waiting/);
    t.like(await accept(threads, 'elsewhere', { ...noInput, threadId: 't2' }), { runnable: true });
  });

  check('accept with a claim gives an idle thread to the worker in the same write', async (t, threads) => {
    const reply = await accept(threads, 'r1', { claim: { workerId: 'w1' } });
    t.like(reply, { status: 'running', runnable: false, isNewThread: true });
    t.like(reply.claimed, { epoch: 1, step: 0, runId: 'r1', isNewThread: true, next: [], openCalls: [] });
    t.deepEqual(idsIn(reply.claimed?.state?.contextJson), ['m-r1']);
    t.deepEqual(await logOf(threads), ['m-r1']);
    await refused(t, claim(threads, 'r1'), 'Stale');
    t.is((await commit(threads, 'r1', 1, { end: completed })).nextRunId, undefined);
  });

  check(
    'a run is taken from a dead worker, goes on after its last commit, and the old worker commits no more',
    async (t, threads) => {
      const first = await acceptAndClaim(threads, 'r1');
      await refused(t, claim(threads, 'r1'), 'Stale');
      await commit(threads, 'r1', first.epoch, {
        messages: [assistant('m1')],
        progressJson: bytes('{"a":1}'),
        next: ['b'],
      });
      const second = await claim(threads, 'r1', { takeoverEpoch: first.epoch });
      t.like(second, { isTakeover: true, step: 1, next: ['b'], appended: [], attempt: 1 });
      t.true(second.epoch > first.epoch);
      t.deepEqual(idsIn(second.outputJson), ['m1']);
      t.is(text(second.progressJson), '{"a":1}');
      t.deepEqual(idsIn(second.state?.contextJson), ['m-r1', 'm1']);
      await refused(t, commit(threads, 'r1', first.epoch, { step: 1 }), 'Stale');
      await commit(threads, 'r1', second.epoch, { step: 1, end: completed });
      t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'completed');
    },
  );

  check(
    'a run claimed three times without a commit is given up, with the reason, and the next one goes on',
    async (t, threads) => {
      await acceptAndClaim(threads, 'r1');
      await accept(threads, 'r2');
      t.is((await claim(threads, 'r1', { takeoverEpoch: 1 })).attempt, 2);
      t.is((await claim(threads, 'r1', { takeoverEpoch: 2 })).attempt, 3);
      const last = await claim(threads, 'r1', { takeoverEpoch: 3 });
      t.regex(last.givenUp?.message ?? '', /^the run was claimed 3 times and committed nothing$/);
      t.is(last.nextRunId, 'r2');
      t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'failed' });
      t.like(await claim(threads, 'r2'), { runId: 'r2', attempt: 1 });
    },
  );

  check('a run that is given up names the nodes at which each of its claims began', async (t, threads) => {
    const nodes = { names: ['a', 'b', 'sub', 'sub/c'], first: ['a'] };
    const why = 'the run was claimed 3 times and committed nothing';
    const givenUp = async (runId: string, epoch: number): Promise<object | undefined> => {
      for (let taken = epoch; ;) {
        const claimed = await claim(threads, runId, { nodes, takeoverEpoch: taken });
        if (claimed.givenUp) return claimed.givenUp;
        taken = claimed.epoch;
      }
    };
    const first = await acceptAndClaim(threads, 'r1');
    const atFirst = { code: 'Internal', message: `${why}: it stood at node "a"`, node: 'a' };
    t.deepEqual(await givenUp('r1', first.epoch), atFirst);
    t.deepEqual((await threads.getRun({ owner, runId: 'r1' }, call())).end?.error, atFirst);

    const { epoch } = await acceptAndClaim(threads, 'r2');
    await commit(threads, 'r2', epoch, { next: ['b', 'sub', 'sub/c'] });
    t.deepEqual(await givenUp('r2', epoch), {
      code: 'Internal',
      message: `${why}: it stood at the nodes "b", "sub/c"`,
    });
  });

  check('a run that has one claim left is not given to a worker that leaves it that claim', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    t.like(await claim(threads, 'r1', { takeoverEpoch: epoch, notLast: true }), { attempt: 2, lastClaim: undefined });
    const left = await claim(threads, 'r1', { takeoverEpoch: 2, notLast: true });
    t.true(left.lastClaim);
    t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'running', epoch: 2 });
    const last = await claim(threads, 'r1', { takeoverEpoch: 2 });
    t.is(last.attempt, 3);
    t.truthy((await claim(threads, 'r1', { takeoverEpoch: last.epoch, notLast: true })).givenUp);
  });

  check('a run that its worker gives back goes on with another, at the cost of no claim', async (t, threads) => {
    const first = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', first.epoch, { messages: [assistant('m1')], next: ['n'] });
    for (let round = 0, { epoch } = first; round < 5; round++) {
      await threads.releaseRun({ owner, threadId: 't1', runId: 'r1', epoch }, call());
      t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'queued', runnable: true });
      await t.throwsAsync(commit(threads, 'r1', epoch, { step: 1 }), { code: 'Stale' });
      await t.throwsAsync(threads.releaseRun({ owner, threadId: 't1', runId: 'r1', epoch }, call()), { code: 'Stale' });
      const again = await claim(threads, 'r1');
      t.like(again, { isTakeover: true, step: 1, attempt: 1, next: ['n'] });
      ({ epoch } = again);
    }
    t.is((await messagesOf(threads)).length, 2);
  });

  check('accept with a claim on a busy thread only queues', async (t, threads) => {
    await accept(threads, 'r1', { claim: { workerId: 'w1' } });
    const reply = await accept(threads, 'r2', { claim: { workerId: 'w1' } });
    t.like(reply, { status: 'queued', runnable: false });
    t.is(reply.claimed, undefined);
  });

  // Claiming

  check('a claim gives everything a worker needs', async (t, threads) => {
    await accept(threads, 'r1', { granularity: 'full', optionsJson: bytes('{"o":1}') });
    const claimed = await claim(threads, 'r1');
    t.like(claimed, { runId: 'r1', threadId: 't1', requestId: 'q', granularity: 'full', epoch: 1, step: 0 });
    t.like(claimed, { isNewThread: true, replaced: false, unmatchedAnswers: [], next: [], openCalls: [] });
    t.is(text(claimed.optionsJson), '{"o":1}');
    t.deepEqual(entriesOf(claimed.appended), ['m-r1']);
    t.deepEqual(idsIn(claimed.state?.contextJson), ['m-r1']);
    t.is(claimed.state?.version, claimed.version);
    t.true(claimed.version > claimed.previousVersion);
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'running');
  });

  check('every claim of a thread has a higher epoch', async (t, threads) => {
    const first = await finishedTurn(threads, 'r1');
    const second = await finishedTurn(threads, 'r2');
    t.true(second.epoch > first.epoch);
  });

  check('of many who claim a run at once exactly one has it', async (t, threads) => {
    await accept(threads, 'r1');
    const claims = await Promise.allSettled(Array.from({ length: 20 }, async () => claim(threads, 'r1')));
    t.is(claims.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const each of claims) if (each.status === 'rejected') t.true(isServiceError(each.reason, 'Stale'));
    t.deepEqual(await logOf(threads), ['m-r1']);
  });

  check('a claim that knows the version is told no state, one that knows another is', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    await accept(threads, 'r2');
    const unchanged = await claim(threads, 'r2', { knownVersion: version });
    t.is(unchanged.previousVersion, version);
    t.false('state' in unchanged);
    await commit(threads, 'r2', unchanged.epoch, { fields: { a: bytes('1') }, end: completed });
    const changed = await accept(threads, 'r3', { claim: { workerId: 'w', knownVersion: version } });
    t.deepEqual(idsIn(changed.claimed?.state?.contextJson), ['m-r1', 'm-r2', 'm-r3']);
    t.is(text(changed.claimed?.state?.fields['a']), '1');
  });

  check('a direct write between two runs is seen by the version', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    await threads.addMessages({ ...thread1, messages: [user('m2')] }, call());
    const { claimed } = await accept(threads, 'r2', { claim: { workerId: 'w', knownVersion: version } });
    t.deepEqual(idsIn(claimed?.state?.contextJson), ['m-r1', 'm2', 'm-r2']);
  });

  check('input whose id stands in the log replaces it in place', async (t, threads) => {
    await accept(threads, 'r1', { messages: [user('a'), user('b')] });
    await claim(threads, 'r1');
    await commit(threads, 'r1', 1, { end: completed });
    await accept(threads, 'r2', { messages: [user('a', 'again'), user('c')] });
    const claimed = await claim(threads, 'r2');
    t.true(claimed.replaced);
    t.deepEqual(idsIn(claimed.state?.contextJson), ['a', 'b', 'c']);
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'a' }, call())), 'again');
  });

  check('an id given twice in one input is one message, the later one', async (t, threads) => {
    await accept(threads, 'r1', { messages: [user('a', 'one'), user('b'), user('a', 'two')] });
    await claim(threads, 'r1');
    t.deepEqual(await logOf(threads), ['a', 'b']);
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'a' }, call())), 'two');
  });

  // Tools of the caller

  check('answers close their calls, and the run goes on where the one before stood', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c1', 'c2'));
    const claimed = await claim(threads, 'r2');
    t.like(claimed, { next: ['tools'], openCalls: [], resumes: 'r1', unmatchedAnswers: [] });
    t.deepEqual(entriesOf(claimed.appended), ['answer-c1', 'answer-c2']);
    await commit(threads, 'r2', claimed.epoch, { end: completed });
    t.like(await threads.getRun({ owner, runId: 'r2' }, call()), { resumes: 'r1', status: 'completed' });
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'interrupted');
  });

  check('a run that is answered names the run that answers it from the acceptance on', async (t, threads) => {
    const resumedBy = async (runId: string) => (await threads.getRun({ owner, runId }, call())).resumedBy;
    await interruptedTurn(threads, 'r1');
    t.is(await resumedBy('r1'), undefined);
    await accept(threads, 'r2', answering('c2'));
    t.is(await resumedBy('r1'), 'r2');
    const { openCalls, next, epoch } = await claim(threads, 'r2');
    await commit(threads, 'r2', epoch, { openCalls, next, end: interrupted });
    await accept(threads, 'r3', answering('c1'));
    await claim(threads, 'r3');
    t.deepEqual([await resumedBy('r1'), await resumedBy('r2'), await resumedBy('r3')], ['r2', 'r3', undefined]);
    const { runs } = await threads.listOwnRuns({ owner, limit: 10, statuses: [] }, call());
    t.deepEqual(runs.map(({ runId, resumedBy: by }) => [runId, by]).toSorted(), [
      ['r1', 'r2'],
      ['r2', 'r3'],
      ['r3', undefined],
    ]);
  });

  check('a new user message answers nothing: no run names it', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2');
    await claim(threads, 'r2');
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).resumedBy, undefined);
  });

  check('an answer that is stopped before it began leaves its place to the next one', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c1', 'c2'));
    await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    await accept(threads, 'r3', answering('c1', 'c2'));
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).resumedBy, 'r3');
  });

  check('answers to some calls leave the others open, run after run', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c2'));
    const claimed = await claim(threads, 'r2');
    t.like(claimed, { next: ['tools'], openCalls: [{ callId: 'c1', name: 'look' }], resumes: 'r1' });
    const { openCalls, next, epoch } = claimed;
    await commit(threads, 'r2', epoch, { openCalls, next, end: interrupted });
    await accept(threads, 'r3', answering('c1'));
    t.like(await claim(threads, 'r3'), { next: ['tools'], openCalls: [], resumes: 'r2' });
  });

  check('a new user message answers the open calls as cancelled and begins anew', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2');
    const claimed = await claim(threads, 'r2');
    t.like(claimed, { next: [], openCalls: [] });
    t.is(claimed.appended.length, 3);
    t.is(claimed.appended[2]?.messageId, 'm-r2');
    const [first] = (await messagesOf(threads)).slice(2) as { role: string; content: Record<string, unknown>[] }[];
    t.is(first?.role, 'tool');
    t.like(first?.content[0], { type: 'tool_result', call_id: 'c1', is_error: true, status: 'cancelled' });
  });

  check('an answer beside a new message keeps its result and cancels the rest', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', { ...answering('c1'), messages: [answer('c1'), user('u')], hasNewInput: true });
    const claimed = await claim(threads, 'r2');
    t.like(claimed, { openCalls: [], unmatchedAnswers: [] });
    t.is(claimed.appended.length, 3);
    t.deepEqual(
      (await messagesOf(threads)).slice(2).map((message) => resultOf(message)),
      [
        ['c2', true],
        ['c1', false],
        [undefined, undefined],
      ],
    );
  });

  check('an answer to a call nobody made is refused at once on an idle thread', async (t, threads) => {
    const error = await refused(t, accept(threads, 'r1', answering('c9')), 'BadRequest');
    t.regex(error, /"c9"/);
    await refused(t, threads.getThread(thread1, call()), 'NotFound');
    await interruptedTurn(threads, 'r1');
    await refused(t, accept(threads, 'r2', answering('c1', 'c9')), 'BadRequest');
    t.like(await threads.getThread(thread1, call()), { runId: 'r1' });
  });

  check('an answer that waited and has no call left appends nothing and takes nothing', async (t, threads) => {
    await accept(threads, 'r1');
    await accept(threads, 'r2', answering('c9'));
    await accept(threads, 'r3', answering('c1', 'c2'));
    await claim(threads, 'r1');
    const end = { openCalls: twoCalls, next: ['tools'], messages: [calling], end: interrupted };
    t.is((await commit(threads, 'r1', 1, end)).nextRunId, 'r2');
    const lost = await claim(threads, 'r2');
    t.like(lost, { unmatchedAnswers: ['c9'], appended: [], openCalls: twoCalls, next: ['tools'] });
    t.deepEqual(await logOf(threads), ['m-r1', 'calling']);
    const { openCalls, next, epoch } = lost;
    await commit(threads, 'r2', epoch, { openCalls, next, end: { ...completed, status: 'failed' } });
    t.like(await claim(threads, 'r3'), { unmatchedAnswers: [], openCalls: [], next: ['tools'], resumes: 'r1' });
  });

  // A graph that was changed while a thread waited

  check(
    'answers for a node that the graph no longer has are refused, and the thread waits as before',
    async (t, threads) => {
      await interruptedTurn(threads, 'r1');
      const before = await threads.getState(thread1, call());
      const nodes = { names: ['agent', 'other'], first: [] };
      const error = await refused(t, accept(threads, 'r2', { ...answering('c1', 'c2'), nodes }), 'Conflict');
      t.regex(error, /waits at node "tools", which the agent no longer has: send a new user message, or fork/);
      t.deepEqual(await threads.getState(thread1, call()), before);
      t.like(await threads.getThread(thread1, call()), { runId: 'r1' });
      await accept(threads, 'r3', { ...answering('c1', 'c2'), nodes: { names: ['tools'], first: [] } });
      t.like(await claim(threads, 'r3'), { next: ['tools'], resumes: 'r1' });
    },
  );

  check('a new user message is taken whatever nodes the graph has, and begins at its start', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', { nodes: { names: ['agent'], first: [] } });
    t.like(await claim(threads, 'r2', { nodes: { names: ['agent'], first: [] } }), { next: [], openCalls: [] });
  });

  check('a run whose node is gone by its claim fails, and the thread waits as before', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c1', 'c2'));
    const log = await logOf(threads);
    const { givenUp } = await claim(threads, 'r2', { nodes: { names: ['agent'], first: [] } });
    t.is(givenUp?.code, 'Conflict');
    t.regex(givenUp?.message ?? '', /"tools"/);
    t.like(await threads.getRun({ owner, runId: 'r2' }, call()), { status: 'failed' });
    t.deepEqual(await logOf(threads), log);
    await accept(threads, 'r3', answering('c1', 'c2'));
    t.like(await claim(threads, 'r3'), { next: ['tools'], resumes: 'r1', openCalls: [] });
  });

  // Committing

  check('a commit writes fields and messages, and raises version and step', async (t, threads) => {
    await accept(threads, 'r1');
    const { version } = await claim(threads, 'r1');
    const fields = { a: bytes('1'), b: bytes('"x"') };
    const first = await commit(threads, 'r1', 1, { fields, messages: [assistant('a1')] });
    t.true(first.version > version);
    const second = await commit(threads, 'r1', 1, { step: 1, fields: { a: bytes('2') }, messages: [assistant('a2')] });
    t.true(second.version > first.version);
    const state = await threads.getState(thread1, call());
    t.is(state.version, second.version);
    t.deepEqual(fieldsOf(state), { a: '2', b: '"x"' });
    t.deepEqual(idsIn(state.contextJson), ['m-r1', 'a1', 'a2']);
    t.deepEqual(await logOf(threads), ['m-r1', 'a1', 'a2']);
  });

  for (const [what, part] of [
    ['an older epoch', { epoch: 0 }],
    ['an epoch that never was', { epoch: 2 }],
    ['a step that is committed', { step: 0 }],
    ['a step ahead', { step: 2 }],
    ['another run', { runId: 'r2' }],
    ['an absent run', { runId: 'r9' }],
    ['another owner', { owner: 'u:bob' }],
    ['another thread', { threadId: 't2' }],
  ] as const) {
    check(`a commit of ${what} is stale and writes nothing`, async (t, threads) => {
      await accept(threads, 'r1');
      await accept(threads, 'r2');
      await claim(threads, 'r1');
      await commit(threads, 'r1', 1, {});
      const request = { step: 1, fields: { a: bytes('1') }, messages: [assistant('a1')], end: completed, ...part };
      await refused(t, commit(threads, 'r1', 1, request), 'Stale');
      t.deepEqual(fieldsOf(await threads.getState(thread1, call())), {});
      t.deepEqual(await logOf(threads), ['m-r1']);
      t.is((await commit(threads, 'r1', 1, { step: 1, end: completed })).nextRunId, 'r2');
    });
  }

  check('of many commits of one step exactly one is taken', async (t, threads) => {
    await accept(threads, 'r1');
    await claim(threads, 'r1');
    const commits = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) =>
        commit(threads, 'r1', 1, { messages: [assistant(`a${String(index)}`)] }),
      ),
    );
    t.is(commits.filter(({ status }) => status === 'fulfilled').length, 1);
    t.is((await logOf(threads)).length, 2);
  });

  check('a commit that replaces does so in place, and may add beside', async (t, threads) => {
    await accept(threads, 'r1', { messages: [user('a'), user('b')] });
    await claim(threads, 'r1');
    const messages = [user('a', 'replaced'), assistant('c')];
    await commit(threads, 'r1', 1, { messages, replacesMessages: true, removedFromContext: ['b'] });
    t.deepEqual(await logOf(threads), ['a', 'b', 'c']);
    t.deepEqual(idsIn((await threads.getState(thread1, call())).contextJson), ['a', 'c']);
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'a' }, call())), 'replaced');
  });

  check('an ended run says how, and commits nothing more', async (t, threads) => {
    await accept(threads, 'r1');
    await claim(threads, 'r1');
    const error = { code: 'NodeFailed', message: 'no', node: 'a' } as const;
    const end = { status: 'failed', iterations: 4, recursionLimitReached: true, error } as const;
    await commit(threads, 'r1', 1, { end });
    const run = await threads.getRun({ owner, runId: 'r1' }, call());
    t.like(run, { status: 'failed', runnable: false });
    t.deepEqual(run.end, end);
    await refused(t, commit(threads, 'r1', 1, { step: 1 }), 'Stale');
  });

  check('an interrupted end keeps where to go on, a completed one does not', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c1', 'c2'));
    const claimed = await claim(threads, 'r2');
    t.deepEqual(claimed.next, ['tools']);
    await commit(threads, 'r2', claimed.epoch, { next: ['tools'], end: completed });
    const { claimed: third } = await accept(threads, 'r3', { claim: { workerId: 'w' } });
    t.deepEqual(third?.next, []);
    t.is(third?.resumes, undefined);
  });

  // Ending from outside

  check('an ended run cannot be committed by its worker, and the next one has the thread', async (t, threads) => {
    await accept(threads, 'r1');
    await accept(threads, 'r2');
    await claim(threads, 'r1');
    const reply = await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.like(reply, { status: 'stopped', endedNow: true, nextRunId: 'r2' });
    await refused(t, commit(threads, 'r1', 1, { end: completed }), 'Stale');
    const { epoch } = await claim(threads, 'r2');
    await refused(t, commit(threads, 'r1', epoch, { end: completed }), 'Stale');
    await commit(threads, 'r2', epoch, { end: completed });
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'stopped');
  });

  check('an ended run stays as it ended', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const reply = await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.like(reply, { status: 'completed', endedNow: false });
  });

  check('a waiting run that is ended never has its turn', async (t, threads) => {
    for (const runId of ['r1', 'r2', 'r3']) await accept(threads, runId);
    const error = { code: 'Internal', message: 'gone' } as const;
    const reply = await threads.endRun({ owner, runId: 'r2', status: 'failed', error }, call());
    t.like(reply, { status: 'failed', endedNow: true });
    t.deepEqual((await threads.getRun({ owner, runId: 'r2' }, call())).end?.error, error);
    await claim(threads, 'r1');
    t.is((await commit(threads, 'r1', 1, { end: completed })).nextRunId, 'r3');
  });

  check('a run that is ended only while it waits for a worker is Stale once it has one', async (t, threads) => {
    for (const runId of ['r1', 'r2']) await accept(threads, runId);
    const expire = (runId: string): ReturnType<Threads['endRun']> =>
      threads.endRun({ owner, runId, status: 'failed', onlyWaiting: true }, call());
    await refused(t, expire('r2'), 'Stale');
    t.like(await expire('r1'), { status: 'failed', endedNow: true, nextRunId: 'r2' });
    t.false((await expire('r1')).endedNow);
    await claim(threads, 'r2');
    await refused(t, expire('r2'), 'Stale');
    t.is((await threads.getRun({ owner, runId: 'r2' }, call())).status, 'running');
  });

  check('a run that is ended before its claim leaves the thread waiting as it was', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await accept(threads, 'r2', answering('c1', 'c2'));
    await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    await accept(threads, 'r3', answering('c1', 'c2'));
    t.like(await claim(threads, 'r3'), { next: ['tools'], resumes: 'r1', openCalls: [] });
  });

  check('commit and end at once: one of them decides', async (t, threads) => {
    await accept(threads, 'r1');
    await claim(threads, 'r1');
    const [committed, ended] = await Promise.allSettled([
      commit(threads, 'r1', 1, { end: completed }),
      threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call()),
    ]);
    const { status } = await threads.getRun({ owner, runId: 'r1' }, call());
    t.is(status, committed.status === 'fulfilled' ? 'completed' : 'stopped');
    t.is(ended.status === 'fulfilled' ? ended.value.endedNow : undefined, committed.status === 'rejected');
  });

  check('an absent run cannot be ended', async (t, threads) => {
    await refused(t, threads.endRun({ owner, runId: 'r9', status: 'stopped' }, call()), 'NotFound');
  });

  check('open runs of every owner are listed page by page, from either end', async (t, threads) => {
    for (const threadId of ['t1', 't2', 't3']) {
      await accept(threads, `a-${threadId}`, { threadId });
      await accept(threads, `b-${threadId}`, { threadId, owner: 'u:bob' });
    }
    await accept(threads, 'c-waits');
    await claim(threads, 'a-t1');
    const list = async (newestFirst: boolean): Promise<readonly string[]> => {
      const runs: string[] = [];
      for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
        const order = newestFirst ? { newestFirst } : {};
        const page = await threads.listOpenRuns(
          { limit: 2, ...order, ...(cursor === undefined ? {} : { cursor }) },
          call(),
        );
        runs.push(...page.runs.map((each) => `${each.owner} ${each.runId} ${each.status} ${String(each.runnable)}`));
        ({ cursor } = page);
      }
      return runs;
    };
    const runs = await list(false);
    t.deepEqual(await list(true), runs.toReversed());
    t.deepEqual(runs, [
      'u:ada a-t1 running true',
      'u:ada a-t2 queued true',
      'u:ada a-t3 queued true',
      'u:bob b-t1 queued true',
      'u:bob b-t2 queued true',
      'u:bob b-t3 queued true',
      'u:ada c-waits queued false',
    ]);
  });

  check(
    'the priority of a run is kept for those that enqueue it, and is shown wherever the run is',
    async (t, threads) => {
      await accept(threads, 'r1', { priority: 9 });
      await accept(threads, 'r2', { priority: 3 });
      await accept(threads, 'other', { threadId: 't2' });
      const open = async (): Promise<unknown> =>
        (await threads.listOpenRuns({ limit: 10 }, call())).runs.map(({ runId, priority }) => [runId, priority]);
      t.deepEqual(await open(), [
        ['other', undefined],
        ['r1', 9],
        ['r2', 3],
      ]);
      const { epoch } = await claim(threads, 'r1');
      await commit(threads, 'r1', epoch, { end: completed });
      t.is((await threads.getRun({ owner, runId: 'r1' }, call())).priority, 9);
      t.deepEqual(await open(), [
        ['other', undefined],
        ['r2', 3],
      ]);
      const { runs } = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
      t.deepEqual(
        runs.map(({ priority }) => priority),
        [3, 9],
      );
      const own = await threads.listOwnRuns({ owner, limit: 10, statuses: [] }, call());
      t.deepEqual(own.runs.map(({ priority }) => priority).toSorted(), [3, 9, undefined]);
    },
  );

  check('a run has a number in its thread, in order of acceptance, and keeps it', async (t, threads) => {
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    await accept(threads, 'r2');
    await accept(threads, 'r2');
    await accept(threads, 'elsewhere', { threadId: 't2' });
    await commit(threads, 'r1', epoch, { end: completed });
    await accept(threads, 'r3');
    const { runs } = await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call());
    t.deepEqual(runs.map(({ runId, ordinal }) => [runId, ordinal]).toSorted(), [
      ['r1', 1],
      ['r2', 2],
      ['r3', 3],
    ]);
    t.is((await threads.getRun({ owner, runId: 'r2' }, call())).ordinal, 2);
    t.is((await threads.getRun({ owner, runId: 'elsewhere' }, call())).ordinal, 1);
    const own = await threads.listOwnRuns({ owner, limit: 10, statuses: [] }, call());
    t.deepEqual(own.runs.map(({ ordinal }) => ordinal).toSorted(), [1, 1, 2, 3]);
  });

  // Deleting

  check('from beginDelete on a thread is absent to everyone', async (t, threads) => {
    await accept(threads, 'r1', { messages: [user('m1')] });
    await accept(threads, 'r2');
    await accept(threads, 'r3');
    await claim(threads, 'r1');
    const { stoppedRunIds, stoppedRuns } = await threads.beginDelete(thread1, call());
    t.deepEqual(stoppedRunIds, ['r1', 'r2', 'r3']);
    t.deepEqual(
      stoppedRuns.map(({ runId, requestId, isNewThread }) => [runId, requestId, isNewThread]),
      [
        ['r1', 'q', true],
        ['r2', 'q', false],
        ['r3', 'q', false],
      ],
    );
    await absentToAll(t, threads, thread1);
    for (const runId of ['r1', 'r2', 'r3']) await refused(t, threads.getRun({ owner, runId }, call()), 'NotFound');
    await refused(t, threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call()), 'NotFound');
    await refused(t, accept(threads, 'r4'), 'NotFound');
    await refused(t, accept(threads, 'r1'), 'NotFound');
    await refused(t, claim(threads, 'r2'), 'Stale');
    await refused(t, commit(threads, 'r1', 1, { end: completed }), 'Stale');
    t.deepEqual((await threads.listOpenRuns({ limit: 10 }, call())).runs, []);
    t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, [thread1]);
    await threads.finishDelete(thread1, call());
    t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, []);
    await absentToAll(t, threads, thread1);
  });

  check('a deletion that stopped half way can be begun again', async (t, threads) => {
    await accept(threads, 'r1');
    await threads.beginDelete(thread1, call());
    t.deepEqual((await threads.beginDelete(thread1, call())).stoppedRunIds, ['r1']);
    await threads.finishDelete(thread1, call());
    await refused(t, threads.beginDelete(thread1, call()), 'NotFound');
  });

  check('a thread that is not marked is not removed', async (t, threads) => {
    await accept(threads, 'r1');
    await threads.finishDelete(thread1, call());
    t.is((await threads.getThread(thread1, call())).threadId, 't1');
    await threads.finishDelete({ owner, threadId: 'absent' }, call());
    t.pass();
  });

  check('a thread made again is fresh, and admits no worker of the old one', async (t, threads) => {
    await accept(threads, 'old', { threadName: 'Old' });
    const old = await claim(threads, 'old');
    await commit(threads, 'old', 1, { fields: { a: bytes('1') }, messages: [assistant('a1')] });
    const oldState = await threads.getState(thread1, call());
    await threads.beginDelete(thread1, call());
    await threads.finishDelete(thread1, call());
    t.like(await accept(threads, 'new'), { isNewThread: true });
    const fresh = await claim(threads, 'new');
    t.is(fresh.epoch, old.epoch);
    t.deepEqual(fieldsOf(fresh.state), {});
    t.deepEqual(idsIn(fresh.state?.contextJson), ['m-new']);
    await refused(t, commit(threads, 'old', 1, { step: 1 }), 'Stale');
    await refused(t, commit(threads, 'old', 1, { step: 0 }), 'Stale');
    const state = await threads.getState(thread1, call());
    t.not(state.version, oldState.version);
    t.deepEqual(fieldsOf(state), {});
    t.false('threadName' in (await threads.getThread(thread1, call())));
    t.deepEqual(await logOf(threads), ['m-new']);
  });

  // State

  check('a state is written when its version is still the one that was read', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const fields = { a: bytes('{"x":[1]}') };
    const written = await threads.writeState(
      { ...thread1, expectedVersion: version, fields, messages: [user('u1')] },
      call(),
    );
    t.true(written.version > version);
    t.deepEqual(fieldsOf(written), { a: '{"x":[1]}' });
    t.deepEqual(idsIn(written.contextJson), ['m-r1', 'u1']);
    t.deepEqual(await threads.getState(thread1, call()), written);
    const again = { ...thread1, expectedVersion: version, fields: {}, messages: [] };
    await refused(t, threads.writeState(again, call()), 'Conflict');
  });

  check(
    'a write of nothing makes a version unless it skips that, and is refused on another version all the same',
    async (t, threads) => {
      const { version } = await finishedTurn(threads, 'r1');
      const before = await threads.getState(thread1, call());
      const nothing = { ...thread1, expectedVersion: version, fields: {}, messages: [] };
      t.deepEqual(await threads.writeState({ ...nothing, skipsNothing: true, onceKey: 'k' }, call()), before);
      t.deepEqual(await threads.getState(thread1, call()), before);
      const written = await threads.writeState(nothing, call());
      t.true(written.version > version);
      await refused(t, threads.writeState({ ...nothing, skipsNothing: true }, call()), 'Conflict');
      const again = await threads.writeState({ ...nothing, skipsNothing: true, onceKey: 'k' }, call());
      t.is(again.version, version);
    },
  );

  check('of many writes on one version exactly one is taken', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const writes = await Promise.allSettled(
      Array.from({ length: 10 }, async (_, index) =>
        threads.writeState(
          { ...thread1, expectedVersion: version, fields: { a: bytes(String(index)) }, messages: [] },
          call(),
        ),
      ),
    );
    const taken = writes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    t.is(taken.length, 1);
    t.deepEqual(fieldsOf(await threads.getState(thread1, call())), fieldsOf(taken[0]));
  });

  check('a state write that is to be done once is done once, whatever came in between', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const keyed = { owner, onceKey: 'k' };
    const { at, ...begun } = await threads.beginOnce({ ...keyed, bodyHash: 'h' }, call());
    t.deepEqual(begun, { isNew: true });
    const write = { ...thread1, expectedVersion: version, messages: [], onceKey: 'k' };
    const first = await threads.writeState({ ...write, fields: { a: bytes('1') } }, call());
    await threads.addMessages({ ...thread1, messages: [user('u')] }, call());
    const again = await threads.writeState({ ...write, fields: { a: bytes('2') } }, call());
    t.deepEqual([again.version, fieldsOf(again)], [first.version, { a: '1' }]);
    t.is(text(again.contextJson), text(first.contextJson));
    t.deepEqual(await threads.beginOnce({ ...keyed, bodyHash: 'h' }, call()), { isNew: false, at });
    await threads.endOnce({ ...keyed, replyJson: bytes('{}') }, call());
    t.is(text((await threads.beginOnce({ ...keyed, bodyHash: 'h' }, call())).replyJson), '{}');
    await refused(t, threads.beginOnce({ ...keyed, bodyHash: 'other' }, call()), 'Invalid');
    t.true((await threads.beginOnce({ owner: 'u:bob', onceKey: 'k', bodyHash: 'other' }, call())).isNew);
    await threads.beginDelete(thread1, call());
    await refused(t, threads.writeState({ ...write, fields: {} }, call()), 'NotFound');
  });

  check('messages given with a state join log and context by id', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const messages = [user('m-r1', 'edited'), user('u2')];
    const state = await threads.writeState({ ...thread1, expectedVersion: version, fields: {}, messages }, call());
    t.deepEqual(idsIn(state.contextJson), ['m-r1', 'u2']);
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'm-r1' }, call())), 'edited');
  });

  check('a tool result given with a state answers its call', async (t, threads) => {
    const version = await interruptedTurn(threads, 'r1');
    const messages = [answer('c1')];
    await threads.writeState({ ...thread1, expectedVersion: version, fields: {}, messages }, call());
    await accept(threads, 'r2', answering('c2'));
    t.like(await claim(threads, 'r2'), { openCalls: [], next: ['tools'] });
  });

  check('a state that is too heavy is refused and names its bound', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const fields = { a: Buffer.alloc(sizes.state + 1, 49) };
    const error = await refused(
      t,
      threads.writeState({ ...thread1, expectedVersion: version, fields, messages: [] }, call()),
      'Invalid',
    );
    t.regex(error, new RegExp(String(sizes.state)));
  });

  check('a cleared state keeps thread and log, and forgets what it waited for', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    const before = await threads.getState(thread1, call());
    await threads.clearState(thread1, call());
    const state = await threads.getState(thread1, call());
    t.true(state.version > before.version);
    t.deepEqual(fieldsOf(state), {});
    t.is(text(state.contextJson), '[]');
    t.deepEqual(await logOf(threads), ['m-r1', 'calling']);
    await refused(t, accept(threads, 'r2', answering('c1')), 'BadRequest');
    const { claimed } = await accept(threads, 'r3', { claim: { workerId: 'w' } });
    t.like(claimed, { next: [], openCalls: [] });
    t.is(claimed?.resumes, undefined);
    t.deepEqual(idsIn(claimed?.state?.contextJson), ['m-r3']);
  });

  check('a state read while others write is one that stood', async (t, threads) => {
    await accept(threads, 'r1');
    await claim(threads, 'r1');
    const reads: Promise<State>[] = [];
    for (let step = 0; step < 30; step++) {
      const n = bytes(String(step));
      const write = commit(threads, 'r1', 1, {
        step,
        fields: { a: n, b: n },
        messages: [assistant(`a${String(step)}`)],
      });
      reads.push(threads.getState(thread1, call()));
      await write;
      reads.push(threads.getState(thread1, call()));
    }
    for (const state of await Promise.all(reads)) {
      const { a, b } = fieldsOf(state);
      t.is(a, b);
      t.is(idsIn(state.contextJson).length, a === undefined ? 1 : Number(a) + 2);
    }
  });

  // Messages

  check('messages are added to log and context, and replaced in place', async (t, threads) => {
    const { version } = await finishedTurn(threads, 'r1');
    const messages = [user('m-r1', 'edited'), user('u2')];
    const reply = await threads.addMessages({ ...thread1, messages, metadataJson: bytes('{"by":"me"}') }, call());
    t.true(reply.version > version);
    t.deepEqual(await logOf(threads), ['m-r1', 'u2']);
    t.deepEqual(idsIn((await threads.getState(thread1, call())).contextJson), ['m-r1', 'u2']);
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'm-r1' }, call())), 'edited');
  });

  check('a tool result that is added answers its call', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await threads.addMessages({ ...thread1, messages: [answer('c1')] }, call());
    await accept(threads, 'r2', answering('c2'));
    t.like(await claim(threads, 'r2'), { openCalls: [], next: ['tools'], resumes: 'r1' });
  });

  check('a deleted message is gone from log and context, with the calls it made', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await threads.deleteMessage({ ...thread1, messageId: 'calling' }, call());
    t.deepEqual(await logOf(threads), ['m-r1']);
    t.deepEqual(idsIn((await threads.getState(thread1, call())).contextJson), ['m-r1']);
    for (const again of [threads.deleteMessage, threads.getMessage])
      await refused(t, again({ ...thread1, messageId: 'calling' }, call()), 'NotFound');
    await refused(t, accept(threads, 'r2', answering('c1')), 'BadRequest');
    t.like(await acceptAndClaim(threads, 'r3'), { next: [], openCalls: [] });
  });

  check('messages are listed oldest first by offset and by cursor', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const ids = Array.from({ length: 9 }, (_, index) => `u${String(index)}`);
    await threads.addMessages({ ...thread1, messages: ids.map((id) => user(id)) }, call());
    const all = ['m-r1', ...ids];
    t.deepEqual(await pagesOfMessages(threads, 3), all);
    t.deepEqual(await pagesOfMessages(threads, 10), all);
    const page = await threads.listMessages({ ...thread1, limit: 3, offset: 8 }, call());
    t.deepEqual(idsIn(page.messagesJson), ['u7', 'u8']);
    t.false('cursor' in page);
  });

  check('messages are listed newest first by offset, by cursor and in a search', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const ids = Array.from({ length: 9 }, (_, index) => `u${String(index)}`);
    await threads.addMessages({ ...thread1, messages: ids.map((id) => user(id, `text ${id}`)) }, call());
    const newestFirst = true;
    t.deepEqual(await pagesOfMessages(threads, 3, { newestFirst }), ['m-r1', ...ids].toReversed());
    t.deepEqual(await pagesOfMessages(threads, 4, { newestFirst, search: 'TEXT' }), ids.toReversed());
    const page = await threads.listMessages({ ...thread1, limit: 3, offset: 8, newestFirst }, call());
    t.deepEqual(idsIn(page.messagesJson), ['u0', 'm-r1']);
    t.false('cursor' in page);
  });

  check(
    'a cursor of messages goes on from the end while others write, and not in the other order',
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      await threads.addMessages({ ...thread1, messages: ['a', 'b', 'c', 'd'].map((id) => user(id)) }, call());
      const asked = { ...thread1, limit: 2, offset: 0, newestFirst: true };
      const first = await threads.listMessages(asked, call());
      const cursor = first.cursor ?? '';
      await threads.deleteMessage({ ...thread1, messageId: 'c' }, call());
      await threads.addMessages({ ...thread1, messages: [user('e')] }, call());
      const rest = await threads.listMessages({ ...asked, limit: 10, cursor }, call());
      t.deepEqual([...idsIn(first.messagesJson), ...idsIn(rest.messagesJson)], ['d', 'c', 'b', 'a', 'm-r1']);
      await refused(t, threads.listMessages({ ...asked, newestFirst: false, cursor }, call()), 'Invalid');
    },
  );

  check('a cursor of messages skips and repeats nothing while the log changes', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    await threads.addMessages({ ...thread1, messages: ['a', 'b', 'c', 'd'].map((id) => user(id)) }, call());
    const first = await threads.listMessages({ ...thread1, limit: 3, offset: 0 }, call());
    await threads.deleteMessage({ ...thread1, messageId: 'a' }, call());
    await threads.addMessages({ ...thread1, messages: [user('e')] }, call());
    const cursor = first.cursor ?? '';
    const rest = await threads.listMessages({ ...thread1, limit: 10, offset: 5, cursor }, call());
    t.deepEqual([...idsIn(first.messagesJson), ...idsIn(rest.messagesJson)], ['m-r1', 'a', 'b', 'c', 'd', 'e']);
  });

  check('messages are found by their text alone, whatever the case', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const messages = [user('a', 'Green TEA'), user('b', 'coffee'), user('c', 'tea again'), user('tea', 'milk')];
    await threads.addMessages({ ...thread1, messages }, call());
    const search = async (limit: number, cursor?: string) =>
      threads.listMessages(
        { ...thread1, limit, offset: 0, search: 'tEa', ...(cursor === undefined ? {} : { cursor }) },
        call(),
      );
    t.deepEqual(idsIn((await search(10)).messagesJson), ['a', 'c']);
    const first = await search(1);
    t.deepEqual(idsIn(first.messagesJson), ['a']);
    const second = await search(1, first.cursor);
    t.deepEqual(idsIn(second.messagesJson), ['c']);
    t.is(second.cursor, undefined);
  });

  check('what is not a cursor of ours is refused', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    for (const cursor of ['', 'x', 'bnVsbA', '[]', Buffer.from('["a"]').toString('base64url')]) {
      await refused(t, threads.listMessages({ ...thread1, limit: 1, offset: 0, cursor }, call()), 'Invalid');
      await refused(t, threads.listThreads({ owner, limit: 1, offset: 0, cursor }, call()), 'Invalid');
    }
  });

  // Lists of threads

  check('threads are listed most recently updated first, page by page', async (t, threads) => {
    for (const threadId of ['t1', 't2', 't3', 't4', 't5']) {
      await finishedTurn(threads, `r-${threadId}`, { threadId });
      await passMillisecond();
    }
    await threads.addMessages({ owner, threadId: 't2', messages: [user('u')] }, call());
    const all = ['t2', 't5', 't4', 't3', 't1'];
    t.deepEqual(await pagesOfThreads(threads, 2), all);
    t.deepEqual(await pagesOfThreads(threads, 5), all);
    const page = await threads.listThreads({ owner, limit: 2, offset: 3 }, call());
    t.deepEqual(
      page.threads.map(({ threadId }) => threadId),
      ['t3', 't1'],
    );
    t.false('cursor' in page);
    t.deepEqual((await threads.listThreads({ owner: 'u:bob', limit: 2, offset: 0 }, call())).threads, []);
  });

  check('threads are found by name, id and metadata values, not by metadata keys', async (t, threads) => {
    await finishedTurn(threads, 'r1', { threadId: 'a', threadName: 'Buying TEA' });
    await finishedTurn(threads, 'r2', { threadId: 'tea-2' });
    await finishedTurn(threads, 'r3', { threadId: 'b', metadataJson: bytes('{"x":{"y":["green tea"]}}') });
    await finishedTurn(threads, 'r4', { threadId: 'c', metadataJson: bytes('{"tea":1}') });
    await finishedTurn(threads, 'r5', { threadId: 'd', threadName: 'Coffee' });
    const found = await threads.listThreads({ owner, limit: 10, offset: 0, search: 'Tea' }, call());
    t.deepEqual(found.threads.map(({ threadId }) => threadId).toSorted(), ['a', 'b', 'tea-2']);
    t.deepEqual((await pagesOfThreads(threads, 1, 'Tea')).toSorted(), ['a', 'b', 'tea-2']);
    t.deepEqual((await threads.listThreads({ owner, limit: 10, offset: 3, search: 'Tea' }, call())).threads, []);
  });

  // Who may write, and who sees

  check('while a run holds the thread, direct writes are a conflict that changes nothing', async (t, threads) => {
    await accept(threads, 'r1');
    const busy = async (): Promise<void> => {
      const state = await threads.getState(thread1, call());
      const write = { ...thread1, expectedVersion: state.version, fields: { a: bytes('1') }, messages: [] };
      await refused(t, threads.writeState(write, call()), 'Conflict');
      await refused(t, threads.clearState(thread1, call()), 'Conflict');
      await refused(t, threads.addMessages({ ...thread1, messages: [user('u')] }, call()), 'Conflict');
      t.deepEqual(await threads.getState(thread1, call()), state);
    };
    await busy();
    await claim(threads, 'r1');
    await busy();
    await refused(t, threads.deleteMessage({ ...thread1, messageId: 'm-r1' }, call()), 'Conflict');
    await commit(threads, 'r1', 1, { end: completed });
    await threads.deleteMessage({ ...thread1, messageId: 'm-r1' }, call());
    t.deepEqual(await logOf(threads), []);
  });

  check("another owner's thread is absent, in the same words as one that never was", async (t, threads) => {
    await finishedTurn(threads, 'r1');
    await absentToAll(t, threads, { owner: 'u:bob', threadId: 't1' });
    await absentToAll(t, threads, { owner: 'anon', threadId: 't1' });
    const foreign = await refused(t, threads.getThread({ owner: 'u:bob', threadId: 't1' }, call()), 'NotFound');
    await threads.beginDelete(thread1, call());
    await threads.finishDelete(thread1, call());
    t.is(await refused(t, threads.getThread({ owner: 'u:bob', threadId: 't1' }, call()), 'NotFound'), foreign);
    await refused(t, threads.getRun({ owner: 'u:bob', runId: 'r1' }, call()), 'NotFound');
    await refused(t, threads.endRun({ owner: 'u:bob', runId: 'r1', status: 'stopped' }, call()), 'NotFound');
    await refused(t, claim(threads, 'r1', { owner: 'u:bob' }), 'NotFound');
  });

  threadsRepeatsContract(test, name, { open, scale });
  threadsPagesContract(test, name, { open, scale });
  threadsPastContract(test, name, { open, scale });
  threadsRacesContract(test, name, { open, scale });
  threadsSizesContract(test, name, { open });
  threadsEndsContract(test, name, open);
  threadsSleepContract(test, name, open);
  threadsRevisionsContract(test, name, open);
  threadsAgentsContract(test, name, open);

  threadsUnreadableContract(test, name, open);
  threadsKeptToolsContract(test, name, open);
  threadsUsageContract(test, name, open);
  threadsRetryContract(test, name, open);
  threadsFusedContract(test, name, open);

  threadsFilesContract(test, name, open);
  threadsResourcesContract(test, name, open);
  threadsSearchContract(test, name, open);
  threadsFoundRunsContract(test, name, open);
  threadsOutboxContract(test, name, open);
  threadsQuestionsContract(test, name, open);
}
