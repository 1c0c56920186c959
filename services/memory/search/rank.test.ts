import test from 'ava';
import { blend, importance, metrics, recency } from './rank.ts';

test('every metric scores the same vector 1, and no score is outside 0 to 1', (t) => {
  t.is(metrics.cosine.scoreOf(-1), 1);
  t.is(metrics.cosine.scoreOf(1.0000001), 0);
  t.is(metrics.dot_product.scoreOf(-1.0000001), 1);
  t.is(metrics.euclidean.scoreOf(0), 1);
  t.is(metrics.manhattan.scoreOf(3), 0.25);
});

test('the distance of a score has at least that score when rounding is allowed for', (t) => {
  for (const { scoreOf, distanceOf } of Object.values(metrics))
    for (const score of [1e-9, 0.1, 1 / 3, 0.5, 0.77, 1]) {
      const distance = distanceOf(score);
      t.true(scoreOf(distance) <= score);
      t.true(scoreOf(distance - 3e-12 * (1 + Math.abs(distance))) >= score);
    }
});

test('recency halves with each half-life and never exceeds 1', (t) => {
  t.is(recency(0, 10), 1);
  t.is(recency(20, 10), 0.25);
  t.is(recency(-5, 10), 1);
});

test('importance that is no number counts as one half, and any other is clamped to 0 to 1', (t) => {
  t.deepEqual([0.3, 7, -1, '1', undefined, NaN].map(importance), [0.3, 1, 0, 0.5, 0.5, 0.5]);
});

test('a blend is the weighted mean, and 0 without weights', (t) => {
  t.is(
    blend([
      [1, 3],
      [0, 1],
    ]),
    0.75,
  );
  t.is(blend([[1, 0]]), 0);
});
