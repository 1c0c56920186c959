import test from 'ava';
import fc from 'fast-check';
import { readMarkdown, type MarkdownNode } from './markdown-tree.ts';

/** The bounds of a reading. */
const maxDepth = 50;
const maxSteps = 12_000;

const treeOf = (text: string): readonly MarkdownNode[] | undefined =>
  readMarkdown(text)?.blocks.flatMap(({ children }) => children);

const depthOf = (node: MarkdownNode): number =>
  typeof node === 'string' ? 0 : 1 + Math.max(0, ...node.children.map(depthOf));

/** What Markdown is made of, so that texts of it nest, open and close. */
const marks = [
  ...[
    '*',
    '**',
    '_',
    '__',
    '~~',
    '`',
    '``',
    '[',
    ']',
    '![',
    '](',
    '(',
    ')',
    '<',
    '>',
    '<!--',
    '<b',
    '\\',
    '&#',
    '&amp;',
  ],
  ...['> ', '- ', '1. ', '# ', '    ', '\n', '\n\n', '\r\n', '|', '-|', '|\n-|-\n', '```', '~~~', '===\n', '---\n'],
  ...['[a]: b\n', '[x] ', 'a', ' ', 'word ', 'http://a.b', 'a@b.c', '\0', '\ud800', '\u{1f600}'],
];
const anyText = fc
  .array(fc.tuple(fc.constantFrom(...marks), fc.integer({ min: 1, max: 60 })), { maxLength: 40 })
  .map((parts) => parts.map(([mark, count]) => mark.repeat(count)).join(''));

test('any text is read without a fault, in a number of steps that is linear in its length, and no deeper than its bound', (t) => {
  fc.assert(
    fc.property(anyText, (text) => {
      const reading = readMarkdown(text);
      for (const { children, start } of reading?.blocks ?? []) {
        t.true(start >= 0 && start < Math.max(1, text.length));
        t.true(children.every((node) => depthOf(node) <= maxDepth));
      }
      const { steps = 0 } = reading ?? {};
      // A row of a table has all its cells, however short it is.
      t.true(steps <= (text.includes('|') ? maxSteps : Math.min(maxSteps, 8 + 4 * text.length)), String(steps));
    }),
    { numRuns: 2000 },
  );
});

test('no character of a text without marks is lost', (t) => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), (words) => {
      const text = words.join(' ');
      t.deepEqual(treeOf(text), [{ tag: 'p', children: [text] }]);
    }),
  );
});

const p = (...children: MarkdownNode[]): MarkdownNode => ({ tag: 'p', children });

const examples: Readonly<Record<string, readonly MarkdownNode[]>> = {
  'Some **bold** and ~~gone~~ `code`.': [
    p(
      ...['Some ', { tag: 'strong', children: ['bold'] }, ' and ', { tag: 's', children: ['gone'] }, ' '],
      ...[{ tag: 'code', children: ['code'] }, '.'],
    ),
  ],
  '## Two': [{ tag: 'h2', children: ['Two'] }],
  '```ts x\nlet a;\n```': [{ tag: 'pre', children: ['let a;'], language: 'ts' }],
  '3. one\n4. two': [
    { tag: 'ol', start: 3, children: ['one', 'two'].map((text) => ({ tag: 'li', children: [text] })) },
  ],
  '> - a': [{ tag: 'blockquote', children: [{ tag: 'ul', children: [{ tag: 'li', children: ['a'] }] }] }],
  '[a](https://b.example "t") ![c *d*](e.png)': [
    p({ tag: 'a', children: ['a'], href: 'https://b.example' }, ' ', {
      tag: 'img',
      children: ['c *d*'],
      href: 'e.png',
    }),
  ],
  '[run](javascript:alert(1))': [p({ tag: 'a', children: ['run'], href: 'javascript:alert(1)' })],
  '<script>alert(1)</script>': [p('<script>alert(1)</script>')],
  '&lt;b&gt; &amp;lt;': [p('<b> &lt;')],
};

for (const [text, tree] of Object.entries(examples))
  test(`${JSON.stringify(text)} is read`, (t) => {
    t.deepEqual(treeOf(text), tree);
  });

test('a text that nests too deep is not read: 50 levels are drawn, 1,500 are not', (t) => {
  t.is(depthOf(treeOf(`${'> '.repeat(20)}a`)?.[0] ?? ''), 21);
  for (const mark of ['>', '> ', '- ', '1. ', '> - ']) t.is(readMarkdown(`${mark.repeat(1500)}a`), undefined, mark);
  t.is(readMarkdown(`${'*a **a '.repeat(500)}b${' a** a*'.repeat(500)}`), undefined);
});
