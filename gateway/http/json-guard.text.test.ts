import test from 'ava';
import { refuseCostlyText } from './json-guard.ts';

const refuse = (text: string): void => {
  refuseCostlyText(text, 'the body');
};
const tooManyKeys = { code: 'BadRequest', message: 'the body holds more than 100000 keys' };
const tooManyLists = { code: 'BadRequest', message: 'the body holds more than 300000 lists and objects' };

/** An object with so many of an item in a list. */
const listOf = (item: string, count: number): string =>
  `{"x":[${Array.from({ length: count }, () => item).join(',')}]}`;

test('so many keys, lists and objects pass, one more is refused', (t) => {
  t.notThrows(() => {
    refuse(listOf('{"k" : 0}', 99_999));
  });
  t.throws(() => refuse(listOf('{"k" : 0}', 100_000)), tooManyKeys);
  for (const item of ['[]', '{}', '[0]']) {
    t.notThrows(() => {
      refuse(listOf(item, 299_998));
    }, item);
    t.throws(() => refuse(listOf(item, 299_999)), tooManyLists, item);
  }
});

test('levels are counted where there are many lists and objects: few are parsed soon', (t) => {
  const nested = (levels: number, count: number): string =>
    listOf('['.repeat(levels - 2) + ']'.repeat(levels - 2), count);
  t.notThrows(() => {
    refuse(nested(200, 1));
  });
  t.throws(() => refuse(nested(129, 5000)), { message: 'the body is nested deeper than 128 levels' });
  t.throws(() => refuse(nested(128, 5000)), tooManyLists);
});

const backslash = '\\';
const manyInside = ':[{'.repeat(400_000);

test('what stands inside of texts is not counted, however long they are and whatever is escaped there', (t) => {
  for (const before of ['', ...[63, 64, 65, 200].map((length) => 'x'.repeat(length))])
    for (const escapes of [0, 1, 2, 3, 1000])
      for (const end of ['', `${backslash}"`, `${backslash}n`]) {
        const text = `"${before}${backslash.repeat(2 * escapes)}${end}${manyInside}"`;
        const what = `${String(before.length)} ${String(escapes)} ${end}`;
        t.notThrows(() => JSON.parse(text) as unknown, what);
        t.notThrows(() => {
          refuse(`{"x":${text}}`);
        }, what);
        t.throws(() => refuse(`{"x":[${text},${'[],'.repeat(300_000)}0]}`), tooManyLists, what);
      }
});

test('a text that is cut off ends where it is cut', (t) => {
  for (const end of ['', 'x'.repeat(100), backslash, `${backslash}"`])
    t.notThrows(() => {
      refuse(`{"x":"${manyInside}${end}`);
    });
});
