import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import fc from 'fast-check';
import { distanceMetrics, retrievalStrategies } from '@agent-workflow/protos/lists';
import type { MemoryItem } from '@agent-workflow/protos/memory';
import { call, fromJson, newOwner, owner, toJson } from './calls.ts';
import { checksOf, refuses, type Opener } from './checks.ts';
import { oracle } from './scores.ts';

/** Memories that several owners have together, beside those of each. */
export function scopeTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);
  const handbook = 'shared:handbook';

  withMemory('every call means the memories of its scope alone', async (t, memory, { store, find }) => {
    const scopes = ['own', 'agent:refunds', handbook];
    const ids = new Map<string, string>();
    for (const scope of scopes) ids.set(scope, await store(`tea of ${scope}`, { scope }));
    const listed = async (scope: string, by = owner): Promise<string[]> =>
      (await memory.list({ owner: by, scope, selection: {}, limit: 10, offset: 0 }, call)).memories.map(
        ({ content }) => content,
      );
    for (const scope of scopes) {
      t.deepEqual(await listed(scope), [`tea of ${scope}`]);
      t.deepEqual(await listed(scope, 'u:bob'), scope === 'own' ? [] : [`tea of ${scope}`]);
      t.deepEqual(await find('tea', { scopes: [scope] }), [`tea of ${scope}`]);
      for (const [other, memoryId] of ids) {
        if (other === scope) t.is((await memory.get({ owner, memoryId, scope }, call)).content, `tea of ${scope}`);
        else {
          await refuses(t, memory.get({ owner, memoryId, scope }, call), 'NotFound');
          await refuses(t, memory.update({ owner, memoryId, scope, content: 'no' }, call), 'NotFound');
          await refuses(t, memory.delete({ owner, memoryId, scope }, call), 'NotFound');
        }
      }
    }
    t.deepEqual(await find('tea'), ['tea of own']);
    await memory.update(
      { owner: 'u:bob', memoryId: ids.get(handbook) ?? '', scope: handbook, content: 'coffee' },
      call,
    );
    await memory.delete({ owner: 'u:bob', memoryId: ids.get('agent:refunds') ?? '', scope: 'agent:refunds' }, call);
    await memory.forget({ owner, selection: {}, all: true }, call);
    t.deepEqual(await Promise.all(scopes.map(async (scope) => listed(scope))), [[], [], ['coffee']]);
    await memory.forget({ owner: 'u:eve', scope: handbook, selection: { category: 'notes' }, all: false }, call);
    t.deepEqual(await listed(handbook), []);
  });

  withMemory('a scope has a name', async (t, memory, { store, find }) => {
    for (const scope of ['', 'other', 'own:a', 'shared:', 'shared:A', 'shared:a/b', 'agent:', 'shared:a\n', 'u:bob'])
      await refuses(t, store('tea', { scope }), 'Invalid', ['scope']);
    await refuses(t, find('tea', { scopes: ['own', 'nope'] }), 'Invalid', ['scopes', 1]);
    const many = Array.from({ length: 9 }, (_, at) => `shared:s${String(at)}`);
    await refuses(t, find('tea', { scopes: many }), 'Invalid', ['scopes']);
    t.deepEqual(await find('tea', { scopes: many.slice(1) }), []);
    t.deepEqual(await find('tea', { scopes: Array.from({ length: 20 }, () => 'own') }), []);
    await refuses(t, memory.list({ owner, scope: 'x', selection: {}, limit: 1, offset: 0 }, call), 'Invalid');
  });

  withMemory(
    'several scopes are searched as if they were one, with each metric, and each result says its scope',
    async (t, memory, { store, search, vectorOf }) => {
      const word = fc.constantFrom('river', 'stone', 'coffee', 'morning', 'piano', 'ünïcode', '北京');
      const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));
      const example = fc.record({
        contents: fc.array(fc.tuple(text, fc.nat(2)), { minLength: 1, maxLength: 16 }),
        query: text,
        limit: fc.integer({ min: 1, max: 20 }),
        metric: fc.constantFrom(...distanceMetrics),
      });
      await fc.assert(
        fc.asyncProperty(example, async ({ contents, query, limit, metric }) => {
          const scopes = ['own', `shared:s${randomUUID()}`, `agent:a${randomUUID()}`];
          const by = newOwner();
          for (const [content, at] of contents) await store(content, { owner: by, scope: scopes[at] ?? '' });
          const wanted = await vectorOf(query);
          const all: MemoryItem[] = [];
          for (const scope of scopes) {
            const listed = await memory.list({ owner: by, scope, selection: {}, limit: 100, offset: 0 }, call);
            all.push(...listed.memories);
          }
          const expected = all
            .map(({ vectorJson }) => oracle[metric](wanted, fromJson(vectorJson) as number[]))
            .sort((a, b) => b - a)
            .slice(0, limit);
          const asked = { owner: by, scopes, distanceMetric: metric, maxTokens: 1e6 };
          const results = await search(query, { ...asked, limit });
          t.is(results.length, expected.length);
          for (const [index, { score, scope = 'own', memoryId }] of results.entries()) {
            t.true(Math.abs(score - (expected[index] ?? NaN)) < 1e-3, `${String(score)} at ${String(index)}`);
            t.is((await memory.get({ owner: by, scope, memoryId }, call)).memoryId, memoryId);
          }
        }),
        { numRuns: 15 },
      );
    },
  );

  withMemory('each strategy and its bounds hold over several scopes', async (t, _, { store, search }) => {
    const ids: string[] = [];
    for (const [at, content] of ['harbour opens', 'harbour closes', 'café in the harbour', 'tea'].entries())
      for (const scope of ['own', handbook])
        ids.push(await store(`${content} ${scope}`, { scope, timestamp: 1000 * at + (scope === 'own' ? 1 : 0) }));
    for (const retrievalStrategy of retrievalStrategies) {
      const asked = { scopes: ['own', handbook], retrievalStrategy };
      const all = await search('harbour café', { ...asked, options: { seeds: 100 } });
      t.is(new Set(all.map(({ memoryId }) => memoryId)).size, all.length);
      if (retrievalStrategy === 'temporal')
        t.deepEqual(all.map(({ timestamp }) => timestamp).slice(0, 3), [3001, 3000, 2001]);
      else {
        t.deepEqual(
          all.map(({ score }) => score),
          all.map(({ score }) => score).sort((a, b) => b - a),
        );
        t.true(
          all.slice(0, 2).every(({ content }) => content.startsWith('café in the harbour')),
          retrievalStrategy,
        );
        t.deepEqual(new Set(all.slice(0, 2).map(({ scope = 'own' }) => scope)), new Set(['own', handbook]));
      }
      const first = await search('harbour café', { ...asked, limit: 3, options: { seeds: 100 } });
      t.deepEqual(
        first.map(({ memoryId }) => memoryId),
        all.slice(0, 3).map(({ memoryId }) => memoryId),
      );
      const short = await search('harbour café', { ...asked, maxTokens: 14, options: { seeds: 100 } });
      t.true(short.length < all.length && short.length > 0);
      t.deepEqual(short[0], first[0]);
    }
    const newest = await search(' ', { scopes: ['own', handbook], limit: 3 });
    t.deepEqual(
      newest.map(({ memoryId }) => memoryId),
      ids.toReversed().slice(0, 3),
    );
    t.deepEqual(
      newest.map(({ scope }) => scope),
      [handbook, undefined, handbook],
    );
  });

  withMemory('a few own words do not outdo a good document of many', async (t, _, { store, search }) => {
    for (let at = 0; at < 30; at += 1) await store(`page ${String(at)} about refunds`, { scope: handbook });
    await store('a refund above 500 EUR needs the signature of a manager', { scope: handbook });
    await store('the manager likes tea');
    const [best] = await search('who signs a refund above 500 EUR, a manager?', {
      scopes: ['own', handbook],
      retrievalStrategy: 'hybrid',
      options: { alpha: 0 },
    });
    t.is(best?.scope, handbook);
  });

  withMemory('relationships lead on within their scope', async (t, _, { store, search }) => {
    const link = (source: string, target: string): object => ({
      metadata: { source, target },
      memoryType: 'relationship',
    });
    await store('Ada Lovelace', { memoryType: 'entity', metadata: { name: 'Ada' }, scope: handbook });
    await store('Babbage builds engines', { memoryType: 'entity', metadata: { name: 'Babbage' }, scope: handbook });
    await store('works with', { ...link('Ada', 'Babbage'), scope: handbook });
    await store('knows nobody here', link('Ada', 'Babbage'));
    const asked = { scopes: ['own', handbook], retrievalStrategy: 'graph_traversal', options: { seeds: 1 } } as const;
    const found = await search('Ada Lovelace', asked);
    t.deepEqual(
      found.map(({ content }) => content),
      ['Ada Lovelace', 'works with', 'Babbage builds engines'],
    );
  });

  withMemory('a key has one memory in its scope, which the next one replaces', async (t, memory, { store }) => {
    const base = { owner, memoryType: 'semantic', category: 'notes', metadataJson: toJson({}) } as const;
    const put = async (content: string, rest: object = {}) =>
      memory.store({ ...base, memoryId: randomUUID(), content, key: 'page 1', ...rest }, call);
    const first = await put('first', { metadataJson: toJson({ a: 1 }), threadId: 't1' });
    t.true(first.isNew);
    t.deepEqual(await put('second', { memoryType: 'episodic', expiresAt: Date.now() + 600_000 }), {
      ...first,
      isNew: false,
    });
    const item = await memory.get({ owner, memoryId: first.memoryId }, call);
    t.deepEqual(
      [item.content, item.memoryType, item.threadId, fromJson(item.metadataJson)],
      ['second', 'episodic', '', {}],
    );
    await put('third');
    t.is((await memory.get({ owner, memoryId: first.memoryId }, call)).expiresAt, undefined);
    const others = [
      await put('third', { scope: handbook }),
      await put('third', { scope: 'agent:refunds' }),
      await put('third', { key: 'page 2' }),
    ];
    t.is(new Set([first, ...others].map(({ memoryId }) => memoryId)).size, 4);
    t.is((await memory.list({ owner, selection: {}, limit: 1, offset: 0 }, call)).total, 2);
    await memory.delete({ owner, memoryId: first.memoryId }, call);
    t.deepEqual(await put('fourth'), first);
    for (const key of ['', 'k'.repeat(257)]) await refuses(t, put('x', { key }), 'Invalid', ['key']);
    t.truthy(await store('unrelated'));
  });

  withMemory('a store of a key that is sent again leaves what came after it', async (t, memory) => {
    const base = { owner, memoryType: 'semantic', category: 'notes', metadataJson: toJson({}), key: 'k' } as const;
    const put = async (memoryId: string, content: string) => memory.store({ ...base, memoryId, content }, call);
    const { memoryId } = await put('r1', 'first');
    await put('r2', 'second');
    await put('r3', 'third');
    await put('r2', 'second');
    t.is((await memory.get({ owner, memoryId }, call)).content, 'third');
  });

  withMemory('what many store at the same moment under one key or content is one memory', async (t, memory) => {
    const base = {
      owner,
      memoryType: 'semantic',
      category: 'docs',
      metadataJson: toJson({}),
      scope: handbook,
    } as const;
    for (const how of [{ key: 'page' }, { dedupe: true }]) {
      const replies = await Promise.all(
        Array.from({ length: 20 }, async () =>
          memory.store({ ...base, ...how, memoryId: randomUUID(), content: 'the one page' }, call),
        ),
      );
      t.is(new Set(replies.map(({ memoryId }) => memoryId)).size, 1);
      t.is(replies.filter(({ isNew }) => isNew).length, 1);
    }
    t.is((await memory.list({ owner, scope: handbook, selection: {}, limit: 9, offset: 0 }, call)).total, 2);
  });
}
