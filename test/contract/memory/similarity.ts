import type { TestFn } from 'ava';
import fc from 'fast-check';
import { distanceMetrics } from '@agent-workflow/protos/lists';
import { call, fromJson, newOwner } from './calls.ts';
import { checksOf, type Opener } from './checks.ts';
import { oracle } from './scores.ts';

/** Similarity, with each metric. */
export function similarityTests(test: TestFn, name: string, open: Opener): void {
  const { withMemory } = checksOf(test, name, open);

  withMemory(
    'similarity finds and scores as a look at every vector does, with each metric',
    async (t, memory, { store, search, vectorOf }) => {
      const word = fc.constantFrom('river', 'stone', 'coffee', 'morning', 'piano', 'ünïcode', '北京', 'a', '!');
      const text = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));
      const example = fc.record({
        contents: fc.array(text, { minLength: 1, maxLength: 12 }),
        query: text,
        limit: fc.integer({ min: 1, max: 15 }),
        metric: fc.constantFrom(...distanceMetrics),
      });
      await fc.assert(
        fc.asyncProperty(example, async ({ contents, query, limit, metric }) => {
          const space = newOwner();
          for (const content of contents) await store(content, { owner: space });
          const wanted = await vectorOf(query);
          const all = (await memory.list({ owner: space, selection: {}, limit: 100, offset: 0 }, call)).memories;
          const scoreOf = (json: Uint8Array): number => oracle[metric](wanted, fromJson(json) as number[]);
          const expected = all
            .map(({ vectorJson }) => scoreOf(vectorJson))
            .sort((a, b) => b - a)
            .slice(0, limit);
          const results = await search(query, { owner: space, limit, distanceMetric: metric, maxTokens: 1e6 });
          t.is(results.length, expected.length);
          for (const [index, { score, vectorJson }] of results.entries()) {
            t.true(Math.abs(score - (expected[index] ?? NaN)) < 1e-3, `${String(score)} at ${String(index)}`);
            t.true(Math.abs(score - scoreOf(vectorJson)) < 1e-3);
          }
          const threshold = results[Math.floor(results.length / 2)]?.score ?? 0;
          const passing = await search(query, {
            owner: space,
            limit,
            distanceMetric: metric,
            maxTokens: 1e6,
            scoreThreshold: threshold,
          });
          t.deepEqual(
            passing.map(({ memoryId }) => memoryId),
            results.filter(({ score }) => score >= threshold).map(({ memoryId }) => memoryId),
          );
        }),
        { numRuns: 40 },
      );
    },
  );
}
