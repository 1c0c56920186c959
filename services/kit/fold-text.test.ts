import test from 'ava';
import fc from 'fast-check';
import { foldText } from './fold-text.ts';

test('texts that people read as the same are the same', (t) => {
  for (const [one, ...others] of [
    ['café', 'cafe\u0301', 'CAFÉ', 'ｃａｆé'],
    ['istanbul', 'İSTANBUL', 'ISTANBUL', 'ıstanbul', 'i\u0307stanbul'],
    ['strasse', 'straße', 'STRASSE', 'STRAẞE'],
    ['οδός', 'ΟΔΌΣ', 'οδόσ'],
    ['が', 'か\u3099'],
    ['ガ', 'ｶﾞ'],
    ['가', '\u1100\u1161'],
    ['file', 'ﬁle', 'ﬁLE'],
  ] as const)
    for (const other of others) t.is(foldText(other), foldText(one));
  t.not(foldText('cafe'), foldText('café'));
  t.not(foldText('か'), foldText('が'));
});

test('a folded text stays as it is when it is folded again', (t) => {
  const letters = fc.string({
    unit: fc.oneof(fc.constantFrom('İ', 'ı', 'ß', 'ς', 'Σ', '\u0307', 'ﬃ', 'ｱ', 'ﾞ', 'ŉ'), fc.string()),
  });
  fc.assert(
    fc.property(letters, (text) => {
      t.is(foldText(foldText(text)), foldText(text));
    }),
  );
  t.pass();
});
