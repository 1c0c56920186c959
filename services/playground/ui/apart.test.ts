import test from 'ava';
import fc from 'fast-check';
import { sectionsOf } from './apart.ts';

const characters = fc.constantFrom('a', ' ', '\n', '\u0301', '\u0628', '\u0e01', '\u00a0', '漢', '😀');

test('the sections of a text make the text, and no section that is laid out by itself is longer than its bound', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 200 }), fc.integer({ min: 3, max: 30 }), (text, size) => {
      const sections = sectionsOf(text, size);
      t.is(sections.map((section) => section.text).join(''), text);
      t.true(
        sections.every(
          (section) => !section.isApart || (section.text.length <= Math.ceil(size / 2) && section.text.isWellFormed()),
        ),
      );
    }),
  );
});

test('texts of words, of no spaces, and of few marks are one section', (t) => {
  const texts = ['word '.repeat(1000), 'w'.repeat(5000), '漢'.repeat(5000), `${'\u0e01'.repeat(400)} `.repeat(20), ''];
  for (const text of texts) t.deepEqual(sectionsOf(text), [{ text, isApart: false }]);
});

test('a row of marks is cut, and what stands before and after it is not', (t) => {
  const sections = sectionsOf(`before a${'\u0301'.repeat(1200)} after`);
  t.deepEqual(
    sections.map(({ text, isApart }) => [text.length, isApart]),
    [[7, false], ...[250, 250, 250, 250, 201].map((length) => [length, true]), [6, false]],
  );
});
