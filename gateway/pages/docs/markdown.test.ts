import test from 'ava';
import { render } from './markdown.ts';

const pathOf = (file: string): string | undefined => (file === 'x.md' ? '/docs/x' : undefined);
const html = (markdown: string): string => render(markdown, pathOf).html;

test('a link to a page leads to where it is served, and its anchor stays', (t) => {
  t.is(html('[a *b*](x.md)'), '<p><a href="/docs/x">a <em>b</em></a></p>\n');
  t.is(html('[a](x.md#the-end)'), '<p><a href="/docs/x#the-end">a</a></p>\n');
  t.is(html('[a](#here)'), '<p><a href="#here">a</a></p>\n');
  t.is(html('[a](https://example.com/b#c)'), '<p><a href="https://example.com/b#c">a</a></p>\n');
});

test('a link to anything else is shown as its text', (t) => {
  for (const href of ['../app.ts', 'y.md', '/etc/passwd', 'javascript:alert(1)', '//evil.example', 'data:text/html,x'])
    t.is(html(`[a](${href})`), '<p>a</p>\n', href);
});

test('HTML in a page is shown and not obeyed', (t) => {
  t.is(html('a <script>x</script> b'), '<p>a &lt;script&gt;x&lt;/script&gt; b</p>\n');
  t.is(html('<b onclick="x">'), '&lt;b onclick=&quot;x&quot;&gt;');
  t.is(
    html('```\n</code><i>\n```'),
    '<div class="code"><p>Output</p><pre tabindex="0"><code>&lt;/code&gt;&lt;i&gt;</code></pre></div>\n',
  );
  t.is(html('![a <b>](https://example.com/x.png)'), '<p>a &lt;b&gt;</p>\n');
});

test('a heading has the anchor that code hosts give it; the second of a name gets a number', (t) => {
  const page = html('# One\n\n## Two `b`: & c\n\n## A\n\n## A');
  t.true(
    page.startsWith(
      '<h1>One</h1>\n<h2 id="two-b--c"><a class="anchor" href="#two-b--c">Two <code>b</code>: &amp; c</a></h2>',
    ),
  );
  t.regex(page, /id="a">/);
  t.regex(page, /id="a-1"><a class="anchor" href="#a-1">/);
});

test('a table has headers with a scope, and no styles', (t) => {
  t.is(
    html('| a |\n|:-:|\n| `1` |'),
    '<div class="table" tabindex="0"><table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td><code>1</code></td></tr></tbody></table></div>\n',
  );
});

test('what stands below each heading is a section of its own, as one line of text', (t) => {
  const { sections, headings } = render(
    '# A\n\nFirst *line*.\n\n- one\n- two\n\n## B `c`\n\n| x | y |\n|---|---|\n| `1` | 2 |\n\n```sh\nls -l\n```\n',
    pathOf,
  );
  const heading = { id: 'b-c', text: 'B c', depth: 2 };
  t.deepEqual(headings, [heading]);
  t.deepEqual(sections, [{ text: 'First line. one two' }, { heading, text: 'x y 1 2 ls -l' }]);
});
