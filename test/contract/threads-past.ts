import { sizes } from '@agent-workflow/kit/sizes';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import type {
  ForkThreadRequest,
  MessageEntry,
  PruneThreadRequest,
  RestoreThreadRequest,
  ListRunTraceReply,
  RunStep,
  ThreadCheckpoint,
  Threads,
} from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  answering,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  contentOf,
  entriesOf,
  finishedTurn,
  idsIn,
  interruptedTurn,
  logOf,
  owner,
  parse,
  refused,
  text,
  thread1,
  twoCalls,
  user,
} from './thread-calls.ts';
import { happening, openStory, rememberThread, type Memory, type StepChange } from './thread-story.ts';
import type { OpenThreads, Scale } from './thread-stores/threads-open.ts';
import { byLoad } from '../by-load.ts';

/** A fork takes as long as filling the thread did, give or take: its statements are other ones. */
const maxForkRatio = 8;
/** A fork that took too long is repeated: what else is tested may delay one of them, and not each. */
const forksTimed = 3;

/** What the record promises of earlier versions: reading them, forking from them, and going back to one. */
export function threadsPastContract(
  test: TestFn,
  name: string,
  { open, scale }: { readonly open: OpenThreads; readonly scale: Scale },
): void {
  const check = (
    title: string,
    body: (t: ExecutionContext, threads: Threads) => Promise<void>,
    keep?: number,
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      await using threads = await open(keep === undefined ? {} : { keep });
      await body(t, threads);
    });
  };

  // Whatever happens

  test(`${name}: whatever happens to a thread, each version reads and forks as it was, and each run's steps as committed`, async (t) => {
    t.timeout(byLoad(120_000));
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30 }), async (happenings) => {
        await using threads = await open();
        const story = openStory(t, threads);
        for (const each of happenings) await story.play(each);
        t.deepEqual(
          (await allCheckpoints(threads)).map(({ checkpointId }) => checkpointId),
          [...story.kept.keys()].reverse(),
        );
        for (const [checkpointId, memory] of story.kept) {
          t.deepEqual(await readVersion(threads, checkpointId), stateOf(memory));
          const forked = await fork(threads, checkpointId, { newThreadId: `fork-${checkpointId}` });
          t.deepEqual(await rememberThread(threads, forked.threadId), memory);
        }
        for (const [runId, steps] of story.steps)
          t.deepEqual(plain((await stepsOf(threads, runId)).map(changeOf)), plain(steps));
      }),
      { numRuns: scale.stories },
    );
  });

  // Reading

  check('checkpoints say what made them, newest first', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { nodes: ['a', 'b'], next: ['c'], at: 77 });
    await commit(threads, 'r1', epoch, { step: 1, nodes: ['c'], end: completed });
    await threads.addMessages({ ...thread1, messages: [user('u')], metadataJson: bytes('{"by":"me"}') }, call());
    const [written, last, first, input, ...rest] = await allCheckpoints(threads);
    t.deepEqual(rest, []);
    t.like(written, { source: 'update', nodes: [], next: [] });
    t.is(text(written?.metadataJson), '{"by":"me"}');
    t.false('runId' in (written ?? {}));
    t.like(last, { source: 'step', runId: 'r1', step: 1, nodes: ['c'], next: [] });
    t.like(first, { source: 'step', runId: 'r1', step: 0, nodes: ['a', 'b'], next: ['c'], createdAt: 77 });
    t.like(input, { source: 'input', runId: 'r1', nodes: [] });
    t.false('metadataJson' in (input ?? {}));
    const got = await threads.getCheckpoint({ ...thread1, checkpointId: last?.checkpointId ?? '' }, call());
    t.deepEqual(got.checkpoint, last);
  });

  check('checkpoints are paged by offset and by cursor', async (t, threads) => {
    for (const runId of ['r1', 'r2', 'r3']) await finishedTurn(threads, runId);
    const all = await allCheckpoints(threads);
    t.is(all.length, 6);
    t.deepEqual(await allCheckpoints(threads, 4), all);
    t.deepEqual(await allCheckpoints(threads, 1), all);
    const page = await threads.listCheckpoints({ ...thread1, limit: 2, offset: 5 }, call());
    t.deepEqual(page.checkpoints, all.slice(5));
    t.false('cursor' in page);
    await refused(t, threads.listCheckpoints({ ...thread1, limit: 2, offset: 0, cursor: 'x' }, call()), 'Invalid');
  });

  check('what is no checkpoint of the thread is not found, for reading and for forking', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    await finishedTurn(threads, 'r2', { threadId: 't2' });
    const checkpointId = await newestId(threads);
    const foreign = { owner: 'u:bob', threadId: 't1' };
    const ids = [
      '',
      'x',
      '0',
      '1.0',
      `0${checkpointId}`,
      `${checkpointId}0`,
      ' 1',
      '-1',
      '1e3',
      '9'.repeat(30),
      '__proto__',
    ];
    for (const id of [...ids, String(Number(checkpointId) + 1), String(Number(checkpointId) - 2)]) {
      await refused(t, threads.getCheckpoint({ ...thread1, checkpointId: id }, call()), 'NotFound');
      await refused(t, fork(threads, id), 'NotFound');
    }
    await refused(t, threads.getCheckpoint({ ...foreign, checkpointId }, call()), 'NotFound');
    await refused(t, threads.listCheckpoints({ ...foreign, limit: 1, offset: 0 }, call()), 'NotFound');
    await refused(t, fork(threads, checkpointId, foreign), 'NotFound');
    await refused(t, threads.getThread({ owner, threadId: 'fork' }, call()), 'NotFound');
    await threads.beginDelete(thread1, call());
    await refused(t, threads.getCheckpoint({ ...thread1, checkpointId }, call()), 'NotFound');
    await refused(t, fork(threads, checkpointId), 'NotFound');
  });

  check('a version read while others are made is the one that was', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const memories = new Map<string, Memory>();
    const reads: Promise<readonly [string, Omit<Memory, 'log'>]>[] = [];
    for (let step = 0; step < 40; step++) {
      const writing = commit(threads, 'r1', epoch, busyStep(step));
      const ids = [...memories.keys()];
      for (const id of [ids[0], ids[step >> 1], ids.at(-1)])
        if (id !== undefined) reads.push(readVersion(threads, id).then((memory) => [id, memory] as const));
      const { version } = await writing;
      memories.set(String(version), await rememberThread(threads));
    }
    for (const [id, state] of await Promise.all(reads)) t.deepEqual(state, stateOf(memories.get(id)));
  });

  check(
    'so many versions are kept at least, and few more',
    async (t, threads) => {
      for (let index = 0; index < 60; index++)
        await (index === 0 ? finishedTurn(threads, 'r0') : threads.clearState(thread1, call()));
      const kept = (await allCheckpoints(threads)).length;
      t.true(kept >= 5 && kept < 5 + 16, `${String(kept)} are kept`);
    },
    5,
  );

  check(
    'the versions of a run under way are kept until it has ended, however many they are',
    async (t, threads) => {
      await finishedTurn(threads, 'r0');
      const before = await rememberThread(threads);
      const { epoch } = await acceptAndClaim(threads, 'r1');
      for (let step = 0; step < 60; step++) await commit(threads, 'r1', epoch, busyStep(step));
      t.is((await stepsOf(threads, 'r1')).length, 60);
      await accept(threads, 'r2', { multitaskStrategy: 'rollback' });
      t.deepEqual(await rememberThread(threads), before);
    },
    1,
  );

  // Steps

  check('steps of a run are given from the one asked for on, as many as fit, until none comes', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    for (let step = 0; step < 70; step++) await commit(threads, 'r1', epoch, busyStep(step));
    t.deepEqual(
      (await stepsOf(threads, 'r1')).map(({ step }) => step),
      Array.from({ length: 70 }, (_, step) => step),
    );
    const { steps } = await threads.listRunSteps({ owner, runId: 'r1', fromStep: 68 }, call());
    t.deepEqual(
      steps.map(({ step }) => step),
      [68, 69],
    );
    t.deepEqual((await threads.listRunSteps({ owner, runId: 'r1', fromStep: 70 }, call())).steps, []);
    await refused(t, threads.listRunSteps({ owner, runId: 'r9', fromStep: 0 }, call()), 'NotFound');
    await refused(t, threads.listRunSteps({ owner: 'u:bob', runId: 'r1', fromStep: 0 }, call()), 'NotFound');
  });

  check('a step says what its checkpoint does, and as many are given as are asked for', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const work = { startedAt: 5, attempt: 2, inputTokens: 3, outputTokens: 4 };
    for (let step = 0; step < 5; step++) await commit(threads, 'r1', epoch, { ...busyStep(step), work });
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, limit: 5, offset: 0 }, call());
    t.deepEqual(
      (await stepsOf(threads, 'r1')).map(({ checkpointId, step, nodes, next, ...rest }) => [
        ...[checkpointId, step, nodes, next, rest.work],
      ]),
      checkpoints
        .toReversed()
        .map(({ checkpointId, step, nodes, next, ...rest }) => [checkpointId, step, nodes, next, rest.work]),
    );
    for (const [fromStep, limit, expected] of [
      [0, 1, [0]],
      [2, 2, [2, 3]],
      [4, 9, [4]],
      [3, 0, [3]],
    ] as const) {
      const { steps } = await threads.listRunSteps({ owner, runId: 'r1', fromStep, limit }, call());
      t.deepEqual(
        steps.map(({ step }) => step),
        [...expected],
      );
    }
  });

  check('the trace of a run has its steps with what went on within them, page by page', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const request = { owner, runId: 'r1', limit: 50, withContent: false };
    const traced = async (fromStep: number, rest: object = {}): Promise<ListRunTraceReply> =>
      threads.listRunTrace({ ...request, fromStep, ...rest }, call());
    const begun = await traced(0);
    t.like(begun, { steps: [], hasMore: false, uncommitted: { step: 0, nodes: [] } });
    const spansJson = bytes('{"spans":[]}');
    const contentJson = bytes('{"0":{}}');
    for (let step = 0; step < 5; step++)
      await commit(threads, 'r1', epoch, {
        ...busyStep(step),
        next: ['n'],
        ...(step % 2 === 0 && { trace: { spansJson, contentJson } }),
      });
    const { steps, hasMore, uncommitted } = await traced(0);
    t.false(hasMore);
    t.deepEqual(
      steps.map(({ step, trace }) => [step, text(trace?.spansJson), trace?.contentJson]),
      [0, 1, 2, 3, 4].map((step) => [step, step % 2 === 0 ? '{"spans":[]}' : undefined, undefined]),
    );
    t.like(uncommitted, { step: 5, nodes: ['n'], since: steps.at(-1)?.at ?? 0 });
    t.is(text((await traced(0, { withContent: true })).steps[0]?.trace?.contentJson), '{"0":{}}');
    const part = await traced(1, { limit: 2 });
    t.deepEqual([part.steps.map(({ step }) => step), part.hasMore, part.uncommitted], [[1, 2], true, undefined]);
    t.like(await traced(5), { steps: [], hasMore: false, uncommitted: { step: 5, nodes: ['n'] } });
    const plainSteps = await stepsOf(threads, 'r1');
    t.deepEqual(
      steps.map(({ checkpointId }) => checkpointId),
      plainSteps.map(({ checkpointId }) => checkpointId),
    );
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.like((await traced(0)).uncommitted, { step: 5, nodes: ['n'] }, 'it was stopped in it');
    await refused(t, threads.listRunTrace({ ...request, runId: 'r9', fromStep: 0 }, call()), 'NotFound');
    await refused(t, threads.listRunTrace({ ...request, owner: 'u:bob', fromStep: 0 }, call()), 'NotFound');
  });

  check(
    'traces that are large are given in replies that a wire can carry, and too large ones are left out',
    async (t, threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      const spansJson = Buffer.alloc(200_000, ' ');
      const contentJson = Buffer.alloc(900_000, ' ');
      for (let step = 0; step < 6; step++)
        await commit(threads, 'r1', epoch, { ...busyStep(step), trace: { spansJson, contentJson } });
      let read = 0;
      for (let replies = 0; ; replies++) {
        const { steps, hasMore } = await threads.listRunTrace(
          { owner, runId: 'r1', fromStep: read, limit: 50, withContent: true },
          call(),
        );
        t.true(steps.length >= 1);
        read += steps.length;
        if (hasMore) continue;
        t.true(replies >= 2);
        break;
      }
      t.is(read, 6);
      await commit(threads, 'r1', epoch, { ...busyStep(6), trace: { spansJson: Buffer.alloc(3_000_000, ' ') } });
      const { steps } = await threads.listRunTrace(
        { owner, runId: 'r1', fromStep: 6, limit: 1, withContent: true },
        call(),
      );
      t.deepEqual(
        steps.map(({ step, trace }) => [step, trace]),
        [[6, undefined]],
      );
    },
  );

  check('heavy steps are given in replies that a wire can carry', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const large = bytes(JSON.stringify('x'.repeat(2_000_000)));
    for (let step = 0; step < 9; step++) await commit(threads, 'r1', epoch, { step, fields: { a: large } });
    t.is((await stepsOf(threads, 'r1')).length, 9);
    t.true((await threads.listRunSteps({ owner, runId: 'r1', fromStep: 0 }, call())).steps.length < 9);
  });

  check('steps that put many large messages are given whole, in replies of a page each', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const large = 'x'.repeat(250_000);
    const put = Array.from({ length: 30 }, (_, step) => user(`m${String(step)}`, large));
    for (const [step, each] of put.entries()) await commit(threads, 'r1', epoch, { step, messages: [each] });
    let read = 0;
    let replies = 0;
    for (; ; replies += 1) {
      const { steps } = await threads.listRunSteps({ owner, runId: 'r1', fromStep: read }, call());
      if (steps.length === 0) break;
      const sum = steps.reduce((total, { messagesJson }) => total + messagesJson.byteLength, 0);
      t.true(sum <= sizes.page, `${String(sum)} bytes`);
      for (const { step, messagesJson } of steps) {
        t.is(step, read);
        t.is((parse(messagesJson) as { message_id: string }[])[0]?.message_id, put[read]?.messageId);
        read += 1;
      }
    }
    t.is(read, put.length);
    t.true(replies < put.length / 4, `${String(replies)} replies`);
  });

  // Forking

  check('a fork is a thread of its own, with the metadata of the other unless it has its own', async (t, threads) => {
    await finishedTurn(threads, 'r1', { threadName: 'Tea', metadataJson: bytes('{"k":1}') });
    const checkpointId = await newestId(threads);
    const forked = await fork(threads, checkpointId);
    t.like(forked, { threadId: 'fork', threadName: 'Tea' });
    t.is(text(forked.metadataJson), '{"k":1}');
    t.false('runId' in forked);
    const named = await fork(threads, checkpointId, {
      newThreadId: 'named',
      threadName: 'Coffee',
      metadataJson: bytes('{}'),
    });
    t.like(named, { threadName: 'Coffee' });
    t.is(text(named.metadataJson), '{}');
    const before = await rememberThread(threads);
    await finishedTurn(threads, 'r2', { threadId: 'fork' });
    t.deepEqual(await rememberThread(threads), before);
    t.deepEqual(idsIn((await threads.getState({ owner, threadId: 'fork' }, call())).contextJson), ['m-r1', 'm-r2']);
    const [, , made] = await allCheckpoints(threads, 10, 'fork');
    t.like(made, { source: 'fork' });
    t.deepEqual(parse(made?.metadataJson), { forked_from: { thread_id: 't1', checkpoint_id: checkpointId } });
    const again = await fork(threads, made?.checkpointId ?? '', { threadId: 'fork', newThreadId: 'fork-of-fork' });
    t.deepEqual(await rememberThread(threads, again.threadId), before);
  });

  check('the same fork again is the same thread; a thread that is there already is a conflict', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    await finishedTurn(threads, 'r2');
    const [newest, , older] = (await allCheckpoints(threads)).map(({ checkpointId }) => checkpointId);
    const replies = await Promise.all(Array.from({ length: 5 }, async () => fork(threads, older ?? '')));
    t.is(new Set(replies.map(({ version }) => version)).size, 1);
    t.deepEqual(await fork(threads, older ?? ''), replies[0]);
    await refused(t, fork(threads, newest ?? ''), 'Conflict');
    await refused(t, fork(threads, older ?? '', { threadName: 'another' }), 'Conflict');
    await refused(t, fork(threads, older ?? '', { newThreadId: 't1' }), 'Conflict');
    t.deepEqual(idsIn((await threads.getState({ owner, threadId: 'fork' }, call())).contextJson), ['m-r1']);
    t.deepEqual((await threads.listDeleting({ limit: 10 }, call())).threads, []);
  });

  check('a fork of a thread that waits for answers waits for them too, and can be resumed', async (t, threads) => {
    const version = await interruptedTurn(threads, 'r1');
    await finishedTurn(threads, 'r2');
    await fork(threads, String(version));
    const { claimed } = await accept(threads, 'f1', {
      threadId: 'fork',
      ...answering('c1', 'c2'),
      claim: { workerId: 'w1' },
    });
    t.like(claimed, { next: ['tools'], openCalls: [], resumes: 'r1' });
    await refused(t, accept(threads, 'r3', answering('c1')), 'BadRequest');
  });

  check('a fork made while its thread goes on is as that was, and whole as soon as it is seen', async (t, threads) => {
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    for (let step = 0; step < 10; step++)
      await commit(threads, 'r1', epoch, { step, messages: many(`s${String(step)}`, 150) });
    const { version } = await commit(threads, 'r1', epoch, busyStep(10));
    const before = await rememberThread(threads);
    let seen = 0;
    const progress = { isMade: false };
    const forking = fork(threads, String(version)).finally(() => {
      progress.isMade = true;
    });
    const watching = (async () => {
      while (!progress.isMade) {
        const forked = await rememberThread(threads, 'fork').catch(() => undefined);
        if (forked) t.deepEqual(forked, before);
        seen += 1;
        // The store answers reads at once: without a pause nobody else would have a turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let step = 11; step < 40; step++) {
      await commit(threads, 'r1', epoch, {
        ...busyStep(step),
        replacesMessages: true,
        messages: [user(`s0-${String(step)}`, 'replaced'), ...many(`n${String(step)}`, 5)],
        removedFromContext: [`s1-${String(step)}`],
      });
    }
    await forking;
    await watching;
    t.true(seen > 0);
    t.deepEqual(await rememberThread(threads, 'fork'), before);
  });

  const { forkedMessages } = scale;
  check(
    `a thread of ${String(forkedMessages)} messages is forked in the time that filling it takes`,
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      const begun = performance.now();
      for (let part = 0; part < forkedMessages / 500; part++)
        await threads.addMessages({ ...thread1, messages: many(`p${String(part)}`, 500) }, call());
      const filled = performance.now() - begun;
      const checkpointId = await newestId(threads);
      const { log } = await rememberThread(threads);
      const times: number[] = [];
      while (times.length < forksTimed && !times.some((took) => took < filled * maxForkRatio)) {
        const newThreadId = `fork-${String(times.length)}`;
        const start = performance.now();
        await fork(threads, checkpointId, { newThreadId });
        times.push(performance.now() - start);
        t.is((await rememberThread(threads, newThreadId)).log, log);
      }
      const took = Math.min(...times);
      const figures = `${took.toFixed(0)} ms, filled in ${filled.toFixed(0)} ms`;
      t.log(`${String(forkedMessages + 1)} messages forked in ${figures}`);
      t.true(took < filled * maxForkRatio, figures);
    },
  );

  // Going back

  check('a fork from the checkpoint of a message ends after what was put with it', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { messages: [assistant('a1'), assistant('a2')], next: ['b'] });
    await commit(threads, 'r1', epoch, { step: 1, messages: [assistant('b1')], end: completed });
    await threads.addMessages({ ...thread1, messages: [user('u1')] }, call());
    const expected = {
      'm-r1': ['m-r1'],
      a1: ['m-r1', 'a1', 'a2'],
      a2: ['m-r1', 'a1', 'a2'],
      b1: ['m-r1', 'a1', 'a2', 'b1'],
      u1: ['m-r1', 'a1', 'a2', 'b1', 'u1'],
    };
    const listed = await messagesIn(threads);
    t.deepEqual(
      listed.map((message) => message.message_id),
      Object.keys(expected),
    );
    for (const { message_id: messageId, checkpoint_id: checkpointId } of listed) {
      const { json } = await threads.getMessage({ ...thread1, messageId }, call());
      t.is((parse(json) as ListedMessage).checkpoint_id, checkpointId);
      await fork(threads, checkpointId ?? '', { newThreadId: `fork-${messageId}` });
      const copied = await messagesIn(threads, `fork-${messageId}`);
      t.deepEqual(
        copied.map((message) => message.message_id),
        expected[messageId as keyof typeof expected],
      );
      t.true(copied.every((message) => message.checkpoint_id === undefined));
    }
  });

  check('a message that was sent again has the checkpoint of the last sending', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    for (const id of ['a', 'b', 'a']) await threads.addMessages({ ...thread1, messages: [user(id)] }, call());
    const [newest] = await allCheckpoints(threads);
    const again = (await messagesIn(threads)).find((message) => message.message_id === 'a');
    t.is(again?.checkpoint_id, newest?.checkpointId);
    await fork(threads, again?.checkpoint_id ?? '', { newThreadId: 'fork-again' });
    t.deepEqual(
      (await messagesIn(threads, 'fork-again')).map((message) => message.message_id),
      ['m-r1', 'a', 'b'],
    );
  });

  check('a message that a rollback put back has the checkpoint of the rollback', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const replaced = { ...assistant('m-r1'), json: assistant('m-r1').json };
    await commit(threads, 'r2', epoch, { messages: [replaced], replacesMessages: true, next: ['b'] });
    await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
    const [newest] = await allCheckpoints(threads);
    t.is(newest?.source, 'rollback');
    const [first] = await messagesIn(threads);
    t.deepEqual([first?.message_id, first?.checkpoint_id], ['m-r1', newest?.checkpointId]);
  });

  check('a rollback gives back the calls and the place that the run had taken', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    const before = await rememberThread(threads);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    await commit(threads, 'r2', epoch, { messages: [user('m-r1', 'changed')], replacesMessages: true });
    t.notDeepEqual(await rememberThread(threads), before);
    const reply = await accept(threads, 'r3', { ...answering('c1'), multitaskStrategy: 'rollback' });
    t.like(reply, { stoppedRunId: 'r2', runnable: true, status: 'queued' });
    t.deepEqual(await rememberThread(threads), before);
    const claimed = await claim(threads, 'r3');
    t.like(claimed, { next: ['tools'], resumes: 'r1', openCalls: twoCalls.slice(1), replaced: false });
    t.deepEqual(entriesOf(claimed.appended), ['answer-c1']);
  });

  check('a run that was rolled back is stopped, added nothing, and commits nothing more', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const { epoch } = await acceptAndClaim(threads, 'r2');
    const { version } = await commit(threads, 'r2', epoch, { messages: [assistant('a1')], fields: { a: bytes('1') } });
    await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
    t.like(await threads.getRun({ owner, runId: 'r2' }, call()), { status: 'stopped', runnable: false });
    await refused(t, commit(threads, 'r2', epoch, { step: 1 }), 'Stale');
    await refused(t, claim(threads, 'r2', { takeoverEpoch: epoch }), 'Stale');
    await acceptAndCommit(threads, 'r3');
    t.deepEqual(await logOf(threads), ['m-r1', 'm-r3', 'a-r3']);
    t.deepEqual(idsIn((await threads.listRunMessages({ owner, runId: 'r2' }, call())).messagesJson), []);
    t.deepEqual(idsIn((await threads.listRunMessages({ owner, runId: 'r3' }, call())).messagesJson), ['a-r3']);
    t.deepEqual(await stepsOf(threads, 'r2'), []);
    await refused(t, threads.getCheckpoint({ ...thread1, checkpointId: String(version) }, call()), 'NotFound');
    t.deepEqual(
      (await allCheckpoints(threads)).map(({ source, runId }) => `${source} ${String(runId)}`),
      ['step r3', 'input r3', 'rollback r2', 'step r1', 'input r1'],
    );
    t.like(await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call()), {
      status: 'stopped',
      endedNow: false,
    });
  });

  check(
    'input that waits in the queue goes on after a rollback, behind whoever came to roll back',
    async (t, threads) => {
      const { epoch } = await acceptAndClaim(threads, 'r1');
      await accept(threads, 'r2');
      await commit(threads, 'r1', epoch, { messages: [assistant('a1')] });
      await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
      t.deepEqual(await logOf(threads), []);
      t.is(await acceptAndCommit(threads, 'r3'), 'r2');
      t.is(await acceptAndCommit(threads, 'r2'), undefined);
      t.deepEqual(await logOf(threads), ['m-r3', 'a-r3', 'm-r2', 'a-r2']);
    },
  );

  check('what another worker took over goes back with the rest of its run', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const before = await rememberThread(threads);
    const first = await acceptAndClaim(threads, 'r2');
    await commit(threads, 'r2', first.epoch, { messages: [user('m-r1', 'one')], replacesMessages: true });
    const second = await claim(threads, 'r2', { takeoverEpoch: first.epoch });
    const messages = [user('m-r1', 'two'), assistant('a2')];
    await commit(threads, 'r2', second.epoch, { step: 1, messages, replacesMessages: true, fields: { a: bytes('2') } });
    await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
    t.deepEqual(await rememberThread(threads), before);
  });

  check(
    'a rollback goes back to where the run before was interrupted to make room, not before it',
    async (t, threads) => {
      const first = await acceptAndClaim(threads, 'r1');
      await commit(threads, 'r1', first.epoch, { messages: [assistant('a1')] });
      const { claimed } = await accept(threads, 'r2', { multitaskStrategy: 'interrupt', claim: { workerId: 'w1' } });
      await commit(threads, 'r2', claimed?.epoch ?? 0, { messages: [assistant('a2')] });
      await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
      t.deepEqual(await logOf(threads), ['m-r1', 'a1']);
    },
  );

  check('a first run that is rolled back leaves an empty thread', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, { messages: [assistant('a1')], fields: { a: bytes('1') } });
    t.like(await accept(threads, 'r2', { multitaskStrategy: 'rollback' }), { isNewThread: false });
    t.deepEqual(await rememberThread(threads), { fields: {}, context: '[]', log: '[]' });
    const claimed = await claim(threads, 'r2');
    t.deepEqual(idsIn(claimed.state?.contextJson), ['m-r2']);
  });

  check(
    'a run that waits has nothing to roll back: the new one takes its place, and may be claimed at once',
    async (t, threads) => {
      await finishedTurn(threads, 'r0');
      await accept(threads, 'r1');
      const reply = await accept(threads, 'r2', { multitaskStrategy: 'rollback', claim: { workerId: 'w1' } });
      t.like(reply, { status: 'running', stoppedRunId: 'r1' });
      t.deepEqual(idsIn(reply.claimed?.state?.contextJson), ['m-r0', 'm-r2']);
      t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'stopped');
    },
  );

  // Copies

  check('a copy holds what the thread holds, and what it waits for can be answered in both', async (t, threads) => {
    await finishedTurn(threads, 'r0');
    await interruptedTurn(threads, 'r1');
    const { threadId } = await fork(threads, undefined);
    t.deepEqual(await rememberThread(threads, threadId), await rememberThread(threads));
    const [made] = await allCheckpoints(threads, 1, threadId);
    t.deepEqual(parse(made?.metadataJson), {
      forked_from: { thread_id: 't1', checkpoint_id: await newestId(threads) },
    });
    for (const [runId, of] of [
      ['r2', 't1'],
      ['r3', threadId],
    ] as const) {
      const { claimed } = await accept(threads, runId, {
        ...answering('c1', 'c2'),
        threadId: of,
        claim: { workerId: 'w1' },
      });
      t.like(claimed, { next: ['tools'], openCalls: [] });
    }
  });

  check('a copy that is asked for again is the same, also after the thread has moved on', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const made = await fork(threads, undefined);
    await finishedTurn(threads, 'r2');
    t.deepEqual(await fork(threads, undefined), made);
    await refused(t, fork(threads, await newestId(threads)), 'Conflict');
  });

  // Pruning

  check('pruning keeps the newest checkpoints, and the thread as it is', async (t, threads) => {
    for (const runId of ['r1', 'r2', 'r3']) await finishedTurn(threads, runId);
    const all = await allCheckpoints(threads);
    const before = await rememberThread(threads);
    const shown = await threads.getThread(thread1, call());
    await prune(threads, { keep: 4 });
    t.deepEqual(await allCheckpoints(threads), all.slice(0, 4));
    await prune(threads, { keep: 10 });
    t.deepEqual(await allCheckpoints(threads), all.slice(0, 4));
    const fourth = all[3]?.checkpointId ?? '';
    const past = await readVersion(threads, fourth);
    t.deepEqual(stateOf(await rememberThread(threads, (await fork(threads, fourth)).threadId)), past);
    await prune(threads);
    t.deepEqual(await allCheckpoints(threads), all.slice(0, 1));
    await refused(t, fork(threads, fourth, { newThreadId: 'late' }), 'NotFound');
    t.deepEqual(await rememberThread(threads), before);
    t.deepEqual(await threads.getThread(thread1, call()), shown);
    await finishedTurn(threads, 'r4');
    await restore(threads, all[0]?.checkpointId ?? '');
    t.deepEqual(await rememberThread(threads), before);
  });

  check('pruning by time drops what was made before it, whatever is asked to be kept beside', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    for (const at of [10, 20, 30, 40]) await commit(threads, 'r1', epoch, { step: at / 10 - 1, at });
    await commit(threads, 'r1', epoch, { step: 4, at: 50, end: completed });
    const times = async (): Promise<readonly number[]> =>
      (await allCheckpoints(threads)).map(({ createdAt }) => createdAt).filter((at) => at < 100);
    await prune(threads, { before: 25 });
    t.deepEqual(await times(), [50, 40, 30]);
    await prune(threads, { before: 45, keep: 2 });
    t.deepEqual(await times(), [50, 40]);
    await prune(threads, { before: 1000, keep: 1 });
    t.deepEqual(await times(), [50]);
  });

  check('pruning leaves what the run that holds the thread may be rolled back by', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const before = await rememberThread(threads);
    const { epoch } = await acceptAndClaim(threads, 'r2');
    for (const step of [0, 1, 2]) await commit(threads, 'r2', epoch, busyStep(step));
    await prune(threads);
    await accept(threads, 'r3', { multitaskStrategy: 'rollback' });
    t.deepEqual(await rememberThread(threads), before);
  });

  check('pruning leaves what a question waits with, and what a failed run is tried again with', async (t, threads) => {
    await interruptedTurn(threads, 'r1');
    await prune(threads);
    const { claimed } = await accept(threads, 'r2', { ...answering('c1', 'c2'), claim: { workerId: 'w1' } });
    t.like(claimed, { next: ['tools'], openCalls: [], resumes: 'r1' });
    const progressJson = bytes('{"visits":{},"failed":{"next":["tools"],"merged":true}}');
    const end = {
      ...completed,
      status: 'failed',
      error: { code: 'NodeFailed', message: 'no', node: 'tools' },
    } as const;
    await commit(threads, 'r2', claimed?.epoch ?? 0, { end, progressJson });
    await prune(threads);
    const retry = { retryOf: 'r2', messages: [], hasNewInput: false, multitaskStrategy: 'reject' } as const;
    t.like(await accept(threads, 'r3', retry), { status: 'queued' });
  });

  check('pruning that is asked for again is done once, and another owner prunes nothing', async (t, threads) => {
    for (const runId of ['r1', 'r2']) await finishedTurn(threads, runId);
    await refused(t, prune(threads, { owner: 'u:bob' }), 'NotFound');
    t.is((await allCheckpoints(threads)).length, 4);
    await prune(threads, { onceKey: 'k' });
    await finishedTurn(threads, 'r3');
    const all = await allCheckpoints(threads);
    await prune(threads, { onceKey: 'k' });
    t.deepEqual(await allCheckpoints(threads), all);
  });

  // Restores

  check(
    'a message that is put again after a restore has a new place: both versions can be read, forked and restored',
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      const empty = await newestId(threads);
      await threads.addMessages({ ...thread1, messages: [user('a', 'one')] }, call());
      const first = { checkpointId: await newestId(threads), memory: await rememberThread(threads) };
      await restore(threads, empty);
      await threads.addMessages({ ...thread1, messages: [user('a', 'two')] }, call());
      const second = { checkpointId: await newestId(threads), memory: await rememberThread(threads) };
      for (const now of [first, second, first]) {
        await restore(threads, now.checkpointId);
        t.deepEqual(await rememberThread(threads), now.memory);
        for (const { checkpointId, memory } of [first, second]) {
          t.deepEqual(await readVersion(threads, checkpointId), stateOf(memory));
          const { threadId } = await fork(threads, checkpointId, {
            newThreadId: `fork-${await newestId(threads)}-${checkpointId}`,
          });
          t.deepEqual(await rememberThread(threads, threadId), memory);
        }
      }
    },
  );

  check('a restored thread goes on from the checkpoint, and the versions before stay readable', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    const first = await rememberThread(threads);
    await finishedTurn(threads, 'r2');
    const newest = await newestId(threads);
    const second = await readVersion(threads, newest);
    await restore(threads, checkpointId);
    t.deepEqual(await rememberThread(threads), first);
    const [made, before] = await allCheckpoints(threads);
    t.like(made, { source: 'restore' });
    t.deepEqual(parse(made?.metadataJson), { parent: { checkpoint_id: checkpointId } });
    t.is(before?.checkpointId, newest);
    t.deepEqual(await readVersion(threads, newest), second);
    await finishedTurn(threads, 'r3');
    t.deepEqual(idsIn((await threads.getState(thread1, call())).contextJson), ['m-r1', 'm-r3']);
    t.deepEqual(await readVersion(threads, newest), second);
    await restore(threads, newest);
    t.deepEqual(stateOf(await rememberThread(threads)), second);
  });

  check('a thread restored to a question waits for its answer again, and can be resumed', async (t, threads) => {
    const version = await interruptedTurn(threads, 'r1');
    await finishedTurn(threads, 'r2');
    await restore(threads, String(version));
    const { claimed } = await accept(threads, 'r3', { ...answering('c1', 'c2'), claim: { workerId: 'w1' } });
    t.like(claimed, { next: ['tools'], openCalls: [], resumes: 'r1' });
  });

  check('a restore that is asked for again is made once, and not after what came since', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    await finishedTurn(threads, 'r2');
    await Promise.all(Array.from({ length: 3 }, async () => restore(threads, checkpointId, { onceKey: 'k' })));
    const made = await newestId(threads);
    await restore(threads, made);
    t.is(await newestId(threads), made);
    await finishedTurn(threads, 'r3');
    await restore(threads, checkpointId, { onceKey: 'k' });
    t.deepEqual(idsIn((await threads.getState(thread1, call())).contextJson), ['m-r1', 'm-r3']);
  });

  check('a restore is refused while a run holds the thread, and to what is no checkpoint of it', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    await finishedTurn(threads, 'r2');
    await refused(t, restore(threads, '1'), 'NotFound');
    await refused(t, restore(threads, checkpointId, { owner: 'u:bob' }), 'NotFound');
    await accept(threads, 'r3');
    const before = await rememberThread(threads);
    await refused(t, restore(threads, checkpointId), 'Conflict');
    t.deepEqual(await rememberThread(threads), before);
  });

  check(
    'a run starts from a checkpoint of its thread in one change, and what was there stays readable',
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      const checkpointId = await newestId(threads);
      const first = await rememberThread(threads);
      await finishedTurn(threads, 'r2');
      const newest = await newestId(threads);
      const second = await readVersion(threads, newest);
      t.like(await accept(threads, 'r3', { checkpointId, claim: { workerId: 'w1' } }), {
        status: 'queued',
        runnable: true,
      });
      t.deepEqual(await rememberThread(threads), first);
      const [made, before] = await allCheckpoints(threads);
      t.like(made, { source: 'restore' });
      t.deepEqual(parse(made?.metadataJson), { parent: { checkpoint_id: checkpointId } });
      t.is(before?.checkpointId, newest);
      const claimed = await claim(threads, 'r3');
      t.deepEqual(idsIn(claimed.state?.contextJson), ['m-r1', 'm-r3']);
      await commit(threads, 'r3', claimed.epoch, { end: completed });
      t.deepEqual(await readVersion(threads, newest), second);
      t.deepEqual(await logOf(threads), ['m-r1', 'm-r3']);
      t.like(await accept(threads, 'r4', { checkpointId: await newestId(threads), claim: { workerId: 'w1' } }), {
        status: 'running',
      });
    },
  );

  check('a run that starts from a question answers it again, by the id of its call', async (t, threads) => {
    const version = await interruptedTurn(threads, 'r1');
    await finishedTurn(threads, 'r2');
    await refused(t, accept(threads, 'r3', answering('c1', 'c2')), 'BadRequest');
    await accept(threads, 'r3', { ...answering('c1', 'c2'), checkpointId: String(version) });
    t.like(await claim(threads, 'r3'), { next: ['tools'], openCalls: [], resumes: 'r1' });
  });

  check('an answer that names the checkpoint at which the thread stands is one like any other', async (t, threads) => {
    const version = await interruptedTurn(threads, 'r1');
    const checkpointId = String(version);
    const { claimed } = await accept(threads, 'r2', {
      ...answering('c1', 'c2'),
      checkpointId,
      claim: { workerId: 'w1' },
    });
    t.like(claimed, { next: ['tools'], openCalls: [], resumes: 'r1' });
    t.false((await allCheckpoints(threads)).some(({ source }) => source === 'restore'));
  });

  check('a run is rolled back to where its restore left the thread', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    const first = await rememberThread(threads);
    await finishedTurn(threads, 'r2');
    await accept(threads, 'r3', { checkpointId });
    const { epoch } = await claim(threads, 'r3');
    await commit(threads, 'r3', epoch, busyStep(0));
    await accept(threads, 'r4', { multitaskStrategy: 'rollback' });
    t.deepEqual(await rememberThread(threads), first);
  });

  check(
    'a run is not accepted where its checkpoint cannot be started from, and nothing changes',
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      const checkpointId = await newestId(threads);
      await finishedTurn(threads, 'r2');
      const before = await rememberThread(threads);
      await refused(t, accept(threads, 'r3', { checkpointId: '1' }), 'NotFound');
      await refused(t, accept(threads, 'r3', { checkpointId, threadId: 'absent' }), 'NotFound');
      await refused(t, accept(threads, 'r3', { checkpointId, ...answering('c1') }), 'BadRequest');
      await accept(threads, 'r4');
      for (const multitaskStrategy of ['enqueue', 'interrupt', 'rollback', 'reject'] as const)
        await refused(t, accept(threads, 'r5', { checkpointId, multitaskStrategy }), 'Conflict');
      t.deepEqual(await rememberThread(threads), before);
      for (const runId of ['r3', 'r5']) await refused(t, threads.getRun({ owner, runId }, call()), 'NotFound');
    },
  );

  check(
    'of runs that start from one checkpoint at once one is accepted, and a request that is sent again counts once',
    async (t, threads) => {
      await finishedTurn(threads, 'r1');
      const checkpointId = await newestId(threads);
      await finishedTurn(threads, 'r2');
      const settled = await Promise.allSettled(
        ['r3', 'r4', 'r5', 'r6'].map(async (runId) =>
          accept(threads, runId, { checkpointId, attemptId: `key-${runId}` }),
        ),
      );
      const accepted = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      t.is(accepted.length, 1);
      const [{ runId } = { runId: '' }] = accepted;
      const { epoch } = await claim(threads, runId);
      await commit(threads, runId, epoch, { end: completed });
      const restores = (await allCheckpoints(threads)).filter(({ source }) => source === 'restore');
      t.is(restores.length, 1);
      await finishedTurn(threads, 'r7');
      await prune(threads);
      const before = await rememberThread(threads);
      t.like(await accept(threads, runId, { checkpointId, attemptId: `key-${runId}` }), { runId, isNewThread: false });
      t.deepEqual(await rememberThread(threads), before);
    },
  );

  check('a start from a checkpoint too far back is a conflict', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    const large = 'x'.repeat(1_900_000);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      if (id === 'e') await threads.clearState(thread1, call());
      await threads.addMessages({ ...thread1, messages: [user(id, large)] }, call());
    }
    const newest = await newestId(threads);
    await refused(t, accept(threads, 'r2', { checkpointId }), 'Conflict');
    t.is(await newestId(threads), newest);
  });

  check('a restore over the bound of a change is a conflict, and changes nothing', async (t, threads) => {
    await finishedTurn(threads, 'r1');
    const checkpointId = await newestId(threads);
    const large = 'x'.repeat(1_900_000);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      if (id === 'e') await threads.clearState(thread1, call());
      await threads.addMessages({ ...thread1, messages: [user(id, large)] }, call());
    }
    const newest = await newestId(threads);
    await refused(t, restore(threads, checkpointId), 'Conflict');
    t.is(await newestId(threads), newest);
  });

  check('a message that a rolled back run replaced can be replaced by the next one', async (t, threads) => {
    await accept(threads, 'r1', { messages: [user('a', 'one')] });
    await acceptAndCommit(threads, 'r1');
    await accept(threads, 'r2', { messages: [user('a', 'two'), user('b', 'two')] });
    await claim(threads, 'r2');
    await accept(threads, 'r3', { messages: [user('b', 'three'), user('a', 'three')], multitaskStrategy: 'rollback' });
    t.is(contentOf(await threads.getMessage({ ...thread1, messageId: 'a' }, call())), 'one');
    t.like(await claim(threads, 'r3'), { replaced: true });
    t.deepEqual(await logOf(threads), ['a', 'a-r1', 'b']);
  });
}

