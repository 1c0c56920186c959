import test from 'ava';
import fc from 'fast-check';
import { createTop } from './top.ts';

test('the top items are the first of the sorted items', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 })), fc.integer({ min: 1, max: 12 }), (numbers, limit) => {
      const top = createTop<number>(limit, (a, b) => b - a);
      for (const number of numbers) if (top.wants(number)) top.add(number);
      t.deepEqual(top.items(), numbers.sort((a, b) => b - a).slice(0, limit));
    }),
  );
});
