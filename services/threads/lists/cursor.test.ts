import test from 'ava';
import fc from 'fast-check';
import { isServiceError } from '@agent-workflow/kit/errors';
import { fromMessagesCursor, fromThreadsCursor, toMessagesCursor, toThreadsCursor } from './cursor.ts';

const time = fc.maxSafeInteger();
const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 256 });

const isRefused = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch (error) {
    return isServiceError(error, 'Invalid') && error.details[0]?.field.join('.') === 'cursor';
  }
};

test('a cursor of threads says again what it was made of, whatever the id', (t) => {
  fc.assert(
    fc.property(time, id, (updatedAt, threadId) => {
      // Halves of surrogate pairs have no UTF-8; ids reach us as UTF-8 and hold none.
      fc.pre(threadId.isWellFormed());
      const cursor = toThreadsCursor({ updatedAt, threadId });
      t.regex(cursor, /^[\w-]+$/);
      t.deepEqual(fromThreadsCursor(cursor), { updatedAt, threadId });
    }),
  );
});

test('a cursor of messages says again what it was made of', (t) => {
  fc.assert(
    fc.property(time, (position) => {
      t.is(fromMessagesCursor(toMessagesCursor(position)), position);
    }),
  );
});

test('any other text is refused by name, never with another error', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json()), (text) => {
      t.true(isRefused(() => fromThreadsCursor(text)));
      t.true(
        isRefused(() => fromMessagesCursor(text)) || /^\[-?\d+\]$/.test(Buffer.from(text, 'base64url').toString()),
      );
    }),
  );
});

test('any JSON that is not the mark of a list is refused', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const cursor = Buffer.from(JSON.stringify(value)).toString('base64url');
      const isThreads =
        Array.isArray(value) && value.length === 2 && Number.isSafeInteger(value[0]) && typeof value[1] === 'string';
      const isMessages = Array.isArray(value) && value.length === 1 && Number.isSafeInteger(value[0]);
      t.is(
        isRefused(() => fromThreadsCursor(cursor)),
        !isThreads,
      );
      t.is(
        isRefused(() => fromMessagesCursor(cursor)),
        !isMessages,
      );
    }),
  );
});

test('the cursor of one list is none of the other', (t) => {
  t.true(isRefused(() => fromThreadsCursor(toMessagesCursor(5))));
  t.true(isRefused(() => fromMessagesCursor(toThreadsCursor({ updatedAt: 5, threadId: 't' }))));
});