/** A step that adds, replaces and removes, so that every later version differs everywhere. */
const busyStep = (step: number): Parameters<typeof commit>[3] => ({
  step,
  fields: { a: bytes(String(step)), [`f${String(step % 3)}`]: bytes(`"${String(step)}"`) },
  messages: [user('m-r1', `at ${String(step)}`), assistant(`a${String(step)}`)],
  replacesMessages: true,
  removedFromContext: step < 2 ? [] : [`a${String(step - 2)}`],
});

const many = (prefix: string, count: number): MessageEntry[] =>
  Array.from({ length: count }, (_, index) => user(`${prefix}-${String(index)}`));

/** Claims the run, which waits, and ends it with one message; gives the run that is next. */
async function acceptAndCommit(threads: Threads, runId: string): Promise<string | undefined> {
  const { epoch } = await claim(threads, runId);
  return (await commit(threads, runId, epoch, { messages: [assistant(`a-${runId}`)], end: completed })).nextRunId;
}

/** Without a checkpoint it is a copy. */
const fork = async (
  threads: Threads,
  checkpointId: string | undefined,
  parts: Partial<ForkThreadRequest> = {},
): ReturnType<Threads['forkThread']> =>
  threads.forkThread(
    { ...thread1, ...(checkpointId !== undefined && { checkpointId }), newThreadId: 'fork', ...parts },
    call(),
  );

