import test from 'ava';
import {
  END,
  field,
  isCall,
  remoteTool,
  send,
  START,
  StateGraph,
  textOf,
  toolNode,
  type CompiledGraph,
} from '@agent-workflow/graph';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import { unavailable } from '@agent-workflow/kit/errors';
import { call, endOf, fieldOf, followAll, invoke, logOf, owner, start } from './execution/calls.ts';
import { resultOf, toChunk } from './execution/chunks.ts';
import { result, user } from './execution/messages.ts';
import { openReplicas } from './replicas.ts';

const fields = {
  done: field<number[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
const count = 6;

/** Six branches, one after another; `visit` is called with the item and the key of each before it has its effect. */
const fanOut = (visit: (item: number, key: string) => Promise<void> | void, maxConcurrency = 1): CompiledGraph =>
  new StateGraph(fields)
    .addNode(
      'work',
      async (_, { input, idempotencyKey, emit }) => {
        const { item } = input as { readonly item: number };
        await visit(item, idempotencyKey);
        emit(`did ${String(item)}`);
        return { done: [item] };
      },
      { maxConcurrency, retry: { maxAttempts: 2, initialDelayMs: 0 } },
    )
    .addNode('join', (state, { emit }) => emit(`joined ${String(state.done.length)}`))
    .addConditionalEdges(START, () => Array.from({ length: count }, (_, item) => send('work', { item })), ['work'])
    .addEdge('work', 'join')
    .addEdge('join', END)
    .compile();

const all = Array.from({ length: count }, (_, item) => item);
const never = new Promise<never>(() => undefined);

test('branches count as one iteration of their node, and each is a message of the thread', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: fanOut(() => undefined, 4) });
  const { meta, iterations } = await invoke(execution, { threadId: 't1', granularity: 'partial', recursionLimit: 1 });
  t.is(meta.status, 'completed');
  t.is(iterations, 1);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), [
    'hi',
    ...all.map((item) => `did ${String(item)}`),
    `joined ${String(count)}`,
  ]);
});

test('a run whose workers die within one fan-out goes on with the branches that are missing, however often they die', async (t) => {
  await using replicas = await openReplicas();
  const visits: number[] = [];
  const keys = new Set<string>();
  const openDying = async (diesAt: number): Promise<{ readonly kill: () => void; readonly begun: Promise<void> }> => {
    const begun = Promise.withResolvers<undefined>();
    const graph = fanOut(async (item, key) => {
      visits.push(item);
      keys.add(key);
      if (item < diesAt) return;
      begun.resolve(undefined);
      await never;
    });
    const { execution, kill } = await replicas.open({ graph });
    if (diesAt === 1) ({ runId } = await start(execution, { threadId: 't1' }));
    return { kill, begun: begun.promise };
  };
  let runId = '';
  for (const diesAt of [1, 2, 3, 4, 5]) {
    const { kill, begun } = await openDying(diesAt);
    await begun;
    kill();
  }
  const { execution } = await replicas.open({
    graph: fanOut((item, key) => {
      visits.push(item);
      keys.add(key);
    }),
  });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(visits, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  const streamed = (await followAll(execution, runId))
    .map(toChunk)
    .flatMap(({ event, data }) => (event === 'messages_chunk' && data !== '' ? [data] : []));
  t.deepEqual(streamed, [...all.map((item) => `did ${String(item)}`), `joined ${String(count)}`]);
  t.is(keys.size, count);
  t.deepEqual(await fieldOf(replicas.threads, 't1', 'done'), all);
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), [
    'hi',
    ...all.map((item) => `did ${String(item)}`),
    `joined ${String(count)}`,
  ]);
});

test('chunks of a branch that its worker could not publish before it died are published with its result', async (t) => {
  await using replicas = await openReplicas();
  const begun = Promise.withResolvers<undefined>();
  const dying = await replicas.open({
    graph: fanOut((item) => {
      if (item < 2) return undefined;
      begun.resolve(undefined);
      return never;
    }),
    through: ({ eventLog }) => ({
      eventLog: {
        ...eventLog,
        append: (...[scope, after, events, options]: Parameters<RunLog['append']>) =>
          events.some(({ data }) => Buffer.from(data).includes('did 1'))
            ? never
            : eventLog.append(scope, after, events, options),
      },
    }),
  });
  const { runId } = await start(dying.execution, { threadId: 't1' });
  await begun.promise;
  dying.kill();
  const { execution } = await replicas.open({ graph: fanOut(() => undefined) });
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  const texts = new Map<string | undefined, string>();
  for (const { event, data, metadata } of (await followAll(execution, runId)).map(toChunk))
    if (event === 'messages_chunk')
      texts.set(metadata.message_id, `${texts.get(metadata.message_id) ?? ''}${String(data)}`);
  t.deepEqual([...texts.values()].toSorted(), [...all.map((item) => `did ${String(item)}`), 'joined 6']);
});

