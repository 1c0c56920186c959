import fc from 'fast-check';
import test from 'ava';
import { containing, finding } from './contains.ts';

test('it finds what String.includes finds', (t) => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 300 });
  fc.assert(
    fc.property(letters, letters, fc.nat(300), (text, other, start) => {
      for (const needle of [other, text.slice(start), text.slice(start, start + 70), `${text.slice(1)}b`])
        if (containing(needle)(text) !== text.includes(needle)) return false;
      return true;
    }),
  );
  t.pass();
});

test('a search finds every part of a text in either case, and no text without it', (t) => {
  const unit = fc.constantFrom(
    'a',
    'E',
    'é',
    '\u0301',
    '\u0323',
    'İ',
    'i',
    'ı',
    'ß',
    'ﬁ',
    'Σ',
    'か',
    '\u3099',
    'Ａ',
    ' ',
    '中',
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 90 }), fc.nat(90), fc.nat(90), (text, from, length) => {
      const part = text.slice(from, from + length);
      for (const needle of [part, part.toUpperCase(), part.toLowerCase()])
        if ((needle === part || text.toLowerCase().includes(needle.toLowerCase())) && !finding(needle)(text))
          return false;
      return !finding('z')(text);
    }),
  );
  t.pass();
});

test('a search finds what reads the same, however its letters are made', (t) => {
  for (const [text, ...searches] of [
    ['un cafe\u0301 noir', 'café', 'CAFÉ', 'fe\u0301 n', 'ｃａｆé'],
    ['un café noir', 'cafe\u0301'],
    ['Ｒｅｐｏｒｔ１２', 'report12', 'Report'],
    ['İstanbul', 'istanbul', 'ISTANBUL', 'ıstan'],
    ['ILIMAN', 'ılıman'],
    ['Hauptstraße', 'STRASSE', 'hauptstrasse'],
    ['ｶﾞｿﾘﾝ', 'ガソリン'],
    ['한글', '한글'.normalize('NFD')],
    ['the ﬁle', 'file'],
    ['ΟΔΟΣ', 'οδος'],
    ['ΑΣ e\u0301', 'Σ e'],
  ] as const)
    for (const search of searches) t.true(finding(search)(text), `${search} in ${text}`);
  t.false(finding('cafe')('un café noir'));
});
