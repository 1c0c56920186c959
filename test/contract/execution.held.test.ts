import { field, START, StateGraph, textOf, type CompiledGraph } from '@agent-workflow/graph';
import type { RunEvent } from '@agent-workflow/protos/execution';
import test, { type ExecutionContext } from 'ava';
import { call, contextOf, endOf, fieldOf, followAll, invoke, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, type Replicas } from './replicas.ts';

const hour = 3_600_000;

const fields = {
  done: field<string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
  note: field({ type: 'string', default: '' }),
};

/** A node that asks what the note says, one beside it that ends at once, and one after both. */
const asking = (begun: string[] = []): CompiledGraph =>
  new StateGraph(fields)
    .addNode('ask', ({ note, done, context }, { interrupt, emit }) => {
      begun.push(`${note} ${done.join()} ${context.map(textOf).join()}`);
      emit(`asked ${String(interrupt('?'))}`);
      return { done: ['ask'] };
    })
    .addNode('beside', (_state, { emit }) => {
      emit('beside');
      return { done: ['beside'] };
    })
    .addNode('after', () => ({ done: ['after'] }))
    .addEdge(START, 'ask')
    .addEdge(START, 'beside')
    .addEdge(['ask', 'beside'], 'after')
    .compile();

const open = async (t: ExecutionContext, options: Parameters<typeof openReplicas>[0] = {}): Promise<Replicas> => {
  const replicas = await openReplicas(options);
  t.teardown(async () => replicas[Symbol.asyncDispose]());
  return replicas;
};

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

test('a node that begins again with its answer sees what callers wrote meanwhile, and nothing of the node beside it', async (t) => {
  const replicas = await open(t);
  const begun: string[] = [];
  const { execution } = await replicas.open({ graph: asking(begun) });
  t.is((await invoke(execution, { threadId: 't1' })).meta.status, 'interrupted');
  t.deepEqual(await contextOf(replicas.threads, 't1'), ['hi']);
  const { version: expectedVersion } = await replicas.threads.getState({ owner, threadId: 't1' }, call());
  const written = { fields: { note: json('written') }, messages: [] };
  await replicas.threads.writeState({ owner, threadId: 't1', expectedVersion, ...written }, call());
  const messages = [{ ...user('and'), message_id: 'beside-resume' }];
  const { meta } = await invoke(execution, { threadId: 't1', messages, resumeJson: json('yes') });
  t.is(meta.status, 'completed');
  t.deepEqual(begun, ['  hi', 'written  hi,and']);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['ask', 'beside', 'after']);
  t.deepEqual(await contextOf(replicas.threads, 't1'), ['hi', 'and', 'asked yes', 'beside']);
});

test('a user message instead of an answer merges what the step held: its messages before the new one, its fields through their reducers', async (t) => {
  const replicas = await open(t);
  const begun: string[] = [];
  const { execution } = await replicas.open({ graph: asking(begun) });
  await invoke(execution, { threadId: 't1' });
  const again = await invoke(execution, {
    threadId: 't1',
    messages: [user('anew')],
    initialStateJson: json({ done: ['given'] }),
  });
  t.is(again.meta.status, 'interrupted');
  t.deepEqual(begun, ['  hi', ' beside,given hi,beside,anew']);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['beside', 'given']);
  t.deepEqual(await contextOf(replicas.threads, 't1'), ['hi', 'beside', 'anew']);
});

/** A node that sleeps, and one beside it. */
const sleeping = new StateGraph(fields)
  .addNode('sleep', async (_state, { sleep }) => {
    await sleep(hour);
    return { done: ['slept'] };
  })
  .addNode('beside', (_state, { emit }) => {
    emit('bes');
    emit('ide');
    return { done: ['beside'] };
  })
  .addEdge(START, 'sleep')
  .addEdge(START, 'beside')
  .compile();

async function untilAsleep({ threads }: Replicas, runId: string): Promise<void> {
  while ((await threads.getRun({ owner, runId }, call())).status !== 'sleeping')
    await new Promise((resolve) => setImmediate(resolve));
}

test('a run that is stopped in its sleep leaves what its step held to the next one', async (t) => {
  const replicas = await open(t);
  const { execution } = await replicas.open({ graph: sleeping });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  await execution.stopRun({ owner, runId }, call());
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'stopped');
  const next = await start(execution, { threadId: 't1', messages: [user('anew')] });
  await untilAsleep(replicas, next.runId);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['beside']);
  t.deepEqual(await contextOf(replicas.threads, 't1'), ['hi', 'beside', 'anew']);
});

for (const multitaskStrategy of ['enqueue', 'interrupt'] as const)
  test(`a run that is stopped in the step of an answer leaves what that held to the next one (${multitaskStrategy})`, async (t) => {
    const replicas = await open(t);
    const begun: unknown[] = [];
    const graph = new StateGraph(fields)
      .addNode('ask', async (_state, { interrupt, signal }) => {
        begun.push(interrupt('?'));
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        });
        return {};
      })
      .addNode('beside', (_state, { emit }) => {
        emit('beside');
        return { done: ['beside'] };
      })
      .addEdge(START, 'ask')
      .addEdge(START, 'beside')
      .compile();
    const { execution } = await replicas.open({ graph });
    await invoke(execution, { threadId: 't1' });
    const { runId } = await start(execution, { threadId: 't1', messages: [], resumeJson: json('yes') });
    while (begun.length === 0) await new Promise((resolve) => setImmediate(resolve));
    if (multitaskStrategy === 'enqueue') await execution.stopRun({ owner, runId }, call());
    await invoke(execution, { threadId: 't1', messages: [user('anew')], multitaskStrategy });
    t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['beside']);
    t.deepEqual(await contextOf(replicas.threads, 't1'), ['hi', 'beside', 'anew']);
  });

const partsOf = (events: readonly RunEvent[]): readonly unknown[] =>
  events.flatMap((event) => {
    if (event.kind !== 'messages_chunk') return [];
    const { data, message } = toChunk(event);
    return [message ? 'whole' : data];
  });

test('chunks of a message that a sleep holds are published as they come, and the whole message once, after the sleep', async (t) => {
  let ahead = 0;
  const now = (): number => Date.now() + ahead;
  const replicas = await open(t, { now });
  const { execution } = await replicas.open({ graph: sleeping, now });
  const { runId } = await start(execution, { threadId: 't1' });
  await untilAsleep(replicas, runId);
  ahead += hour;
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(partsOf(await followAll(execution, runId)), ['bes', 'ide', 'whole']);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), ['slept', 'beside']);
});
