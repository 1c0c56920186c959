import test from 'ava';
import { indexedText } from './indexed-text.ts';

const value = { text: 'tea', notes: [{ of: 'one' }, { of: 'two' }, 'three'], deep: { er: 7 }, none: null };

test('the text of a value is that of the paths', (t) => {
  for (const [paths, text] of [
    [['text'], 'tea'],
    [['notes[*].of'], 'one\ntwo'],
    [['notes[0].of', 'text'], 'one\ntea'],
    [['notes[-1]'], 'three'],
    [['deep.er'], '7'],
    [['deep'], '{"er":7}'],
    [['deep.*'], '7'],
    [['none', 'absent', 'text.length', 'notes[9]', 'notes[x]', '__proto__'], ''],
  ] as const)
    t.is(indexedText(value, paths), text);
  t.is(indexedText({ a: 1 }, ['$']), '{"a":1}');
});

test('a long text is cut between two characters', (t) => {
  const text = indexedText({ text: `a${'é'.repeat(100_000)}` }, ['text']);
  t.true(Buffer.byteLength(text) <= 24 * 1024 && Buffer.byteLength(text) > 24 * 1024 - 4);
  t.true(text.endsWith('é'));
});
