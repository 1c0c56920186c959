import type { TestFn } from 'ava';
import { retrievalStrategies } from '@agent-workflow/protos/lists';
import { fromJson } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';

/** What each retrieval strategy finds first. */
export function strategyTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory(
    'a fact is found by a question that shares only some of its words',
    async (t, _, { store, search, find }) => {
      for (const content of [
        'My favourite colour is teal',
        'The train to Lyon leaves at nine',
        'Grandmother baked rye bread',
      ])
        await store(content);
      for (const retrievalStrategy of retrievalStrategies) {
        t.is(
          (await find('which colour do I like?', { retrievalStrategy }))[0] ?? '',
          retrievalStrategy === 'temporal' ? 'Grandmother baked rye bread' : 'My favourite colour is teal',
        );
        const results = await search('when does the train leave', { retrievalStrategy });
        t.true(results.length > 0);
        for (const { score, metadataJson } of results) {
          t.true(score >= 0 && score <= 1);
          t.deepEqual(fromJson(metadataJson), {});
        }
      }
    },
  );

  withMemory('a text finds a memory of the same text at threshold 1', async (t, _, { store, search }) => {
    for (const content of ['prefers', 'Ada prefers green tea', 'the harbour café opens at six', 'a b c d e'])
      for (const retrievalStrategy of retrievalStrategies.filter((each) => each !== 'relevance')) {
        const memoryId = await store(content, { memoryId: content });
        const results = await search(content, { retrievalStrategy, scoreThreshold: 1 });
        t.deepEqual(
          results.map(({ memoryId: id, score }) => [id, score]),
          [[memoryId, 1]],
          `${content} by ${retrievalStrategy}`,
        );
      }
  });

  withMemory('temporal is newest first among those that reach the threshold', async (t, _, { store, find, search }) => {
    for (const content of ['green tea', 'black tea', 'a long walk by the sea', 'tea with milk']) await store(content);
    t.deepEqual(await find('tea', { retrievalStrategy: 'temporal', limit: 2 }), [
      'tea with milk',
      'a long walk by the sea',
    ]);
    t.deepEqual(await find('tea', { retrievalStrategy: 'temporal', limit: 2, scoreThreshold: 0.6 }), [
      'tea with milk',
      'black tea',
    ]);
    const results = await search('tea', { retrievalStrategy: 'temporal', scoreThreshold: 0.6 });
    t.true(results.every(({ score }) => score >= 0.6));
  });

  withMemory('relevance weighs similarity, recency and importance as asked', async (t, _, { store, find }) => {
    await store('tea is important', { metadata: { importance: 1 } });
    await store('tea is trivial', { metadata: { importance: 0 } });
    await store('unrelated words entirely', { metadata: { importance: 0.9 } });
    t.deepEqual((await find('tea is', { retrievalStrategy: 'relevance' }))[0], 'tea is important');
    const weights = { similarity: 0, recency: 0, importance: 1 };
    t.deepEqual(await find('tea', { retrievalStrategy: 'relevance', options: { weights } }), [
      'tea is important',
      'unrelated words entirely',
      'tea is trivial',
    ]);
  });

  withMemory('hybrid puts words and vectors together', async (t, _, { store, search, find }) => {
    for (const content of [
      'error code E1234 in the boiler',
      'the boiler is warm',
      'codes of conduct',
      'a quiet evening',
    ])
      await store(content);
    t.is((await find('E1234', { retrievalStrategy: 'hybrid' }))[0], 'error code E1234 in the boiler');
    const words = await search('boiler', { retrievalStrategy: 'hybrid', options: { alpha: 0 }, scoreThreshold: 0.01 });
    t.deepEqual(words.map(({ content }) => content).sort(), ['error code E1234 in the boiler', 'the boiler is warm']);
    const vectors = await search('boiler', { retrievalStrategy: 'hybrid', options: { alpha: 1 } });
    const similar = await search('boiler');
    t.deepEqual(
      vectors.map(({ content, score }) => [content, score]),
      similar.map(({ content, score }) => [content, score]),
    );
    t.deepEqual(
      await find('" OR * NEAR(', { retrievalStrategy: 'hybrid', limit: 0 + 1 }).then((found) => found.length),
      1,
    );
  });

  withMemory(
    'graph_traversal goes along relationships, scores falling with each step, cycles and all',
    async (t, _, { store, search }) => {
      const entity = async (name: string, content: string) =>
        store(content, { memoryType: 'entity', metadata: { name } });
      await entity('Ada', 'Ada Lovelace wrote programs');
      await entity('Engine', 'machine of brass wheels');
      const museum = await store('big house full of old things', { memoryType: 'semantic' });
      await store('nothing to do with it');
      const relate = async (source: string, target: string) =>
        store(`${source} > ${target}`, { memoryType: 'relationship', metadata: { source, target } });
      await relate('ada', 'Engine');
      await relate('Engine', museum);
      await relate(museum, 'Ada');
      await relate('Engine', 'somewhere unknown');
      const walk = async (depth: number) =>
        search('Ada Lovelace programs', { retrievalStrategy: 'graph_traversal', options: { depth, seeds: 1 } });
      t.deepEqual(
        (await walk(0)).map(({ content }) => content),
        ['Ada Lovelace wrote programs'],
      );
      const two = new Map((await walk(2)).map(({ content, score }) => [content, score]));
      t.is(two.size, 7);
      const score = (content: string): number => two.get(content) ?? NaN;
      t.true(score('Ada Lovelace wrote programs') > score('machine of brass wheels'));
      t.true(score('machine of brass wheels') > score('Engine > somewhere unknown'));
      t.false(two.has('nothing to do with it'));
      t.deepEqual((await walk(10)).length, 7);
      const only = await search('Ada Lovelace programs', {
        retrievalStrategy: 'graph_traversal',
        memoryType: 'entity',
        options: { depth: 1, seeds: 1 },
      });
      t.deepEqual(
        only.map(({ content }) => content),
        ['Ada Lovelace wrote programs', 'machine of brass wheels'],
      );
    },
  );
}