const prune = async (threads: Threads, parts: Partial<PruneThreadRequest> = {}): ReturnType<Threads['pruneThread']> =>
  threads.pruneThread({ ...thread1, keep: 1, ...parts }, call());

const restore = async (
  threads: Threads,
  checkpointId: string,
  parts: Partial<RestoreThreadRequest> = {},
): ReturnType<Threads['restoreThread']> => threads.restoreThread({ ...thread1, checkpointId, ...parts }, call());

interface ListedMessage {
  readonly message_id: string;
  readonly checkpoint_id?: string;
}

async function messagesIn(threads: Threads, threadId = 't1'): Promise<readonly ListedMessage[]> {
  const { messagesJson } = await threads.listMessages({ owner, threadId, limit: 100, offset: 0 }, call());
  return parse(messagesJson) as readonly ListedMessage[];
}

const newestId = async (threads: Threads): Promise<string> => (await allCheckpoints(threads))[0]?.checkpointId ?? '';

async function allCheckpoints(threads: Threads, limit = 1000, threadId = 't1'): Promise<readonly ThreadCheckpoint[]> {
  const all: ThreadCheckpoint[] = [];
  for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await threads.listCheckpoints({ owner, threadId, limit, offset: 0, ...after }, call());
    all.push(...page.checkpoints);
    ({ cursor } = page);
  }
  return all;
}

