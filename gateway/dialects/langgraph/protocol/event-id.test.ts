import test from 'ava';
import { cursorAfter, threadSeq } from './event-id.ts';
import { numberWithin, perEvent } from './parts.ts';

const again = 2 ** 28;
const ofEnded = 2 ** 48;
const end = numberWithin('ended', 0);

test('a number in the thread grows with its run, its log, its event and what comes of that, and is a safe integer', (t) => {
  const numbers = [
    ...[threadSeq(1, 0), threadSeq(1, 1), threadSeq(1, 1, end), threadSeq(1, 2), threadSeq(1, 2 ** 23 - 2, end)],
    ...[threadSeq(1, again + 1), threadSeq(1, again + 2), threadSeq(1, ofEnded + 1), threadSeq(1, ofEnded + 9, end)],
    ...[threadSeq(2, 0), threadSeq(2 ** 21 - 1, ofEnded + 2 ** 27, perEvent - 1)],
  ];
  t.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((one, other) => one - other),
  );
  t.true(numbers.every(Number.isSafeInteger));
});

test('a reader goes on behind the number that it has, and gets again what may not have one of its own', (t) => {
  t.deepEqual(cursorAfter(threadSeq(3, 0)), { ordinal: 3, after: 0 });
  t.deepEqual(cursorAfter(threadSeq(3, 7, 5)), { ordinal: 3, after: 6, skipped: 6 });
  t.deepEqual(cursorAfter(threadSeq(3, ofEnded + 7, 5)), { ordinal: 3, after: ofEnded + 6, skipped: 6 });
  t.deepEqual(cursorAfter(threadSeq(3, 2 * again + 7, 5)), { ordinal: 3, after: 0 }, 'of which log is not known');
  const many = numberWithin('tasks', 1000);
  t.is(many, numberWithin('tasks', 2000));
  t.deepEqual(cursorAfter(threadSeq(3, 7, many)), { ordinal: 3, after: 6, skipped: many });
  const last = 2 ** 23 - 1;
  t.is(threadSeq(3, last), threadSeq(3, last + 5));
  t.deepEqual(cursorAfter(threadSeq(3, last + 5)), { ordinal: 3, after: last - 1, skipped: 0 });
});

test('all parts of an event have a place', (t) => {
  t.true(numberWithin('ended', Infinity) < perEvent);
  t.true(numberWithin('begun', 0) < numberWithin('answered', 0));
});
