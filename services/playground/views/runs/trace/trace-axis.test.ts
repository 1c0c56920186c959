import test from 'ava';
import fc from 'fast-check';
import { axisOf, barOf, percentAt, ticksOf } from './trace-axis.ts';

test('an axis goes from the acceptance of the run to the last end, and is never empty', (t) => {
  t.deepEqual(axisOf(5, []), { startMs: 5, endMs: 6 });
  t.deepEqual(
    axisOf(5, [
      { startMs: 3, endMs: 9 },
      { startMs: 4, endMs: 4 },
    ]),
    { startMs: 3, endMs: 9 },
  );
});

test('marks stand at lengths that people count in', (t) => {
  const texts = (ms: number, most = 6): string[] => ticksOf({ startMs: 0, endMs: ms }, most).map(({ text }) => text);
  t.deepEqual(texts(48_200), ['0 s', '10 s', '20 s', '30 s', '40 s']);
  t.deepEqual(texts(850), ['0 ms', '200 ms', '400 ms', '600 ms', '800 ms']);
  t.deepEqual(texts(1300), ['0 s', '0.5 s', '1 s']);
  t.deepEqual(texts(3 * 3_600_000), ['0 h', '1 h', '2 h']);
  t.deepEqual(texts(1), ['0 ms']);
});

test('whatever the length, marks are few and bars stay on the axis', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e12 }), fc.integer(), fc.integer(), (length, from, to) => {
      const axis = { startMs: 0, endMs: length };
      const ticks = ticksOf(axis, 6);
      t.true(ticks.length >= 1 && ticks.length <= 6);
      t.true(ticks.every(({ ms }) => percentAt(axis, ms) <= 97));
      const { left, width } = barOf(axis, from, to);
      t.true(left >= 0 && width >= 0 && left + width <= 100.000001);
    }),
  );
});
