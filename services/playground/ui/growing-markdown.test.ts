import test from 'ava';
import fc from 'fast-check';
import { lexer, type Token } from 'marked';
import { emptyMarkdown, growMarkdown, partsOf } from './growing-markdown.ts';
import { safeAddress, withoutEntities } from './safe-text.ts';

const sources = [
  '# Title\n\n',
  'Some *words* and `code`.\n\n',
  '- one\n- two\n\n',
  '```ts\nlet x;\n```\n\n',
  '> a quote\n\n',
];

const rawOf = ({ settled, tail = [] }: ReturnType<typeof growMarkdown>): string =>
  [...settled.flat(), ...tail].map(({ raw }: Token) => raw).join('');

test('a text that comes in any parts is parsed whole: nothing is lost and nothing comes twice', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...sources), { maxLength: 60 }),
      fc.integer({ min: 1, max: 40 }),
      (all, size) => {
        const text = all.join('');
        let state = emptyMarkdown;
        for (let end = size; end < text.length; end += size) state = growMarkdown(state, text.slice(0, end), true);
        state = growMarkdown(state, text, false);
        t.is(
          rawOf(state),
          lexer(text)
            .map(({ raw }) => raw)
            .join(''),
        );
      },
    ),
  );
});

test('blocks that cannot change are parsed once: a full group stays the same object', (t) => {
  const text = 'A paragraph.\n\n'.repeat(500);
  const before = growMarkdown(emptyMarkdown, text, true);
  const after = growMarkdown(before, `${text}More.\n\n`, true);
  t.true(before.settled.length > 10);
  t.is(after.settled[3], before.settled[3]);
  t.true(after.text.length - after.offset < 100);
});

test('the end of a growing text that is too long to be parsed at each change waits for its end', (t) => {
  const long = 'word '.repeat(4000);
  const growing = growMarkdown(emptyMarkdown, long, true);
  t.is(growing.tail, undefined);
  t.is(growMarkdown(growing, long, false).tail?.length, 1);
});

test('a text that does not continue the one before is parsed from its start', (t) => {
  const before = growMarkdown(emptyMarkdown, 'one\n\ntwo\n\nthree\n\nfour', true);
  t.is(rawOf(growMarkdown(before, 'another', false)), 'another');
});

test('the parts of a long text make the text, and none is longer than its bound', (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (text, size) => {
      const parts = partsOf(text, size);
      t.is(parts.join(''), text);
      t.true(parts.every(({ length }) => length > 0 && length <= size + 1));
    }),
  );
});

test('links lead to web pages and mailboxes only', (t) => {
  t.is(safeAddress('https://example.com/a'), 'https://example.com/a');
  t.is(safeAddress('mailto:ada@example.com'), 'mailto:ada@example.com');
  for (const href of ['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'data:text/html,x', 'vbscript:x', '/v1/ping', 'x'])
    t.is(safeAddress(href), undefined);
});

test('entities are read once', (t) => {
  t.is(withoutEntities('a &lt; b &amp;&amp; c'), 'a < b && c');
  t.is(withoutEntities('&amp;lt;'), '&lt;');
});
