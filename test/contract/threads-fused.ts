import { sizes } from '@agent-workflow/kit/sizes';
import type { TestFn } from 'ava';
import type { CommitStepRequest, FusedStep, StepWork, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  acceptAndClaim,
  assistant,
  bytes,
  call,
  claim,
  commit,
  completed,
  fieldsOf,
  idsIn,
  logOf,
  message,
  messagesOf,
  owner,
  parse,
  refused,
  text,
  thread1,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const work = (startedAt: number): StepWork => ({ startedAt, attempt: 1, retries: 0, inputTokens: 1, outputTokens: 2 });
const openCalls = [{ callId: 'c1', name: 'add' }];

/** A step of two messages; the parts replace its own. */
const fusedStep = (parts: Partial<FusedStep> = {}): FusedStep => ({
  at: 20,
  messages: [assistant('t1'), assistant('t2')],
  nodes: ['tools'],
  next: ['agent'],
  openCalls: [],
  progressJson: bytes('{"after":"tools"}'),
  work: work(19),
  ...parts,
});

/** A step that is committed together with another after it. */
const pair = (fused: Partial<FusedStep> = {}): Partial<CommitStepRequest> => ({
  at: 10,
  fields: { topic: bytes('"tea"') },
  messages: [assistant('a1')],
  nodes: ['agent'],
  next: ['tools'],
  openCalls,
  progressJson: bytes('{"after":"agent"}'),
  work: work(9),
  fused: fusedStep(fused),
});

/** What the record promises of two steps that are committed in one write. */
export function threadsFusedContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);
  const checkpointsOf = async (
    threads: Threads,
  ): Promise<Awaited<ReturnType<Threads['listCheckpoints']>>['checkpoints']> =>
    (await threads.listCheckpoints({ ...thread1, limit: 100, offset: 0 }, call())).checkpoints;

  check('two steps of one commit have a version, a checkpoint and messages of their own', async (t, threads) => {
    const { epoch, version } = await acceptAndClaim(threads, 'r1');
    const reply = await commit(threads, 'r1', epoch, pair());
    t.deepEqual(reply, { version: version + 2 });
    const [second, first] = await checkpointsOf(threads);
    t.like(second, {
      source: 'step',
      runId: 'r1',
      step: 1,
      nodes: ['tools'],
      next: ['agent'],
      createdAt: 20,
      work: work(19),
    });
    t.like(first, {
      source: 'step',
      runId: 'r1',
      step: 0,
      nodes: ['agent'],
      next: ['tools'],
      createdAt: 10,
      work: work(9),
    });
    t.deepEqual(
      (await messagesOf(threads)).map(({ message_id: id, checkpoint_id: checkpointId }) => [id, checkpointId]).slice(1),
      [
        ['a1', first?.checkpointId],
        ['t1', second?.checkpointId],
        ['t2', second?.checkpointId],
      ],
    );
    const at = async (checkpointId = ''): Promise<unknown[]> => {
      const { state } = await threads.getCheckpoint({ ...thread1, checkpointId }, call());
      return [fieldsOf(state), idsIn(state.contextJson)];
    };
    t.deepEqual(await at(first?.checkpointId), [{ topic: '"tea"' }, ['m-r1', 'a1']]);
    t.deepEqual(await at(second?.checkpointId), [{ topic: '"tea"' }, ['m-r1', 'a1', 't1', 't2']]);
    await commit(threads, 'r1', epoch, { step: 2, end: completed });
    const { steps } = await threads.listRunSteps({ owner, runId: 'r1', fromStep: 0 }, call());
    t.deepEqual(
      steps.map(({ step, nodes, at: time, messagesJson }) => [step, nodes, time, idsIn(messagesJson)]).slice(0, 2),
      [
        [0, ['agent'], 10, ['a1']],
        [1, ['tools'], 20, ['t1', 't2']],
      ],
    );
  });

  check('a run that is taken over continues after the second of them', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, pair());
    const taken = await claim(threads, 'r1', { workerId: 'w2', takeoverEpoch: epoch });
    t.like(taken, { step: 2, next: ['agent'], openCalls: [], attempt: 1 });
    t.is(text(taken.progressJson), '{"after":"tools"}');
    t.deepEqual(idsIn(taken.outputJson), ['a1', 't1', 't2']);
  });

  check('a fork from the first of them waits where that step left the thread', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, pair());
    const [, first] = await checkpointsOf(threads);
    await threads.forkThread({ ...thread1, checkpointId: first?.checkpointId ?? '', newThreadId: 't2' }, call());
    const { messagesJson } = await threads.listMessages({ owner, threadId: 't2', limit: 9, offset: 0 }, call());
    t.deepEqual(idsIn(messagesJson), ['m-r1', 'a1']);
  });

  check('the second of them may end the run, and gives the thread to the next', async (t, threads) => {
    const { epoch, version } = await acceptAndClaim(threads, 'r1');
    await accept(threads, 'r2');
    const end = { ...completed, iterations: 7 };
    const usageJson = '[{"model":"m","inputTokens":1,"outputTokens":2}]';
    const reply = await commit(threads, 'r1', epoch, pair({ end, next: [], usageJson }));
    t.deepEqual(reply, { version: version + 2, nextRunId: 'r2' });
    t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'completed', end, usageJson });
    t.like(await claim(threads, 'r2'), { step: 0, isTakeover: false });
  });

  check('the tokens on record are those of the last of them that names any', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const usageOf = async (): Promise<unknown> =>
      parse(bytes((await threads.getRun({ owner, runId: 'r1' }, call())).usageJson ?? 'null'));
    await commit(threads, 'r1', epoch, { ...pair(), usageJson: '[1]' });
    t.deepEqual(await usageOf(), [1]);
    const more = { messages: [], step: 2, usageJson: '[2]' };
    await commit(threads, 'r1', epoch, { ...pair({ messages: [], usageJson: '[3]' }), ...more });
    t.deepEqual(await usageOf(), [3]);
  });

  check('neither is committed after a stop, by a worker that lost the run, or twice', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, pair());
    await refused(t, commit(threads, 'r1', epoch, pair()), 'Stale');
    await refused(t, commit(threads, 'r1', epoch, { ...pair(), step: 1 }), 'Stale');
    const taken = await claim(threads, 'r1', { workerId: 'w2', takeoverEpoch: epoch });
    await refused(t, commit(threads, 'r1', epoch, { ...pair(), step: 2 }), 'Stale');
    await threads.endRun({ owner, runId: 'r1', status: 'stopped' }, call());
    await refused(t, commit(threads, 'r1', taken.epoch, { ...pair(), step: 2 }), 'Stale');
    t.deepEqual(await logOf(threads), ['m-r1', 'a1', 't1', 't2']);
  });

  check('a rollback takes both back', async (t, threads) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    await commit(threads, 'r1', epoch, pair());
    await accept(threads, 'r2', { multitaskStrategy: 'rollback', messages: [user('m2')] });
    t.deepEqual(await logOf(threads), []);
    t.deepEqual(fieldsOf(await threads.getState(thread1, call())), {});
  });

  check('neither is written when one of them is refused', async (t, threads) => {
    const { epoch, version } = await acceptAndClaim(threads, 'r1');
    await refused(t, commit(threads, 'r1', epoch, { ...pair(), end: completed }), 'Invalid');
    await refused(t, commit(threads, 'r1', epoch, { ...pair(), wakeAt: Date.now() + 1000 }), 'Invalid');
    const large = (step: string): ReturnType<typeof message>[] =>
      ['a', 'b', 'c'].map((id) => message(`${step}${id}`, 'tool', 'x'.repeat(sizes.context / 6 + 1000)));
    await refused(
      t,
      commit(threads, 'r1', epoch, { ...pair({ messages: large('l2') }), messages: large('l1') }),
      'Invalid',
    );
    await refused(t, commit(threads, 'r1', epoch, pair({ next: ['x'.repeat(sizes.waiting + 1)] })), 'Invalid');
    t.is((await threads.getState(thread1, call())).version, version);
    t.deepEqual(await logOf(threads), ['m-r1']);
    await commit(threads, 'r1', epoch, pair());
  });
}
