import test from 'ava';
import fc from 'fast-check';
import { rowPlaces } from './row-places.ts';

test('rows stand below each other, some higher than the others', (t) => {
  const places = rowPlaces(5, 20, [
    { at: 1, height: 50 },
    { at: 3, height: 30 },
  ]);
  t.deepEqual([0, 1, 2, 3, 4, 5].map(places.topOf), [0, 20, 70, 90, 120, 140]);
  t.is(places.total, 140);
  t.deepEqual([-5, 0, 19, 20, 69, 70, 139, 9999].map(places.indexAt), [0, 0, 0, 1, 1, 2, 4, 4]);
  t.is(rowPlaces(0, 20).indexAt(100), 0);
});

test('each row is found at any height that falls upon it', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (heights) => {
      const tall = heights.flatMap((height, at) => (height === 22 ? [] : [{ at, height }]));
      const places = rowPlaces(heights.length, 22, tall);
      for (const [at, height] of heights.entries()) {
        t.is(places.heightOf(at), height);
        t.is(places.indexAt(places.topOf(at)), at);
        t.is(places.indexAt(places.topOf(at) + height - 1), at);
      }
    }),
  );
});
