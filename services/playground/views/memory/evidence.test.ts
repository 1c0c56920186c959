import test from 'ava';
import { evidenceOf, ordinal, rankingOf, scoreText } from './evidence.ts';

test('a ranking says the score and the place of what was found', (t) => {
  const ranking = rankingOf(
    [
      { id: 'a', score: 0.9 },
      { id: 'b', score: 0.4 },
    ],
    2,
  );
  t.deepEqual(evidenceOf(ranking, 'b'), { score: 0.4, rank: 2 });
  t.is(evidenceOf(ranking, 'c'), undefined, 'it may have any score below the last');
  t.is(evidenceOf(undefined, 'a'), undefined);
});

test('what is behind a result without a score, or behind the end, has none', (t) => {
  t.deepEqual(evidenceOf(rankingOf([{ id: 'a', score: 0 }], 1), 'b'), { score: 0 });
  t.deepEqual(evidenceOf(rankingOf([{ id: 'a', score: 0.7 }], 9), 'b'), { score: 0 });
});

test('scores have two decimals, and places an ending', (t) => {
  t.is(scoreText(0.906), '0.91');
  t.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal), [
    ...['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '111th'],
  ]);
});
