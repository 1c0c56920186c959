import test from 'ava';
import fc from 'fast-check';
import { bridged, decode, encode, positionsIn, subtract, toRanges, union, within } from './ranges.ts';

const positions = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 });
const sorted = (items: Iterable<number>): number[] => [...new Set(items)].toSorted((a, b) => a - b);

test('ranges are the set of their positions, as few as they can be, and come back from their numbers', (t) => {
  fc.assert(
    fc.property(positions, (some) => {
      const ranges = toRanges(some);
      t.deepEqual(positionsIn(ranges), sorted(some));
      for (const [index, [first, last]] of ranges.entries()) {
        t.true(first <= last);
        t.true(first > (ranges[index - 1]?.[1] ?? -2) + 1);
      }
      t.deepEqual(decode(encode(ranges)), ranges);
    }),
  );
});

test('union and difference of ranges are those of the sets', (t) => {
  fc.assert(
    fc.property(positions, positions, (a, b) => {
      const both = union(toRanges(a), toRanges(b));
      t.deepEqual(both, toRanges([...a, ...b]));
      const left = subtract(toRanges(a), toRanges(b));
      t.deepEqual(left, toRanges(a.filter((position) => !b.includes(position))));
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

test('bridged ranges hold the positions of the ranges and leave no narrow gap', (t) => {
  fc.assert(
    fc.property(positions, fc.integer({ min: 1, max: 5 }), (some, gap) => {
      const wide = bridged(toRanges(some), gap);
      for (const position of some) t.true(within(wide, position));
      for (const [index, [first]] of wide.entries()) t.true(first - (wide[index - 1]?.[1] ?? -Infinity) > gap);
    }),
  );
});
