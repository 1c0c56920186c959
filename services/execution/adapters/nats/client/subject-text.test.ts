import test from 'ava';
import fc from 'fast-check';
import { isSubject } from './subject-text.ts';

const word = fc.stringMatching(/^[\w$*>-]{1,12}$/);
const subject = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join('.'));
const bad = fc.constantFrom(' ', '\t', '\r', '\n', '\0', '\u007f', '\u0085', '\u00a0', '\u2028', '..', '\ud800');

test('words of visible characters between single dots are a subject', (t) => {
  t.notThrows(() => fc.assert(fc.property(subject, (text) => isSubject(text))));
});

test('a text with a white space, a control character or an empty word anywhere is no subject', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(subject, bad, fc.nat(), (text, inserted, at) => {
        const index = at % (text.length + 1);
        return !isSubject(text.slice(0, index) + inserted + text.slice(index));
      }),
    ),
  );
  for (const text of ['', '.', '.a', 'a.', 'x'.repeat(1025)]) t.false(isSubject(text));
});

test('what is accepted of any text is one token of a line of the protocol', (t) => {
  t.notThrows(() =>
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isSubject(text) || /^\S+$/.test(text))),
  );
});
