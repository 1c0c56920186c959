import test from 'ava';
import { documentOf, type Frame } from './frame.ts';
import { render } from './markdown.ts';

const books = [
  {
    title: 'Guide',
    topics: [
      { path: '/docs', title: 'Overview' },
      { path: '/docs/x', title: 'A & b' },
    ],
  },
  { title: 'Other', topics: [{ path: '/docs/other', title: 'Other' }] },
];
const frame: Frame = { books, assets: '/docs/assets/', playground: '/playground' };
const heading = (text: string): { id: string; text: string; depth: number } => ({ id: text, text, depth: 2 });
const page = (headings: readonly string[] = []): string =>
  documentOf({ path: '/docs/x', title: 'A & b', html: '<h1>A</h1>', headings: headings.map(heading) }, frame);

test('a document has the title of its page, and its own entry is marked as current', (t) => {
  t.true(page().includes('<title>A &amp; b · Agent Workflow Service</title>'));
  t.true(page().includes('<li><a href="/docs/x" aria-current="page">A &amp; b</a></li>'));
  t.true(page().includes('<li><a href="/docs">Overview</a></li>'));
});

test('the book of the page is open, the others are folded', (t) => {
  t.regex(page(), /<details open>\n<summary>Guide</);
  t.regex(page(), /<details>\n<summary>Other</);
});

test('a page leads to the one before it and the one after it in its book', (t) => {
  t.regex(page(), /href="\/docs"><span>Previous<\/span> Overview</);
  t.notRegex(page(), />Next</);
});

test('two headings or more are listed beside the page', (t) => {
  t.notRegex(page(['one']), /On this page/);
  t.regex(page(['one', 'two']), /<li><a href="#two">two<\/a><\/li>/);
});

test('without a playground nothing leads there', (t) => {
  const content = { path: '/docs/x', title: 'A', html: '', headings: [] };
  t.regex(documentOf(content, frame), /href="\/playground"/);
  t.notRegex(documentOf(content, { ...frame, playground: undefined }), /href="\/playground"/);
});

test('no heading has the id of what stands around the page', (t) => {
  const { html, headings } = render(
    '# A\n\n## Topics\n\n## Text\n\n## frameTopics\n\n## frame Text\n',
    () => undefined,
  );
  const whole = documentOf({ path: '/docs/x', title: 'A', html, headings }, frame);
  const ids = [...whole.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  t.true(ids.length >= 6);
  t.is(new Set(ids).size, ids.length);
});
