import test from 'ava';
import { END, START, StateGraph, type CompiledGraph, type NodeContext } from '@agent-workflow/graph';
import { bindMemory } from '@agent-workflow/execution/steps/bound-memory';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { call, endOf, owner, start } from './execution/calls.ts';
import { resultOf } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas } from './replicas.ts';

const go = { threadId: 't1', messages: [user('go')] };

/** A graph of one node, which is tried three times. */
const graphOf = (node: (attempt: number, ctx: NodeContext) => Promise<void>): CompiledGraph => {
  let attempt = 0;
  return new StateGraph({})
    .addNode('remember', async (_state, ctx) => node(++attempt, ctx), { retry: { maxAttempts: 3, initialDelayMs: 0 } })
    .addEdge(START, 'remember')
    .addEdge('remember', END)
    .compile();
};

const contentsOf = async (replicas: Awaited<ReturnType<typeof openReplicas>>): Promise<string[]> => {
  const { memories } = await replicas.memory.list({ owner, selection: {}, limit: 100, offset: 0 }, call());
  return memories.map(({ content }) => content).sort();
};

test('what a node stores is stored once when it begins again, equal memories of one attempt each, in any order', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({
    graph: graphOf(async (attempt, { memory }) => {
      const contents = ['tea', 'tea', 'coffee'];
      for (const content of attempt === 2 ? contents.toReversed() : contents) await memory.store({ content });
      await memory.store({ content: 'tea', category: 'drinks' });
      if (attempt < 3) throw new Error('again');
    }),
  });
  for (let run = 1; run <= 2; run += 1) {
    const { runId } = await start(execution, go);
    t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
    t.deepEqual(
      await contentsOf(replicas),
      Array.from({ length: run }, () => ['coffee', 'tea', 'tea', 'tea'])
        .flat()
        .sort(),
    );
  }
});

test('a node that asks, or sleeps, has stored once when it begins again', async (t) => {
  await using replicas = await openReplicas();
  const { execution } = await replicas.open({
    graph: graphOf(async (_attempt, { memory, sleep }) => {
      await memory.store({ content: 'before the sleep' });
      await sleep(1);
      await memory.store({ content: 'after it' });
    }),
  });
  const { runId } = await start(execution, go);
  t.is(resultOf(await endOf(execution, runId)).meta.status, 'completed');
  t.deepEqual(await contentsOf(replicas), ['after it', 'before the sleep']);
});

const bound = (memory: Parameters<typeof bindMemory>[0], key?: string): ReturnType<typeof bindMemory> =>
  bindMemory(memory, { owner, threadId: 't1', signal: new AbortController().signal, forMs: 0, key });
const open = async (): ReturnType<typeof openMemory> =>
  openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) });

test('a key of the author is one memory of the owner, whichever node or run stores it', async (t) => {
  await using opened = await open();
  const { memory } = opened;
  const id = await bound(memory, 'step 1').store({ content: 'likes tea', key: 'taste' });
  t.is(await bound(memory, 'step 2').store({ content: 'likes coffee', key: 'taste' }), id);
  t.is(await bound(memory).store({ content: 'likes coffee', key: 'taste' }), id);
  t.not(await bound(memory, 'step 1').store({ content: 'likes tea' }), id);
  const { memories, total } = await bound(memory).list();
  t.deepEqual([memories.map(({ content }) => content), total], [['likes tea', 'likes tea'], 2]);
  for (const key of ['', 7, 'x'.repeat(257)])
    await t.throwsAsync(bound(memory).store({ content: 'x', key: key as string }), {
      message: 'key of memory.store must be a text of 1 to 256 characters',
    });
});

test('nodes filter, list, update and delete memories as callers do, and twice the same has one effect', async (t) => {
  await using opened = await open();
  const memory = bound(opened.memory, 'step 1');
  const march = await memory.store({
    content: 'rain in march',
    metadata: { city: 'Porto' },
    timestamp: '2024-03-05',
    expiresAt: new Date('2999-01-01'),
  });
  await memory.store({ content: 'rain of now', category: 'weather', metadata: { city: 'Faro' } });
  await memory.store({ content: 'gone rain', expiresAt: 1 });
  const search = async (options: object): Promise<string[]> =>
    (await memory.search('rain', { strategy: 'hybrid', ...options })).map(({ content }) => content).sort();
  t.deepEqual(await search({}), ['rain in march', 'rain of now']);
  t.deepEqual(await search({ filters: { city: { $in: ['Porto'] } } }), ['rain in march']);
  t.deepEqual(await search({ filters: { timestamp: { $lt: '2025-01-01' } } }), ['rain in march']);
  t.deepEqual(
    await search({ maxTokens: 1, limit: 1, options: { alpha: 0 }, distanceMetric: 'euclidean' }).then(
      (all) => all.length,
    ),
    1,
  );
  t.deepEqual(
    (await memory.list({ category: 'weather' })).memories.map(({ content }) => content),
    ['rain of now'],
  );
  const first = await memory.list({ limit: 1 });
  t.deepEqual([first.memories.length, first.total], [1, 2]);
  t.is((await memory.list({ limit: 1, cursor: first.cursor })).memories[0]?.id, march);

  const change = { content: 'sun in march', metadata: { checked: true } };
  const changed = await memory.update(march, change);
  t.like(changed, { content: 'sun in march', metadata: { city: 'Porto', checked: true } });
  t.like(changed, { timestamp: '2024-03-05T00:00:00.000Z', expiresAt: '2999-01-01T00:00:00.000Z' });
  await memory.delete(march);
  await t.throwsAsync(memory.delete(march), { name: 'NotFound' });
  // The node begins again.
  const again = bound(opened.memory, 'step 1');
  t.like(await again.update(march, change), { content: 'sun in march' });
  await again.delete(march);
  t.deepEqual(
    (await again.list()).memories.map(({ content }) => content),
    ['rain of now'],
  );
  await t.throwsAsync(bound(opened.memory, 'step 2').delete(march), { name: 'NotFound' });
});

test('what nodes give memory under a name that it does not know is refused by name', async (t) => {
  await using opened = await open();
  const memory = bound(opened.memory);
  const odd = { memory_type: 'semantic', strategyy: 'hybrid', expires: 1 };
  for (const [work, message] of [
    [() => memory.store({ content: 'x', ...odd }), /memory\.store is given has memory_type.*is memoryType meant\?/],
    [() => memory.search('x', odd as never), /memory\.search is given has memory_type/],
    [() => memory.list({ strategy: 'hybrid' } as never), /memory\.list is given has strategy/],
    [() => memory.update('x', { content: 'x', key: 'k' } as never), /memory\.update is given has key/],
  ] as const)
    await t.throwsAsync(work, { message });
  t.is((await memory.list()).total, 0);
});
