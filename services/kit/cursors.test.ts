import test from 'ava';
import fc from 'fast-check';
import { cursorsByNumber, cursorsByTime } from './cursors.ts';
import { isServiceError } from './errors.ts';

type ListIdentity = Parameters<typeof cursorsByNumber>[0];

const number = fc.maxSafeInteger();
// Halves of surrogate pairs have no UTF-8; ids reach us as UTF-8 and hold none.
const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 256 }).filter((text) => text.isWellFormed());
const list: fc.Arbitrary<ListIdentity> = fc.tuple(
  fc.constantFrom('threads', 'runs'),
  fc.constantFrom('u:ada', 'u:bob', 'anon'),
  fc.option(fc.constantFrom('', 'a', 'b', '","a'), { nil: undefined }),
);

const pairs = {
  toParts: ([time, key]: readonly [number, string]) => [time, key] as const,
  fromParts: (time: number, key: string): readonly [number, string] => [time, key],
};

const isRefused = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch (error) {
    return isServiceError(error, 'Invalid') && error.details[0]?.field.join('.') === 'cursor';
  }
};

test('a cursor is read back as the mark that it was made of', (t) => {
  fc.assert(
    fc.property(list, number, id, (of, mark, key) => {
      const [byNumber, byTime] = [cursorsByNumber(of), cursorsByTime(of, pairs)];
      const cursor = byTime.toCursor([mark, key]);
      t.regex(cursor, /^[\w-]{1,2048}$/);
      t.deepEqual(byTime.fromCursor(cursor), [mark, key]);
      t.is(byNumber.fromCursor(byNumber.toCursor(mark)), mark);
    }),
  );
});

test('a cursor of another list, owner or selection is refused by name', (t) => {
  fc.assert(
    fc.property(list, list, number, id, (given, asked, mark, key) => {
      const isSame = JSON.stringify(given) === JSON.stringify(asked);
      const byNumber = cursorsByNumber(given).toCursor(mark);
      const byTime = cursorsByTime(given, pairs).toCursor([mark, key]);
      t.is(
        isRefused(() => cursorsByNumber(asked).fromCursor(byNumber)),
        !isSame,
      );
      t.is(
        isRefused(() => cursorsByTime(asked, pairs).fromCursor(byTime)),
        !isSame,
      );
    }),
  );
});

test('a mark of another form is refused, also under the name of the same list', (t) => {
  const of: ListIdentity = ['threads', 'anon'];
  t.true(isRefused(() => cursorsByNumber(of).fromCursor(cursorsByTime(of, pairs).toCursor([5, 't']))));
  t.true(isRefused(() => cursorsByTime(of, pairs).fromCursor(cursorsByNumber(of).toCursor(5))));
});

test('any other text is refused by name, never with another error', (t) => {
  const texts = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((json) => Buffer.from(json).toString('base64url')),
  );
  fc.assert(
    fc.property(list, texts, (of, text) => {
      t.true(isRefused(() => cursorsByNumber(of).fromCursor(text)));
      t.true(isRefused(() => cursorsByTime(of, pairs).fromCursor(text)));
    }),
  );
});