test('a branch whose result cannot be stored for now waits for the record, and is not run again', async (t) => {
  await using replicas = await openReplicas();
  const visits: number[] = [];
  let refusals = 3;
  const { execution } = await replicas.open({
    graph: fanOut((item) => void visits.push(item)),
    through: ({ threads }) => ({
      threads: {
        ...threads,
        noteToolResult: async (request, at) => {
          if (refusals-- > 0) throw unavailable('the record is unavailable');
          return threads.noteToolResult(request, at);
        },
      },
    }),
  });
  const { meta } = await invoke(execution, { threadId: 't1' });
  t.is(meta.status, 'completed');
  t.deepEqual(visits, all);
});

test('a branch that begins again is announced with its index', async (t) => {
  await using replicas = await openReplicas();
  const failed = new Set<number>();
  const { execution } = await replicas.open({
    graph: fanOut((item) => {
      if (item !== 3 || failed.has(item)) return;
      failed.add(item);
      throw new Error('once');
    }),
  });
  const { runId } = await start(execution, { threadId: 't1' });
  const chunks = (await followAll(execution, runId)).map(toChunk);
  t.deepEqual(
    chunks.filter(({ event }) => event === 'on_chain_stream').map(({ data }) => data),
    [
      { node: 'work', step: 0, status: 'started' },
      { node: 'work', step: 0, status: 'restarted', attempt: 2, branch: 3 },
      { node: 'work', step: 0, status: 'completed' },
      { node: 'join', step: 1, status: 'started' },
      { node: 'join', step: 1, status: 'completed' },
    ],
  );
  t.is((await replicas.threads.getRun({ owner, runId }, call())).status, 'completed');
});

test('what a node publishes as progress is an event of its run, and no message', async (t) => {
  await using replicas = await openReplicas();
  const graph = new StateGraph(fields)
    .addNode('work', (_, { progress, input }) => progress({ percent: input }))
    .addConditionalEdges(START, () => [send('work', 50)])
    .compile();
  const { execution } = await replicas.open({ graph });
  const { runId } = await start(execution, { threadId: 't1', messages: [user('go')] });
  const chunks = (await followAll(execution, runId)).map(toChunk);
  t.deepEqual(chunks.filter(({ event }) => event === 'on_chain_stream').map(({ data }) => data)[1], {
    node: 'work',
    step: 0,
    status: 'progress',
    branch: 0,
    custom: { percent: 50 },
  });
  t.deepEqual((await logOf(replicas.threads, 't1')).map(textOf), ['go']);
});

/** Branches that call a remote tool each, under the id that they are sent, and one that answers with text alone. */
const calling = (): CompiledGraph => {
  const there = remoteTool({ name: 'there', description: '', parameters: { type: 'object' } });
  const inner = new StateGraph({})
    .addNode('agent', (_, { input, emit }) =>
      emit(input === 'text' ? 'text' : { type: 'tool_call', id: String(input), name: 'there', args: {} }),
    )
    .addNode('tools', toolNode([there]))
    .addEdge(START, 'agent')
    .addEdge('agent', 'tools')
    .compile();
  return new StateGraph({})
    .addNode('work', inner)
    .addNode('join', (_, { emit }) => emit('joined'))
    .addConditionalEdges(START, () => ['a', 'b', 'text'].map((id) => send('work', id)), ['work'])
    .addEdge('work', 'join')
    .compile();
};

test('the run waits for the remote tools of all branches, and its replies hold the calls that are open', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({ graph: calling() });
  const threadId = 't1';
  for (const [messages, status, open] of [
    [[user('go')], 'interrupted', ['a', 'b']],
    [[result('b', 'B')], 'interrupted', ['a']],
    [[result('a', 'A')], 'completed', []],
  ] as const) {
    const reply = await invoke(execution, { threadId, messages });
    t.is(reply.meta.status, status);
    const calls = reply.messages.flatMap(({ content }) => content.filter(isCall).map(({ id }) => id));
    t.deepEqual(calls, open);
  }
  t.deepEqual((await logOf(replicas.threads, threadId)).map(textOf).at(-1), 'joined');
});
