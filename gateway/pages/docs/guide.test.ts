import test from 'ava';
import { guidePages } from './guide.ts';

const guides = [
  {
    folder: 'gateway/guide',
    path: '/docs',
    files: new Map([
      ['b.md', '# B'],
      ['a.md', '# A\n\n[b](b.md) [its other](../../services/graph/guide/x.md#y) [code](../app.ts)'],
      ['README.md', '# All\n\n[B](b.md) [A](a.md)'],
    ]),
  },
  {
    folder: 'services/graph/guide',
    path: '/docs/authors',
    files: new Map([
      ['README.md', '# Authors [x](x.md)'],
      ['x.md', '# X\n\n## Y\n\n[a](../../../gateway/guide/a.md) [all](README.md)'],
    ]),
  },
];

test('pages stand in the order in which the index of their guide names them', (t) => {
  t.deepEqual(
    guidePages(guides).map((pages) => pages.map(({ path, title }) => [path, title])),
    [
      [
        ['/docs', 'All'],
        ['/docs/b', 'B'],
        ['/docs/a', 'A'],
      ],
      [
        ['/docs/authors', 'Authors x'],
        ['/docs/authors/x', 'X'],
      ],
    ],
  );
});

test('a page whose text does not begin with its title has it too', (t) => {
  const files = new Map([['README.md', '\n<!-- a note -->\n\n# The *title*\n\nA text']]);
  const [[page] = []] = guidePages([{ folder: 'guide', path: '/docs', files }]);
  t.is(page?.title, 'The title');
  t.true(page?.html.includes('<p>A text</p>'));
});

test('links between pages, also of two guides, lead to where they are served', (t) => {
  const [callers = [], authors = []] = guidePages(guides);
  t.true(callers[2]?.html.includes('<a href="/docs/b">b</a> <a href="/docs/authors/x#y">its other</a> code'));
  t.true(authors[1]?.html.includes('<a href="/docs/a">a</a> <a href="/docs/authors">all</a>'));
});
