import test from 'ava';
import { isHeading, memoriesText, titleOfMemory } from './memory-words.ts';

test('a memory is called by its text, or by the beginning of it up to the end of a line or a word', (t) => {
  t.is(titleOfMemory({ content: ' Ada prefers tea ' }), 'Ada prefers tea');
  t.is(titleOfMemory({ content: 'One line\nand another' }), 'One line …');
  const long = titleOfMemory({ content: 'word '.repeat(100) });
  t.regex(long, /^(?:word )+…$/);
  t.true(long.length <= 92);
  t.is(titleOfMemory({ content: 'x'.repeat(200) }).length, 92);
});

test('a text of one line that is not long stands in the heading in whole', (t) => {
  t.true(isHeading({ content: 'Ada prefers tea\n' }));
  t.false(isHeading({ content: 'One line\nand another' }));
  t.deepEqual(
    [240, 241].map((length) => isHeading({ content: 'x'.repeat(length) })),
    [true, false],
  );
});

test('memories are counted', (t) => {
  t.deepEqual([1, 0, 1200].map(memoriesText), ['1 memory', '0 memories', '1,200 memories']);
});
