import test from 'ava';
import fc from 'fast-check';
import { emptyMarkdown, growMarkdown, type GrowingMarkdown } from './growing-markdown.ts';
import { readMarkdown, type MarkdownNode } from './markdown-tree.ts';

const sources = [
  '# Title\n\n',
  'Some *words* and `code`.\n\n',
  '- one\n- two\n\n',
  '```ts\nlet x;\n```\n\n',
  '> a quote\n\n',
  'A | B\n--|--\n1 | 2\n\n',
  'two\r\nlines\r\n\r\n',
];
const anyText = fc.array(fc.constantFrom(...sources), { maxLength: 60 }).map((all) => all.join(''));

const nodesOf = ({ settled, tail = [] }: GrowingMarkdown): readonly MarkdownNode[] =>
  [...settled.flat(), ...tail].flatMap(({ children }) => children);

function readAll(text: string, from = emptyMarkdown): GrowingMarkdown {
  let read = growMarkdown(from, text, false);
  while (read.state === 'reading') read = growMarkdown(read, text, false);
  return read;
}

test('a text that comes in any parts is read as if it came at once: nothing is lost and nothing comes twice', (t) => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, size) => {
      let read = emptyMarkdown;
      for (let end = size; end < text.length; end += size) read = growMarkdown(read, text.slice(0, end), true);
      t.deepEqual(
        nodesOf(readAll(text, read)),
        readMarkdown(text)?.blocks.flatMap(({ children }) => children),
      );
    }),
  );
});

test('a long text is read in slices, as if it were read at once', (t) => {
  fc.assert(
    fc.property(fc.array(anyText, { minLength: 20, maxLength: 40 }), (texts) => {
      const text = texts.join('');
      t.deepEqual(
        nodesOf(readAll(text)),
        readMarkdown(text)?.blocks.flatMap(({ children }) => children),
      );
    }),
    { numRuns: 30 },
  );
});

test('one step reads no more than a slice: a long text takes several', (t) => {
  const first = growMarkdown(emptyMarkdown, 'A paragraph.\n\n'.repeat(5000), false);
  t.is(first.state, 'reading');
  t.true(first.offset > 0 && first.offset <= 4096);
});

test('blocks that cannot change are read once: a full group stays the same object', (t) => {
  const text = 'A paragraph.\n\n'.repeat(280);
  const before = growMarkdown(emptyMarkdown, text, true);
  const after = growMarkdown(before, `${text}More.\n\n`, true);
  t.true(before.settled.length > 5);
  t.is(after.settled[3], before.settled[3]);
  t.true(after.text.length - after.offset < 100);
});

test('the end of a growing text that is too long to be read at each change waits for its end', (t) => {
  const long = 'word '.repeat(4000);
  const growing = growMarkdown(emptyMarkdown, long, true);
  t.is(growing.state, 'waiting');
  t.is(growMarkdown(growing, `${long}more`, true).state, 'waiting');
  t.is(readAll(long, growing).tail?.length, 1);
});

test('a text that does not continue the one before is read from its start', (t) => {
  const before = growMarkdown(emptyMarkdown, 'one\n\ntwo\n\nthree\n\nfour', true);
  t.deepEqual(nodesOf(growMarkdown(before, 'another', false)), [{ tag: 'p', children: ['another'] }]);
});

test('what stands before a block that goes beyond the bounds is drawn, and it and the rest are plain', (t) => {
  const text = `# Title\n\n${'Some *words*.\n\n'.repeat(1000)}${'> '.repeat(60)}deep\n\nMore.`;
  const read = readAll(text);
  t.is(read.state, 'plain');
  t.deepEqual(read.settled[0]?.[0]?.children, [{ tag: 'h1', children: ['Title'] }]);
  t.regex(text.slice(read.offset), /> deep\n\nMore\.$/);
});

test('a text of more elements than a page can bear is plain from there on', (t) => {
  const read = readAll('a\n\n'.repeat(40_000));
  t.is(read.state, 'plain');
  t.true(read.size <= 10_000);
});
