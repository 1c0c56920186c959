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

const bound = (
  memory: Parameters<typeof bindMemory>[0],
  key?: string,
  given: Partial<Parameters<typeof bindMemory>[1]> = {},
): ReturnType<typeof bindMemory> => {
  const run = { owner, threadId: 't1', agent: 'refunds', signal: new AbortController().signal, forMs: 0, key };
  return bindMemory(memory, { ...run, ...given });
};
const open = async (): ReturnType<typeof openMemory> =>
  openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) });

test('a key of the author is one memory of the owner, which the next node or run replaces', async (t) => {
  await using opened = await open();
  const { memory } = opened;
  const id = await bound(memory, 'step 1').store({ content: 'likes tea', key: 'taste' });
  t.is(await bound(memory, 'step 2').store({ content: 'likes coffee', key: 'taste' }), id);
  t.is(await bound(memory).store({ content: 'likes coffee', key: 'taste' }), id);
  t.not(await bound(memory, 'step 1').store({ content: 'likes tea' }), id);
  const { memories, total } = await bound(memory).list();
  t.deepEqual([memories.map(({ content }) => content).sort(), total], [['likes coffee', 'likes tea'], 2]);
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

test('a node uses the scopes that its run may, and finds no others', async (t) => {
  await using opened = await open();
  const knowledge = {
    'shared:handbook': { read: true },
    'shared:prices': { write: true },
    'shared:faq': { read: ['refunds'], write: ['loader'] },
  } as const;
  const refunds = bound(opened.memory, undefined, { knowledge });
  const loader = bound(opened.memory, undefined, { knowledge, agent: 'loader', owner: 'u:ops' });
  const other = bound(opened.memory, undefined, { agent: 'other', owner: 'u:eve' });
  const stored = await loader.store({ content: 'tea of the faq', scope: 'shared:faq', key: 'page 1' });
  await refunds.store({ content: 'tea of the prices', scope: 'shared:prices' });
  await refunds.store({ content: 'tea of the agent', scope: 'agent:refunds', dedupe: true });
  await refunds.store({ content: 'tea of ada' });
  const scopes = ['own', 'agent:refunds', 'shared:handbook', 'shared:prices', 'shared:faq'];
  const found = await refunds.search('tea', { scopes });
  t.deepEqual(found.map(({ content, scope }) => [content, scope]).sort(), [
    ['tea of ada', undefined],
    ['tea of the agent', 'agent:refunds'],
    ['tea of the faq', 'shared:faq'],
    ['tea of the prices', 'shared:prices'],
  ]);
  t.deepEqual(
    (await refunds.search('tea')).map(({ content }) => content),
    ['tea of ada'],
  );
  for (const scope of ['shared:handbook', 'shared:faq']) {
    await t.throwsAsync(refunds.store({ content: 'x', scope }), { name: 'PermissionDenied' });
    await t.throwsAsync(refunds.update(stored, { content: 'x' }, { scope }), { name: 'PermissionDenied' });
    await t.throwsAsync(refunds.delete(stored, { scope }), { name: 'PermissionDenied' });
    await t.throwsAsync(refunds.forget({ scope, all: true }), { name: 'PermissionDenied' });
  }
  for (const scope of ['agent:refunds', 'shared:handbook', 'shared:none'])
    for (const call of [
      () => other.store({ content: 'x', scope }),
      () => other.search('x', { scopes: ['own', scope] }),
      () => other.list({ scope }),
      () => other.update(stored, { content: 'x' }, { scope }),
      () => other.delete(stored, { scope }),
      () => other.forget({ scope, all: true }),
    ])
      await t.throwsAsync(call, { name: 'NotFound', message: `scope "${scope}" does not exist` });
  await t.throwsAsync(refunds.list({ scope: 'nope' }), { message: /^scope must be own, agent:NAME or shared:NAME/ });
  await t.throwsAsync(refunds.search('x', { scopes: [] }), { message: /must be a list of scopes/ });
  t.like(await loader.update(stored, { content: 'coffee' }, { scope: 'shared:faq' }), { content: 'coffee' });
  t.is(await loader.store({ content: 'coffee!', scope: 'shared:faq', key: 'page 1' }), stored);
  t.deepEqual(
    (await refunds.list({ scope: 'shared:faq' })).memories.map(({ content }) => content),
    ['coffee!'],
  );
  t.is(await loader.forget({ scope: 'shared:faq', category: 'general' }), 1);
  await t.throwsAsync(loader.forget({ scope: 'shared:faq' }), { name: 'Invalid' });
  t.is((await refunds.list()).total, 1);
});

test('many memories are stored in one call, of which each is refused for itself', async (t) => {
  await using opened = await open();
  const memory = bound(opened.memory, 'step 1');
  const items = Array.from({ length: 50 }, (_, at) => ({ content: `fact ${String(at)}`, key: String(at % 40) }));
  const outcomes = await memory.storeAll([
    ...items,
    { content: '' },
    { content: 'x', scope: 'shared:none' },
    7 as never,
  ]);
  t.is(outcomes.length, 53);
  const ids = outcomes.flatMap((outcome) => ('id' in outcome ? [outcome.id] : []));
  t.deepEqual([ids.length, new Set(ids).size], [50, 40]);
  t.deepEqual(
    outcomes.slice(50).map((outcome) => ('error' in outcome ? outcome.error.name : '')),
    ['Invalid', 'NotFound', 'BadRequest'],
  );
  const { memories, total } = await memory.list();
  t.is(total, 40);
  t.deepEqual(
    memories.map(({ content }) => content).sort(),
    items
      .slice(10)
      .map(({ content }) => content)
      .sort(),
  );
  await t.throwsAsync(memory.storeAll('no' as never), { message: 'memory.storeAll takes a list of memories' });
});
