import test from 'ava';
import fc from 'fast-check';
import { bridged, decode, encode, positionsIn, subtract, toSpans, union, within } from './spans.ts';

const positions = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 });
const sorted = (items: Iterable<number>): number[] => [...new Set(items)].toSorted((a, b) => a - b);

test('spans are the set of their positions, as few as they can be, and come back from their numbers', (t) => {
  fc.assert(
    fc.property(positions, (some) => {
      const spans = toSpans(some);
      t.deepEqual(positionsIn(spans), sorted(some));
      for (const [index, [first, last]] of spans.entries()) {
        t.true(first <= last);
        t.true(first > (spans[index - 1]?.[1] ?? -2) + 1);
      }
      t.deepEqual(decode(encode(spans)), spans);
    }),
  );
});

test('union and difference of spans are those of the sets', (t) => {
  fc.assert(
    fc.property(positions, positions, (a, b) => {
      const both = union(toSpans(a), toSpans(b));
      t.deepEqual(both, toSpans([...a, ...b]));
      const left = subtract(toSpans(a), toSpans(b));
      t.deepEqual(left, toSpans(a.filter((position) => !b.includes(position))));
      for (const position of [...a, ...b]) t.is(within(left, position), a.includes(position) && !b.includes(position));
    }),
  );
});

test('everything from a position on can be taken away', (t) => {
  t.deepEqual(
    subtract(
      [
        [0, 4],
        [8, 9],
      ],
      [[3, Number.MAX_SAFE_INTEGER]],
    ),
    [[0, 2]],
  );
});

test('bridged spans hold the positions of the spans and leave no narrow gap', (t) => {
  fc.assert(
    fc.property(positions, fc.integer({ min: 1, max: 5 }), (some, gap) => {
      const wide = bridged(toSpans(some), gap);
      for (const position of some) t.true(within(wide, position));
      for (const [index, [first]] of wide.entries()) t.true(first - (wide[index - 1]?.[1] ?? -Infinity) > gap);
    }),
  );
});
