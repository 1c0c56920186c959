import test from 'ava';
import fc from 'fast-check';
import { blend, importance, metrics, recency, toUnit, vectorToJson } from './rank.ts';

const vectors = fc
  .array(fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 40 })
  .map((numbers) => Float32Array.from(numbers));

test('a vector of any length becomes one of length 1; zeros stay zeros', (t) => {
  fc.assert(
    fc.property(vectors, (vector) => {
      const length = Math.hypot(...toUnit(vector));
      t.true(Math.abs(length - (vector.some((value) => value !== 0) ? 1 : 0)) < 1e-5);
    }),
  );
});

test('a unit vector as JSON is read back to seven decimals', (t) => {
  fc.assert(
    fc.property(vectors, (vector) => {
      const unit = toUnit(vector);
      const read = JSON.parse(Buffer.from(vectorToJson(unit)).toString()) as number[];
      t.is(read.length, unit.length);
      t.true(read.every((value, index) => Math.abs(value - (unit[index] ?? NaN)) <= 0.5000001e-7));
    }),
  );
  t.is(Buffer.from(vectorToJson(Float32Array.from([1, -1, 0, 0.5, -0.0625]))).toString(), '[1,-1,0,0.5,-0.0625]');
});

test('every metric scores the same vector 1 and nothing outside 0 to 1', (t) => {
  t.is(metrics.cosine.score(1), 1);
  t.is(metrics.cosine.score(-1.0000001), 0);
  t.is(metrics.dot_product.score(1.0000001), 1);
  t.is(metrics.euclidean.score(-0), 1);
  t.is(metrics.manhattan.score(-3), 0.25);
});

test('recency halves with each half-life and never exceeds 1', (t) => {
  t.is(recency(0, 10), 1);
  t.is(recency(20, 10), 0.25);
  t.is(recency(-5, 10), 1);
});

test('importance that is no number counts as one half, and is held to 0 to 1', (t) => {
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
