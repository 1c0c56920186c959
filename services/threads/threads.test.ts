import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import type { AcceptRunRequest, CommitStepRequest } from '@agent-workflow/protos/threads';
import { openSqliteThreadStore } from './adapters/sqlite/store.ts';
import type { AgentRecords } from './ports/agents.ts';
import type { ThreadChanges } from './ports/changes.ts';
import { createThreads } from './threads.ts';

const thread = { owner: 'u:ada', threadId: 't1' };

const acceptanceOf = (runId: string): AcceptRunRequest => ({
  ...thread,
  runId,
  requestId: 'q',
  messages: [],
  answers: [],
  hasNewInput: true,
  optionsJson: Buffer.from('{}'),
  multitaskStrategy: 'enqueue',
  granularity: 'low',
  claim: { workerId: 'w' },
});

const stepOf = (runId: string, parts: Partial<CommitStepRequest>): CommitStepRequest => ({
  ...thread,
  runId,
  epoch: 0,
  step: 0,
  at: 1_790_000_000_000,
  fields: {},
  messages: [],
  replacesMessages: false,
  removedFromContext: [],
  nodes: [],
  next: [],
  openCalls: [],
  openInterrupts: [],
  ...parts,
});

test('a thread made again within one tick of the clock shows its own state', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const threads = createThreads({ store, now: () => 1_790_000_000_000 });
  for (const turn of ['first', 'second']) {
    const { claimed } = await threads.acceptRun(acceptanceOf(turn), within(5000));
    const fields = { turn: Buffer.from(JSON.stringify(turn)) };
    const end = { status: 'completed', iterations: 1, recursionLimitReached: false } as const;
    await threads.commitStep(stepOf(turn, { epoch: claimed?.epoch ?? 0, fields, end }), within(5000));
    const state = await threads.getState(thread, within(5000));
    t.is(Buffer.from(state.fields['turn'] ?? []).toString(), JSON.stringify(turn));
    await threads.beginDelete(thread, within(5000));
    await threads.finishDelete(thread, within(5000));
  }
});

test('a step of a past claim is refused before the many messages that it names are read, and one that is repeated is not', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const read: number[] = [];
  const change: ThreadChanges['change'] = (key, reads, decide) => {
    read.push(reads.messages?.length ?? 0);
    return store.change(key, reads, decide);
  };
  const threads = createThreads({ store: { ...store, change } });
  const { claimed } = await threads.acceptRun(acceptanceOf('r1'), within(5000));
  const removedFromContext = Array.from({ length: 5000 }, (_, index) => `m${String(index)}`);
  const past = stepOf('r1', { epoch: 99, attemptId: 'a1', removedFromContext });
  read.length = 0;
  await t.throwsAsync(threads.commitStep(past, within(5000)), { code: 'Stale' });
  t.deepEqual(read, [0]);

  const names = [...removedFromContext, ...removedFromContext];
  const own = stepOf('r1', { epoch: claimed?.epoch ?? 0, attemptId: 'a2', removedFromContext: names });
  const reply = await threads.commitStep(own, within(5000));
  t.deepEqual(read, [0, 0, 5000]);
  t.deepEqual(await threads.commitStep(own, within(5000)), reply);
});

test('calls for one agent at the same time read it no more than twice', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  let reads = 0;
  const getAgent: AgentRecords['getAgent'] = (name) => {
    reads += 1;
    return store.getAgent(name);
  };
  const threads = createThreads({ store: { ...store, getAgent } });
  const calls = Array.from({ length: 100 }, () => threads.getRegisteredAgent({ agent: 'support' }, within(5000)));
  for (const call of calls) await t.throwsAsync(call, { code: 'NotFound' });
  t.is(reads, 2);
});
