import test from 'ava';
import { END, START, StateGraph, textOf, type CompiledGraph } from '@agent-workflow/graph';
import { call, followAll, logOf, nextEvents, owner, start } from './execution/calls.ts';
import { toChunk } from './execution/chunks.ts';
import { openReplicas } from './replicas.ts';
import type { Execution } from '@agent-workflow/protos/execution';

/** Says a sentence, then begins another one and hangs. */
const halting = (): CompiledGraph =>
  new StateGraph({})
    .addNode('first', (_, { emit }) => emit('whole'))
    .addNode('second', async (_, { emit, signal }) => {
      emit('half ');
      emit('a sentence');
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      });
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();

async function untilHalf(execution: Execution, runId: string): Promise<void> {
  const reader = execution.follow({ owner, runId, after: 0 }, call())[Symbol.asyncIterator]();
  while (!(await nextEvents(reader)).map(toChunk).some(({ data }) => data === 'a sentence'));
  await reader.return?.();
}

test('a stop that keeps what was streamed puts it as a message of the thread, in its own write', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: halting() });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilHalf(execution, runId);
  const { stoppedNow, partial } = await execution.stopRun({ owner, runId, keepPartial: true }, call());
  t.true(stoppedNow);
  const log = await logOf(replicas.threads, 't1');
  t.deepEqual(log.map(textOf), ['hi', 'whole', 'half a sentence']);
  const [, whole, kept] = log;
  t.is(whole?.metadata, undefined);
  t.like(kept, { role: 'assistant', metadata: { partial: true } });
  t.deepEqual(partial?.messageIds, [kept?.message_id]);
  const events = await followAll(execution, runId);
  const seen = events.filter(({ messageId, seq }) => messageId === kept?.message_id && seq <= (partial?.seq ?? 0));
  t.deepEqual(
    seen.map((event) => toChunk(event).data),
    ['half ', 'a sentence'],
  );
  const messages = events.filter(({ messageId, message }) => messageId === kept?.message_id && message);
  t.is(messages.length, 1);
});

test('a stop that keeps nothing leaves the thread as it was committed, and so does one that cannot read the log', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({
    graph: halting(),
    through: ({ eventLog }) => ({
      eventLog: {
        ...eventLog,
        readUpTo: () => {
          throw new Error('the log is lost');
        },
      },
    }),
  });
  for (const [threadId, keepPartial] of [
    ['t1', false],
    ['t2', true],
  ] as const) {
    const { runId } = await start(execution, { threadId });
    await untilHalf(execution, runId);
    const { stoppedNow, partial } = await execution.stopRun({ owner, runId, keepPartial }, call());
    t.true(stoppedNow);
    t.is(partial, undefined);
    t.deepEqual((await logOf(replicas.threads, threadId)).map(textOf), ['hi', 'whole']);
  }
});

test('a stop of a run that has ended keeps nothing, and one that is repeated says the same', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: halting() });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilHalf(execution, runId);
  const stop = { owner, runId, keepPartial: true, onceKey: 'k1' };
  const first = await execution.stopRun(stop, call());
  t.true(first.partial !== undefined && first.partial.seq > 0);
  t.deepEqual(await execution.stopRun(stop, call()), first);
  const later = await execution.stopRun({ owner, runId, keepPartial: true }, call());
  t.deepEqual(later, { status: 'stopped', stoppedNow: false });
  t.is((await logOf(replicas.threads, 't1')).length, 3);
});
