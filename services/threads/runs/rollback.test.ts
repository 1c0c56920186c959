import test from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { AcceptRunReply, Threads } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import { createThreads } from '../threads.ts';

const owner = 'u:ada';
const thread = { owner, threadId: 't1' };

const accept = async (threads: Threads, runId: string): Promise<AcceptRunReply> =>
  threads.acceptRun(
    {
      ...thread,
      runId,
      requestId: 'q',
      messages: [],
      answers: [],
      hasNewInput: false,
      optionsJson: Buffer.from('{}'),
      multitaskStrategy: 'rollback',
      granularity: 'low',
      claim: { workerId: 'w1' },
    },
    within(5000),
  );

test('a run of which the store has forgotten something is not rolled back by half', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store });
  const { claimed } = await accept(threads, 'r1');
  const step = { nodes: ['a'], next: ['a'], messages: [], replacesMessages: false, removedFromContext: [] };
  const commit = { ...thread, ...step, runId: 'r1', epoch: claimed?.epoch ?? 0, step: 0, at: Date.now() };
  const fields = { a: Buffer.from('1') };
  await threads.commitStep({ ...commit, fields, openCalls: [], openInterrupts: [] }, within(5000));
  await store.change(thread, {}, ({ head }) => {
    if (head?.foundVersion === undefined) throw new Error('no run holds the thread');
    return { change: { head, dropCheckpointsTo: head.foundVersion + 1 }, reply: undefined };
  });
  const error: unknown = await t.throwsAsync(accept(threads, 'r2'), { message: /multitask_strategy: run "r1"/ });
  t.true(isServiceError(error, 'Conflict'));
  t.like(await threads.getRun({ owner, runId: 'r1' }, within(5000)), { status: 'running' });
  const state = await threads.getState(thread, within(5000));
  t.is(Buffer.from(state.fields['a'] ?? '').toString(), '1');
});