/** The state of the version; its log is what a fork from it holds. */
async function readVersion(threads: Threads, checkpointId: string): Promise<Omit<Memory, 'log'>> {
  const { state } = await threads.getCheckpoint({ ...thread1, checkpointId }, call());
  const fields = Object.fromEntries(Object.entries(state.fields).map(([field, json]) => [field, text(json)]));
  return { fields, context: text(state.contextJson) };
}

const stateOf = (memory: Memory | undefined): Partial<Memory> => {
  const { log: _, ...state } = memory ?? { log: undefined };
  return state;
};

async function stepsOf(threads: Threads, runId: string): Promise<readonly RunStep[]> {
  const all: RunStep[] = [];
  for (;;) {
    const { steps } = await threads.listRunSteps({ owner, runId, fromStep: all.length }, call());
    if (steps.length === 0) return all;
    all.push(...steps);
  }
}

const changeOf = ({ checkpointId: _, next: _next, work: _work, ...change }: RunStep): StepChange => change;

const plain = (steps: readonly StepChange[]): unknown =>
  steps.map(({ fields, messagesJson, ...rest }) => ({
    ...rest,
    fields: Object.fromEntries(Object.entries(fields).map(([field, json]) => [field, text(json)])),
    messages: text(messagesJson),
  }));
