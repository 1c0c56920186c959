import type { TestFn } from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { ownerOfKeys } from '@agent-workflow/protos/answerer';
import { questionOfOthers } from '@agent-workflow/protos/refusals';
import type {
  AnswerQuestionReply,
  AnswerQuestionRequest,
  Question,
  RunEnd,
  Threads,
} from '@agent-workflow/protos/threads';
import {
  accept,
  bytes,
  call,
  claim,
  commit,
  completed,
  noInput,
  owner,
  parse,
  refused,
  thread1,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

interface Asking {
  readonly threadId?: string;
  readonly to?: readonly string[];
  readonly not_owner?: true;
  readonly quorum?: number;
  readonly deadline?: string;
  readonly agent?: string;
}

const endWith = (id: string, { threadId: _, agent: _agent, ...asking }: Asking): RunEnd => ({
  ...{ status: 'interrupted', iterations: 1, recursionLimitReached: false },
  interruptsJson: JSON.stringify([{ id, node: 'approve', value: 'Pay?', to: ['approver'], ...asking }]),
});

/** A run that ends with a question to others. */
async function askingTurn(threads: Threads, runId: string, asking: Asking = {}): Promise<string> {
  const { threadId = 't1', agent } = asking;
  const options = { config: { k: 1 }, user: { sub: 'ada' } };
  const id = `${runId}/1/approve/0`;
  await accept(threads, runId, {
    ...{ threadId, optionsJson: bytes(JSON.stringify(options)) },
    ...(agent !== undefined && { agent }),
  });
  const { epoch } = await claim(threads, runId, { threadId, ...(agent !== undefined && { agent }) });
  const end = endWith(id, asking);
  await commit(threads, runId, epoch, { threadId, next: ['approve'], openInterrupts: [id], end });
  return id;
}

const listed = async (threads: Threads, roles: readonly string[] = ['approver']): Promise<readonly Question[]> =>
  (await threads.listQuestions({ roles, limit: 100 }, call())).questions;

const only = async (threads: Threads, roles?: readonly string[]): Promise<Question> => {
  const [question, ...more] = await listed(threads, roles);
  if (!question || more.length > 0) throw new Error(`${String(more.length + (question ? 1 : 0))} questions are open`);
  return question;
};

let answers = 0;
/** The ids of the questions that were seen open, by thread and interrupt. */
const questionIds = new WeakMap<Threads, Map<string, string>>();

const answer = async (
  threads: Threads,
  interruptId: string,
  parts: Partial<AnswerQuestionRequest> & { readonly value?: unknown } = {},
): Promise<AnswerQuestionReply> => {
  const { value = 'yes', threadId = thread1.threadId, ...rest } = parts;
  const name = `${threadId}/${interruptId}`;
  const all = await threads.listQuestions({ roles: [':all'], limit: 100 }, call());
  const open = all.questions.find((one) => one.interruptId === interruptId && one.threadId === threadId);
  const known = questionIds.get(threads) ?? new Map<string, string>();
  if (open) questionIds.set(threads, known.set(name, open.questionId));
  const of = {
    ...{ owner, threadId, questionId: known.get(name) ?? 'none', interruptId },
    runId: `answer-${String(answers++)}`,
    requestId: 'q',
    by: 'boris',
    client: 'v1',
  };
  return threads.answerQuestion({ ...of, answerJson: bytes(JSON.stringify(value)), ...rest }, call());
};

/** What the record promises of questions that others than the owner of their thread answer. */
export function threadsQuestionsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('a question to roles is found by each of them, once, and by nobody else', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { to: ['approver', 'boss'], not_owner: true, quorum: 2 });
    const found = await only(threads, ['boss', 'approver', 'boss']);
    t.like(found, { owner, threadId: 't1', runId: 'r1', interruptId: id, agent: 'default', node: 'approve' });
    t.like(found, { to: ['approver', 'boss'], notOwner: true, quorum: 2, answeredBy: [] });
    t.is(parse(found.valueJson), 'Pay?');
    t.deepEqual(await threads.getQuestion({ questionId: found.questionId }, call()), found);
    t.deepEqual(await listed(threads, ['other']), []);
    t.deepEqual(await listed(threads, []), []);
    await refused(t, threads.getQuestion({ questionId: 'none' }, call()), 'NotFound');
  });

  check('questions are found by age and by deadline, page by page, and of one agent', async (t, threads) => {
    const at = (days: number): string => new Date(Date.now() + days * 24 * 3_600_000).toISOString();
    for (const [index, deadline] of [at(3), undefined, at(1), at(2), undefined].entries())
      await askingTurn(threads, `r${String(index)}`, {
        ...{ threadId: `t${String(index)}`, ...(deadline !== undefined && { deadline }) },
        ...(index === 3 && { agent: 'pay' }),
      });
    const pages = async (more: object): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined, page = 0; page < 10; page++) {
        const request = { roles: ['approver'], limit: 2, ...more, ...(cursor !== undefined && { cursor }) };
        const reply = await threads.listQuestions(request, call());
        found.push(...reply.questions.map(({ threadId }) => threadId));
        cursor = reply.cursor;
        if (cursor === undefined) return found;
      }
      throw new Error('the list does not end');
    };
    const byAge = await pages({});
    t.deepEqual(byAge.toSorted(), ['t0', 't1', 't2', 't3', 't4']);
    t.deepEqual((await pages({ byDeadline: true })).slice(0, 3), ['t2', 't3', 't0']);
    t.deepEqual(await pages({ agent: 'pay' }), ['t3']);
    const { cursor = '' } = await threads.listQuestions({ roles: ['approver'], limit: 2 }, call());
    await refused(t, threads.listQuestions({ roles: ['other'], limit: 2, cursor }, call()), 'Invalid');
  });

  check('an answer begins a run with what the run was given that asked, and says who gave it', async (t, threads) => {
    const id = await askingTurn(threads, 'r1');
    const reply = await answer(threads, id, { runId: 'r2', value: { ok: true } });
    t.deepEqual(reply, { answers: 1, quorum: 1, differs: false, runId: 'r2' });
    t.deepEqual(await listed(threads), []);
    const claimed = await claim(threads, 'r2');
    t.deepEqual([claimed.next, claimed.resumes, claimed.resumeUnmatched], [['approve'], 'r1', false]);
    const options = parse(claimed.optionsJson) as Record<string, unknown>;
    t.like(options, { config: { k: 1 }, user: { sub: 'ada' }, resume: { [id]: { ok: true } } });
    const run = await threads.getRun({ owner, runId: 'r2' }, call());
    t.like((JSON.parse(run.answeredByJson ?? '[]') as unknown[])[0], { by: 'boris', client: 'v1' });
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).resumedBy, 'r2');
    await commit(threads, 'r2', claimed.epoch, { end: completed });
    t.deepEqual(await listed(threads), []);
  });

  check('the same answer again is one answer, and a second of one caller is refused', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { quorum: 2 });
    t.deepEqual(await answer(threads, id, { value: { a: 1, b: 2 } }), { answers: 1, quorum: 2, differs: false });
    t.deepEqual(await answer(threads, id, { value: { b: 2, a: 1 } }), { answers: 1, quorum: 2, differs: false });
    await refused(t, answer(threads, id, { value: 'no' }), 'Conflict');
    t.deepEqual((await only(threads)).answeredBy, ['boris']);
    const last = await answer(threads, id, { by: 'clara', runId: 'r2', value: { a: 1, b: 2 } });
    t.deepEqual(last, { answers: 2, quorum: 2, differs: false, runId: 'r2' });
    const again = await answer(threads, id, { by: 'clara', runId: 'r3', value: { a: 1, b: 2 } });
    t.deepEqual(again, { answers: 2, quorum: 2, differs: false, runId: 'r2' });
    await refused(t, answer(threads, id, { by: 'dora', value: { a: 1, b: 2 } }), 'Conflict');
    await refused(t, answer(threads, id, { by: 'clara', value: 'no' }), 'Conflict');
    const repeats = { by: 'clara', value: { a: 1, b: 2 }, onlyRepeated: true };
    t.is((await answer(threads, id, repeats)).runId, 'r2');
    await refused(t, answer(threads, id, { ...repeats, by: 'dora' }), 'Conflict');
  });

  check('an answer by an API key that was revoked since counts no longer', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { quorum: 2 });
    const of = { kind: 'api_key', owner: ownerOfKeys } as const;
    for (const name of ['k1', 'k2'])
      await threads.putResource({ ...of, id: name, version: 1, json: bytes('{}'), attemptId: name }, call());
    await answer(threads, id, { key: 'k1', value: 'stolen' });
    await threads.deleteResource({ ...of, id: 'k1', version: 1 }, call());
    t.deepEqual(await answer(threads, id, { by: 'clara', key: 'k2' }), { answers: 1, quorum: 2, differs: false });
    const last = await answer(threads, id, { runId: 'r2' });
    t.deepEqual(last, { answers: 2, quorum: 2, differs: false, runId: 'r2' });
    const run = await threads.getRun({ owner, runId: 'r2' }, call());
    t.deepEqual(
      (JSON.parse(run.answeredByJson ?? '[]') as { by: string; key?: string }[]).map(({ by, key }) => [by, key]),
      [
        ['clara', 'k2'],
        ['boris', undefined],
      ],
    );
  });

  check('an answer that differs reaches the node as a difference', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { quorum: 3 });
    await answer(threads, id);
    const reply = await answer(threads, id, { by: 'clara', value: 'no', runId: 'r2' });
    t.deepEqual(reply, { answers: 1, quorum: 3, differs: true, runId: 'r2' });
    t.deepEqual(await answer(threads, id, { by: 'clara', value: 'no' }), reply, 'sent again after a lost reply');
    t.deepEqual(await answer(threads, id), reply);
    await refused(t, answer(threads, id, { value: 'no' }), 'Conflict');
    await refused(t, answer(threads, id, { by: 'clara' }), 'Conflict');
    await refused(t, answer(threads, id, { by: 'dora', value: 'no' }), 'Conflict');
    const options = parse((await claim(threads, 'r2')).optionsJson) as Record<string, unknown>;
    t.like(options, { resume: {}, differ: [id] });
    t.deepEqual(
      (options['answeredBy'] as { by: string }[]).map(({ by }) => by),
      ['boris', 'clara'],
    );
  });

  check('of many answers at once exactly one begins a run', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { quorum: 2 });
    const all = await Promise.allSettled(
      ['boris', 'clara', 'dora', 'boris', 'clara', 'dora'].map(async (by) => answer(threads, id, { by })),
    );
    const begun = new Set(all.flatMap((one) => (one.status === 'fulfilled' ? (one.value.runId ?? []) : [])));
    t.is(begun.size, 1);
    for (const one of all) if (one.status === 'rejected') t.true(isServiceError(one.reason, 'Conflict'));
    t.is((await threads.listRuns({ ...thread1, limit: 10, offset: 0 }, call())).runs.length, 2);
  });

  check('who may not answer it can neither answer, drop nor bring it away', async (t, threads) => {
    const id = await askingTurn(threads, 'r1');
    const { questionId } = await only(threads);
    const isOfOthers = async (work: Promise<unknown>, code: 'PermissionDenied' | 'Conflict'): Promise<void> => {
      const error = await t.throwsAsync(work);
      if (!isServiceError(error, code)) throw error;
      t.like(error.details[0], { field: ['questions', questionId], type: questionOfOthers });
    };
    const { version } = await threads.getState(thread1, call());
    const [checkpoint] = (await threads.listCheckpoints({ ...thread1, limit: 1, offset: 0 }, call())).checkpoints;
    const checkpointId = checkpoint?.checkpointId ?? '';
    for (const keys of [[id], []])
      await isOfOthers(accept(threads, 'r2', { ...noInput, resume: { keys } }), 'PermissionDenied');
    for (const multitaskStrategy of ['enqueue', 'reject', 'interrupt', 'rollback'] as const)
      await isOfOthers(accept(threads, 'r2', { multitaskStrategy }), 'Conflict');
    await isOfOthers(accept(threads, 'r2', { checkpointId }), 'Conflict');
    const state = { ...thread1, expectedVersion: version, fields: {}, messages: [] };
    await isOfOthers(threads.writeState({ ...state, settles: true }, call()), 'Conflict');
    for (const change of [{ messages: [user('m9')] }, { removedFromContext: ['m1'] }])
      await isOfOthers(threads.writeState({ ...state, ...change }, call()), 'Conflict');
    await isOfOthers(threads.addMessages({ ...thread1, messages: [user('m9')] }, call()), 'Conflict');
    await isOfOthers(threads.deleteMessage({ ...thread1, messageId: 'm1' }, call()), 'Conflict');
    await isOfOthers(accept(threads, 'r2', { ...noInput, answers: ['c1'] }), 'Conflict');
    const removes = { ...noInput, optionsJson: bytes('{"goesOn":true,"removes":["m1"]}') };
    await isOfOthers(accept(threads, 'r2', removes), 'Conflict');
    await isOfOthers(threads.clearState(thread1, call()), 'Conflict');
    await isOfOthers(threads.restoreThread({ ...thread1, checkpointId }, call()), 'Conflict');
    t.is((await only(threads)).questionId, questionId);
  });

  check('who may answer it, and says so, answers or drops it as any other', async (t, threads) => {
    const first = await askingTurn(threads, 'r1');
    t.is((await accept(threads, 'r2', { ...noInput, resume: { keys: [] }, mayAnswer: [first] })).status, 'queued');
    const { epoch } = await claim(threads, 'r2');
    await commit(threads, 'r2', epoch, { end: completed });
    const second = await askingTurn(threads, 'r3');
    await accept(threads, 'r4', { mayAnswer: [second] });
    t.is((await claim(threads, 'r4')).resumes, 'r3');
    const several = await askingTurn(threads, 'r5', { threadId: 't2', quorum: 2 });
    const resume = { ...noInput, threadId: 't2', resume: { keys: [several] }, mayAnswer: [several] };
    await refused(t, accept(threads, 'r6', resume), 'Conflict');
  });

  check('a run that waited behind the one that asked fails, and the question stays', async (t, threads) => {
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    const id = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa/1/approve/0';
    await accept(threads, 'r2');
    await accept(threads, 'r3', { ...noInput, resume: { keys: [id] } });
    await commit(threads, 'r1', epoch, { next: ['approve'], openInterrupts: [id], end: endWith(id, {}) });
    t.deepEqual(await listed(threads), []);
    t.is((await claim(threads, 'r2')).givenUp?.code, 'Conflict');
    t.is((await claim(threads, 'r3')).givenUp?.code, 'Conflict');
    t.is((await only(threads)).interruptId, id);
    await answer(threads, id, { runId: 'r4' });
    t.is((await claim(threads, 'r4')).resumes, 'r1');
  });

  check(
    'the run of an answer that is stopped before it began leaves the question to those who may answer',
    async (t, threads) => {
      const id = await askingTurn(threads, 'r1');
      await answer(threads, id, { runId: 'r2' });
      await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
      await refused(t, accept(threads, 'r3', { ...noInput, resume: { keys: [id] } }), 'PermissionDenied');
      t.is((await only(threads)).interruptId, id);
    },
  );

  check('a stop of the run that asked, and a deletion, end the question', async (t, threads) => {
    const id = await askingTurn(threads, 'r1');
    await askingTurn(threads, 'r2', { threadId: 't2' });
    const [question] = (await listed(threads)).filter(({ threadId }) => threadId === 't1');
    const ended = await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.like(ended, { status: 'interrupted', endedNow: false, droppedQuestions: [question?.questionId ?? ''] });
    const again = await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    t.is(again.droppedQuestions?.length ?? 0, 0);
    await refused(t, answer(threads, id), 'Conflict');
    t.is((await only(threads)).threadId, 't2');
    await threads.beginDelete({ owner, threadId: 't2' }, call());
    t.deepEqual(await listed(threads), []);
    t.is((await accept(threads, 'r3')).status, 'queued');
  });

  check('a fork asks the same of the same, and nobody has answered it there', async (t, threads) => {
    const id = await askingTurn(threads, 'r1', { quorum: 2, not_owner: true });
    await answer(threads, id);
    await threads.forkThread({ ...thread1, newThreadId: 't2' }, call());
    const fork = (await listed(threads)).find(({ threadId }) => threadId === 't2');
    t.like(fork, { interruptId: id, to: ['approver'], notOwner: true, quorum: 2, answeredBy: [] });
    const inFork = { threadId: 't2' };
    await refused(t, accept(threads, 'r2', { ...inFork, ...noInput, resume: { keys: [id] } }), 'PermissionDenied');
    await answer(threads, id, { ...inFork, by: 'clara' });
    t.is((await answer(threads, id, { ...inFork, by: 'dora', runId: 'r3' })).runId, 'r3');
    const claimed = await claim(threads, 'r3', inFork);
    t.like(parse(claimed.optionsJson), { user: { sub: 'ada' } });
  });

  check(
    'behind an answer of others a fork, and a thread that is brought back, waits for nobody',
    async (t, threads) => {
      const id = await askingTurn(threads, 'r1');
      await answer(threads, id, { runId: 'r2' });
      const { epoch } = await claim(threads, 'r2');
      const own = 'r2/1/rest/0';
      const end: RunEnd = {
        ...{ status: 'interrupted', iterations: 1, recursionLimitReached: false },
        interruptsJson: JSON.stringify([{ id: own, node: 'rest', value: 'Where?' }]),
      };
      await commit(threads, 'r2', epoch, { next: ['rest'], openInterrupts: [own], end });
      const newest = async (threadId: string) =>
        (await threads.listCheckpoints({ owner, threadId, limit: 1, offset: 0 }, call())).checkpoints[0];
      const asked = await newest('t1');
      t.deepEqual(asked?.next, ['rest']);
      const resume = { ...noInput, resume: { keys: [own] } };
      const forked = async (threadId: string): Promise<void> => {
        await threads.forkThread(
          { ...thread1, newThreadId: threadId, checkpointId: asked?.checkpointId ?? '' },
          call(),
        );
        t.deepEqual((await newest(threadId))?.next, []);
        t.is((await threads.getThread({ owner, threadId }, call())).status, 'idle');
        await refused(t, accept(threads, `${threadId}-run`, { ...resume, threadId }), 'BadRequest');
      };
      await forked('t2');
      await accept(threads, 'r3', resume);
      const third = await claim(threads, 'r3');
      t.deepEqual(third.next, ['rest']);
      await commit(threads, 'r3', third.epoch, { end: completed });
      await forked('t3');
      await threads.restoreThread({ ...thread1, checkpointId: asked?.checkpointId ?? '' }, call());
      t.deepEqual((await newest('t1'))?.next, []);
      await accept(threads, 'r4', {});
      const { epoch: anew } = await claim(threads, 'r4');
      await commit(threads, 'r4', anew, { next: ['rest'], openInterrupts: [own], end });
      await threads.forkThread({ ...thread1, newThreadId: 't4' }, call());
      t.deepEqual((await newest('t4'))?.next, ['rest'], 'a new message begins without the answer');
    },
  );

  check('while the run of an answer is at work the question is held, and closed after that', async (t, threads) => {
    const id = await askingTurn(threads, 'r1');
    const { questionId } = await only(threads);
    await answer(threads, id, { runId: 'r2' });
    t.like(await threads.getQuestion({ questionId }, call()), { isHeld: true, node: 'approve', to: ['approver'] });
    const { epoch } = await claim(threads, 'r2');
    t.like(await threads.getQuestion({ questionId }, call()), { isHeld: true, node: 'approve' });
    t.deepEqual(await listed(threads), []);
    await commit(threads, 'r2', epoch, { end: completed });
    const { isHeld = false, isClosed } = await threads.getQuestion({ questionId }, call());
    t.deepEqual([isHeld, isClosed], [false, true]);
  });

  check(
    'a run of who may not answer for the owner drops nothing that the thread waits for, nor does a stop',
    async (t, threads) => {
      const keeping = { optionsJson: bytes('{"keepsQuestions":true}') };
      await accept(threads, 'r1');
      const { epoch } = await claim(threads, 'r1');
      await accept(threads, 'r2', keeping);
      const id = 'r1/1/approve/0';
      const interruptsJson = JSON.stringify([{ id, node: 'approve', value: 'Pay?' }]);
      const end = { status: 'interrupted' as const, iterations: 1, recursionLimitReached: false, interruptsJson };
      await commit(threads, 'r1', epoch, { next: ['approve'], openInterrupts: [id], end });
      t.is((await claim(threads, 'r2')).givenUp?.code, 'Conflict');
      await refused(t, accept(threads, 'r3', keeping), 'Conflict');
      const stop = { owner, runId: 'r1', status: 'stopped' as const, keepsQuestions: true };
      await threads.endRun(stop, call());
      t.is((await accept(threads, 'r4', { ...noInput, resume: { keys: [id] } })).status, 'queued');
      await askingTurn(threads, 'r5', { threadId: 't2' });
      await threads.endRun({ ...stop, runId: 'r5' }, call());
      t.is((await only(threads)).threadId, 't2');
    },
  );

  check('a question that is open again after its answer is another one', async (t, threads) => {
    const id = await askingTurn(threads, 'r1');
    const before = await only(threads);
    const [asked] = (await threads.listCheckpoints({ ...thread1, limit: 1, offset: 0 }, call())).checkpoints;
    await answer(threads, id, { runId: 'r2' });
    const { epoch } = await claim(threads, 'r2');
    await commit(threads, 'r2', epoch, { end: completed });
    await threads.restoreThread({ ...thread1, checkpointId: asked?.checkpointId ?? '' }, call());
    const after = await only(threads);
    t.not(after.questionId, before.questionId);
    t.true(after.askedAt > before.askedAt);
    const { questionId } = before;
    t.true((await threads.getQuestion({ questionId }, call())).isClosed);
    t.is((await answer(threads, id, { questionId })).runId, 'r2');
    await refused(t, answer(threads, id, { questionId, by: 'clara' }), 'Conflict');
    t.is((await only(threads)).questionId, after.questionId);
    t.is((await answer(threads, id, { runId: 'r3' })).runId, 'r3');
    t.is((await answer(threads, id, { questionId: after.questionId, runId: 'r4' })).runId, 'r3');
    await refused(t, answer(threads, id, { questionId }), 'Conflict');
  });

  check('a deadline that passes goes on without an answer', async (t, threads) => {
    const deadline = new Date(Date.now() - 1000).toISOString();
    const id = 'r1/1/approve/0';
    await accept(threads, 'r1');
    const { epoch } = await claim(threads, 'r1');
    await commit(threads, 'r1', epoch, {
      ...{ next: ['approve'], openInterrupts: [id], wakeAt: Date.now() - 1000 },
      end: endWith(id, { deadline }),
    });
    const { runId = '' } = await threads.passDeadline({ ...thread1, runId: 'r1' }, call());
    t.deepEqual((await claim(threads, runId)).next, ['approve']);
    await refused(t, answer(threads, id), 'Conflict');
    t.deepEqual(await listed(threads), []);
  });
}
