import { readdir, readFile } from 'node:fs/promises';
import { Marked, type RendererObject, type Tokens } from 'marked';
import { toPage, type Page } from './page.ts';

/** What a page of the guide becomes. */
interface Rendered {
  /** The text of its first heading. */
  readonly title: string;
  readonly html: string;
}

/** A topic in the list that every page has. */
interface Topic {
  readonly path: string;
  readonly title: string;
}

/** The Markdown of a page as HTML. `pathOf` gives where the gateway serves a file of the guide; `undefined` for others. */
export function render(markdown: string, pathOf: (file: string) => string | undefined): Rendered {
  const marked = new Marked({ renderer: { ...structure(), link: linkTo(pathOf) } });
  const tokens = marked.lexer(markdown);
  const heading = tokens.find((token): token is Tokens.Heading => token.type === 'heading');
  return { title: heading ? textOf(heading.tokens) : '', html: marked.parser(tokens) };
}

/** The parts that are written another way than the library does. HTML that stands in the Markdown is shown, not obeyed. */
function structure(): RendererObject {
  const anchors = new Map<string, number>();
  return {
    heading({ tokens, depth }) {
      const id = anchorOf(textOf(tokens), anchors);
      const text = this.parser.parseInline(tokens);
      return depth === 1
        ? `<h1>${text}</h1>\n`
        : `<h${depth} id="${id}"><a class="anchor" href="#${id}">${text}</a></h${depth}>\n`;
    },
    code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
    table({ header, rows }) {
      const cellsOf = (cells: readonly Tokens.TableCell[], tag: string): string =>
        cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag.split(' ', 1)[0]}>`).join('');
      const lines = rows.map((cells) => `<tr>${cellsOf(cells, 'td')}</tr>`).join('\n');
      const head = `<thead><tr>${cellsOf(header, 'th scope="col"')}</tr></thead>`;
      return `<div class="table" tabindex="0"><table>${head}<tbody>${lines}</tbody></table></div>\n`;
    },
    html: ({ text }) => escaped(text),
    image: ({ text }) => escaped(text),
  };
}

/** A link to a page of the guide, an anchor or another site stays one; any other file of the repository is shown as text. */
const linkTo = (pathOf: (file: string) => string | undefined): NonNullable<RendererObject['link']> =>
  function ({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const [file = '', anchor] = href.split('#', 2);
    const isElsewhere = /^https?:\/\//.test(href);
    const path = file === '' || isElsewhere ? file : pathOf(file);
    if (path === undefined) return text;
    return `<a href="${escaped(anchor === undefined ? path : `${path}#${anchor}`)}">${text}</a>`;
  };

/** The anchor that code hosts give a heading, so that a link to it leads to the same place there. */
function anchorOf(text: string, known: Map<string, number>): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
  const count = known.get(plain) ?? 0;
  known.set(plain, count + 1);
  return count === 0 ? plain : `${plain}-${String(count)}`;
}

/** As much of a token as its text is read from. */
interface TextToken {
  readonly raw: string;
  readonly text?: string;
  readonly tokens?: readonly TextToken[] | undefined;
}

/** The text of a heading, without its marks. */
const textOf = (tokens: readonly TextToken[]): string =>
  tokens.map(({ raw, text = raw, tokens: within }) => (within ? textOf(within) : text)).join('');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');

/** The whole document. `path` is where this page is served. */
export function documentOf({ title, html }: Rendered, path: string, topics: readonly Topic[]): string {
  const entries = topics.map((topic) => {
    const current = topic.path === path ? ' aria-current="page"' : '';
    return `<li><a href="${topic.path}"${current}>${escaped(topic.title)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Agent Workflow Service</title>
<link rel="stylesheet" href="${stylePath}">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header><a href="/docs">Agent Workflow Service</a></header>
<nav aria-label="Guide">
<ul>
${entries.join('\n')}
</ul>
</nav>
<main id="text" tabindex="-1">
${html}</main>
</body>
</html>
`;
}

/** Where the style sheet of the guide is served. */
const stylePath = '/docs/guide.css';

const folder = new URL('../guide/', import.meta.url);
const index = 'README.md';

/** Reads the guide and renders it: the page of each path. */
export async function readGuide(): Promise<ReadonlyMap<string, Page>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md'));
  const pathOf = (file: string): string | undefined => (files.includes(file) ? guidePathOf(file) : undefined);
  const read = async (file: string) => {
    const markdown = await readFile(new URL(file, folder), 'utf8');
    return { file, path: guidePathOf(file), markdown, rendered: render(markdown, pathOf) };
  };
  const pages = await Promise.all(files.map(read));
  const order = pages.find(({ file }) => file === index)?.markdown ?? '';
  const placeOf = ({ file }: { readonly file: string }): number => (file === index ? -1 : order.indexOf(`(${file})`));
  const topics: readonly Topic[] = [
    ...pages.toSorted((a, b) => placeOf(a) - placeOf(b)).map(({ path, rendered: { title } }) => ({ path, title })),
    { path: '/docs/api', title: 'API reference' },
  ];
  const style = await readFile(new URL('guide.css', import.meta.url), 'utf8');
  return new Map([
    ...pages.map(({ path, rendered }) => [path, toPage('html', documentOf(rendered, path, topics))] as const),
    [stylePath, toPage('css', style)],
  ]);
}

const guidePathOf = (file: string): string => (file === index ? '/docs' : `/docs/${file.replace(/\.md$/, '')}`);
