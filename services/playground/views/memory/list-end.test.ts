import test from 'ava';
import { rankingOf } from './evidence.ts';
import { endOfResults } from './list-end.ts';

const results = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));
const scored = (scores: Readonly<Record<string, number>>) =>
  rankingOf(
    Object.entries(scores).map(([id, score]) => ({ id, score })),
    100,
  );
const hybrid = { strategy: 'hybrid', metric: 'cosine' } as const;
/** Cosines of 0.8, 0.5, 0.3, 0, and one against it. */
const meaning = scored({ a: 0.9, b: 0.75, c: 0.65, d: 0.5, e: 0.4 });

test('a search ends behind the last result that is near the query or has a word of it', (t) => {
  t.is(endOfResults(results, { place: hybrid, meaning, words: scored({}) }), 2);
  t.is(endOfResults(results, { place: hybrid, meaning, words: scored({ a: 1, d: 0.2 }) }), 4);
  t.is(endOfResults(results, { place: hybrid, meaning, words: scored({ a: 1, b: 0 }) }), 2);
});

test('where it is not known what says something all is shown, and so it is where nothing does', (t) => {
  for (const [place, near, words] of [
    [hybrid, undefined, scored({})],
    [hybrid, meaning, undefined],
    [{ ...hybrid, strategy: 'temporal' }, meaning, scored({})],
    [{ ...hybrid, strategy: 'graph_traversal' }, meaning, scored({})],
    [{ ...hybrid, metric: 'manhattan' }, meaning, scored({})],
    [hybrid, scored({ a: 0.5, b: 0.4 }), scored({})],
  ] as const)
    t.is(endOfResults(results, { place, meaning: near, words }), results.length);
});

test('more words than are ranked may be in a result that is not ranked', (t) => {
  const words = rankingOf([{ id: 'a', score: 1 }], 1);
  t.is(endOfResults(results, { place: hybrid, meaning, words }), results.length);
});

test('an Euclidean score is compared by the angle that it stands for', (t) => {
  const place = { ...hybrid, metric: 'euclidean' } as const;
  // Distances of 0, 0.5 and the square root of 2.
  t.is(
    endOfResults(results, { place, meaning: scored({ a: 1, b: 1 / 1.5, c: 1 / (1 + Math.SQRT2) }), words: scored({}) }),
    2,
  );
});
