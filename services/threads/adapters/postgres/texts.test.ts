import test from 'ava';
import fc from 'fast-check';
import { fromText, toText } from './texts.ts';

const texts = fc.string({ unit: fc.constantFrom('\0', '\x01', '\x02', 'a', 'ä') });

test('a text comes back from what is stored, which has no U+0000', (t) => {
  fc.assert(
    fc.property(texts, (value) => {
      t.is(fromText(toText(value)), value);
      t.false(toText(value).includes('\0'));
    }),
  );
});

test('texts are stored in their order', (t) => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      t.is(toText(a) < toText(b), a < b);
    }),
  );
});
