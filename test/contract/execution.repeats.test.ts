import test from 'ava';
import { END, field, START, StateGraph } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import { call, endOf, owner, start } from './execution/calls.ts';
import { gates, passGate } from './execution/gates.ts';
import { user } from './execution/messages.ts';
import { openReplicas, withoutTaking } from './replicas.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

/** A field whose reducer adds, and refuses to go beyond ten. */
const sum = field<number>({
  type: 'number',
  default: 0,
  reducer: (total, more) => {
    if (total + more > 10) throw new Error('more than ten');
    return total + more;
  },
});

const graph = new StateGraph({ sum })
  .addNode('wait', async (state, ctx) => {
    await passGate(state.context, ctx);
    ctx.emit('done');
  })
  .addEdge(START, 'wait')
  .addEdge('wait', END)
  .compile();

test('a run without a thread that is started again at another replica is the same run of the same new thread', async (t) => {
  await using replicas = await openReplicas();
  const one = await replicas.open({ graph });
  const other = await replicas.open({ graph, through: withoutTaking });
  const request = { runId: newId(), runIdIsNew: true };
  const [first, second] = await Promise.all([start(one.execution, request), start(other.execution, request)]);
  t.is(second.threadId, first.threadId);
  await endOf(one.execution, first.runId);
  const third = await start(other.execution, request);
  t.deepEqual([third.runId, third.threadId, third.status], [first.runId, first.threadId, 'completed']);
  const { threads } = await replicas.threads.listThreads({ owner, limit: 10, offset: 0 }, call());
  t.is(threads.length, 1);
});

test('a stop sent again as one attempt says again that it stopped the run', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  const gate = gates.next();
  const { runId } = await start(execution, { threadId: 't1', messages: [user(gate.name)] });
  await gate.entered;
  const stop = { owner, runId, attemptId: newId() };
  const first = await execution.stopRun(stop, call());
  t.deepEqual(first, { status: 'stopped', stoppedNow: true });
  t.deepEqual(await execution.stopRun(stop, call()), first);
  t.false((await execution.stopRun({ ...stop, attemptId: newId() }, call())).stoppedNow);
  gate.open();
});

test('a state update sent again as one attempt is applied once, also when its reducer would refuse it by then', async (t) => {
  await using replicas = await openReplicas();
  const one = await replicas.open({ graph });
  const other = await replicas.open({ graph });
  await endOf(one.execution, (await start(one.execution, { threadId: 't1' })).runId);
  const update = { owner, threadId: 't1', stateJson: json({ sum: 6 }), attemptId: newId() };
  const first = await one.execution.updateState(update, call());
  const again = await other.execution.updateState(update, call());
  t.deepEqual([textOf(first.fields['sum']), textOf(again.fields['sum'])], ['6', '6']);
  t.is(again.version, first.version);
  await t.throwsAsync(one.execution.updateState({ ...update, attemptId: newId() }, call()), { message: /state/ });
});

test('a deletion sent again as one attempt leaves a thread alone that was made since, and what is remembered of it', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph });
  await endOf(execution, (await start(execution, { threadId: 't1' })).runId);
  const deletion = { owner, threadId: 't1', attemptId: newId() };
  await execution.deleteThread(deletion, call());
  await execution.deleteThread(deletion, call());
  await endOf(execution, (await start(execution, { threadId: 't1' })).runId);
  const memory = {
    owner,
    memoryId: newId(),
    content: 'tea',
    memoryType: 'semantic' as const,
    category: 'c',
    threadId: 't1',
  };
  await replicas.memory.store({ ...memory, metadataJson: json({}) }, call());
  await execution.deleteThread(deletion, call());
  t.is((await replicas.threads.getThread({ owner, threadId: 't1' }, call())).threadId, 't1');
  t.is((await replicas.memory.get({ owner, memoryId: memory.memoryId }, call())).content, 'tea');
});
