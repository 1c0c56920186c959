import { existsSync, globSync } from 'node:fs';
import { posix } from 'node:path';
import test from 'ava';
import { read, root } from './tree.ts';

/** The pages in Markdown, as paths from the root. */
const pages: readonly string[] = globSync('{*,{protos,services,gateway,test,deploy}/**/*}.md', {
  cwd: root,
  exclude: (name) => /(^|\/)(node_modules|dist)(\/|$)/.test(name),
}).map((file) => file.replaceAll('\\', '/'));

const proseOf = (page: string): string => page.replaceAll(/^```.*?^```/gms, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const anchors = headings.map((heading) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(anchors);
}

/** Links of a page to files and headings that are not there. */
function deadLinks(page: string, text: string): string[] {
  const links = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^\w+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : posix.join(posix.dirname(page), path);
    if (!existsSync(posix.join(root, target))) return true;
    if (anchor === undefined || !target.endsWith('.md')) return false;
    return !anchorsOf(target === page ? text : read(target)).has(anchor);
  });
}

test('every link between pages leads to a file, and to a heading of it', (t) => {
  t.true(pages.length > 20);
  t.deepEqual(
    pages.flatMap((page) => deadLinks(page, read(page)).map((link) => `${page}: ${link}`)),
    [],
  );
});

test('a link that leads nowhere is found', (t) => {
  const links =
    '[a](#there) [b](#not-there) [c](gateway/none.md) [d](gateway/README.md#nothing) [e](https://x.test/#y)';
  t.deepEqual(deadLinks('README.md', `# There\n${links}`), [
    '#not-there',
    'gateway/none.md',
    'gateway/README.md#nothing',
  ]);
});
