import type { TestFn } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { accept, call, claim, commit, completed, owner, refused, thread1 } from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const agentOfThread = async (threads: Threads, threadId = 't1'): Promise<string | undefined> =>
  (await threads.getThread({ owner, threadId }, call())).agent;

const runsOf = async (threads: Threads, threadId = 't1'): Promise<(string | undefined)[]> =>
  (await threads.listRuns({ owner, threadId, limit: 10, offset: 0 }, call())).runs.map(({ agent }) => agent);

/** A run of the agent that has ended. */
async function ended(threads: Threads, runId: string, place: { readonly threadId?: string; readonly agent?: string }) {
  await accept(threads, runId, place);
  const { epoch } = await claim(threads, runId, place);
  await commit(threads, runId, epoch, { ...place, end: completed });
}

/** What the record promises about agents and their threads. */
export function threadsAgentsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  check('a thread belongs to the agent of its first run, and so do its state and its runs', async (t, threads) => {
    await ended(threads, 'r1', { agent: 'billing' });
    await ended(threads, 'r2', { threadId: 't2' });
    t.deepEqual([await agentOfThread(threads), await agentOfThread(threads, 't2')], ['billing', 'default']);
    t.deepEqual([await runsOf(threads), await runsOf(threads, 't2')], [['billing'], ['default']]);
    t.is((await threads.getState(thread1, call())).agent, 'billing');
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).agent, 'billing');
    const { threads: listed } = await threads.listThreads({ owner, limit: 10, offset: 0 }, call());
    t.deepEqual(new Map(listed.map(({ threadId, agent }) => [threadId, agent])).get('t1'), 'billing');
  });

  check('runs of an agent are listed, page by page', async (t, threads) => {
    for (const index of [1, 2, 3]) {
      await ended(threads, `b${index}`, { threadId: `b${index}`, agent: 'billing' });
      await ended(threads, `d${index}`, { threadId: `d${index}` });
    }
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const request = {
        owner,
        limit: 2,
        statuses: [],
        agent: 'billing',
        ...(cursor === undefined ? {} : { cursor }),
      };
      const page = await threads.listOwnRuns(request, call());
      found.push(...page.runs.map(({ runId }) => runId));
      ({ cursor } = page);
    } while (cursor !== undefined);
    t.deepEqual(found.toSorted(), ['b1', 'b2', 'b3']);
    const { cursor: other = '' } = await threads.listOwnRuns({ owner, limit: 1, statuses: [] }, call());
    await refused(
      t,
      threads.listOwnRuns({ owner, limit: 1, statuses: [], agent: 'billing', cursor: other }, call()),
      'Invalid',
    );
  });

  check(
    'a run of another agent is refused; one that guesses learns the agent, and changes nothing',
    async (t, threads) => {
      await ended(threads, 'r1', { agent: 'billing' });
      const before = await threads.getThread(thread1, call());
      await refused(t, accept(threads, 'r2', { agent: 'support' }), 'Conflict');
      await refused(t, accept(threads, 'r2'), 'Conflict');
      const guess = { agent: 'support', agentIsGuess: true, attemptId: 'a1' };
      t.is((await accept(threads, 'r2', guess)).otherAgent, 'billing');
      t.is((await accept(threads, 'r2', guess)).otherAgent, 'billing');
      t.deepEqual(await threads.getThread(thread1, call()), before);
      await refused(t, threads.getRun({ owner, runId: 'r2' }, call()), 'NotFound');
      const right = await accept(threads, 'r2', { ...guess, agent: 'billing' });
      t.like(right, { status: 'queued', runnable: true, otherAgent: undefined });
    },
  );

  check('a run is claimed for its own agent alone', async (t, threads) => {
    await accept(threads, 'r1', { agent: 'billing' });
    await refused(t, claim(threads, 'r1'), 'Stale');
    t.is((await claim(threads, 'r1', { agent: 'support', attemptId: 'a1' })).otherAgent, 'billing');
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'queued');
    const claimed = await claim(threads, 'r1', { agent: 'billing', attemptId: 'a1' });
    t.like(claimed, { agent: 'billing', attempt: 1, otherAgent: undefined });
    const taken = await claim(threads, 'r1', { agent: 'billing', takeoverEpoch: claimed.epoch });
    t.like(taken, { agent: 'billing', attempt: 2, isTakeover: true });
    await accept(threads, 'r2', { threadId: 't2' });
    t.is((await claim(threads, 'r2', { threadId: 't2', agent: 'default' })).otherAgent, undefined);
  });

  check('a run that is claimed as it is accepted is claimed for its agent', async (t, threads) => {
    const claimIntent = { claim: { workerId: 'w1' } };
    const { claimed } = await accept(threads, 'r1', { agent: 'billing', ...claimIntent });
    t.is(claimed?.agent, 'billing');
    await refused(t, accept(threads, 'r2', { agent: 'support', ...claimIntent }), 'Conflict');
    t.is(
      (await accept(threads, 'r3', { agent: 'billing', multitaskStrategy: 'interrupt', ...claimIntent })).claimed
        ?.agent,
      'billing',
    );
  });

  check('a fork belongs to the agent of its thread', async (t, threads) => {
    for (const agent of ['billing', undefined]) {
      const threadId = `of-${agent ?? 'default'}`;
      await ended(threads, `run-${threadId}`, { threadId, ...(agent && { agent }) });
      const { checkpoints } = await threads.listCheckpoints({ owner, threadId, limit: 1, offset: 0 }, call());
      const checkpointId = checkpoints[0]?.checkpointId ?? '';
      const newThreadId = `fork-${threadId}`;
      await threads.forkThread({ owner, threadId, checkpointId, newThreadId }, call());
      t.is(await agentOfThread(threads, newThreadId), agent ?? 'default');
      await refused(t, accept(threads, `again-${threadId}`, { threadId: newThreadId, agent: 'support' }), 'Conflict');
    }
  });

  check('a deleted thread leaves its agent behind', async (t, threads) => {
    await ended(threads, 'r1', { agent: 'billing' });
    await threads.beginDelete(thread1, call());
    await threads.finishDelete(thread1, call());
    await ended(threads, 'r2', { agent: 'support' });
    t.is(await agentOfThread(threads), 'support');
  });
}
