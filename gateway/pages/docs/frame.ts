import { escaped } from './escaped.ts';
import type { Heading } from './markdown.ts';

/** A page in the list of all pages. */
interface Topic {
  readonly path: string;
  readonly title: string;
}

/** A book of the documentation: the pages for one kind of reader. */
export interface Book {
  readonly title: string;
  readonly topics: readonly Topic[];
}

/** A page without what stands around it. */
export interface Content {
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** What stands around a page. */
export interface Frame {
  readonly books: readonly Book[];
  /** Below which path style sheets and scripts are served; it ends with a slash. */
  readonly assets: string;
  /** Where the playground is served, if it is. */
  readonly playground: string | undefined;
}

/**
 * The whole document of a page. It reads without its scripts: they add the search, the theme, and buttons that copy.
 * The ids of what stands around a page begin with `frame` and go on with a capital letter: no anchor of a heading has one, and no operation begins so.
 */
export function documentOf(content: Content, { books, assets, playground }: Frame): string {
  const { path, title, html, headings } = content;
  const book = books.find(({ topics }) => topics.some((topic) => topic.path === path));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Agent Workflow Service</title>
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="${assets}docs.css">
<script src="${assets}theme.js"></script>
<script src="${assets}docs.js" type="module"></script>
</head>
<body>
<a class="skip" href="#frameText">Skip to the text</a>
<header>
<a class="brand" href="/docs">${sign('M2 4h6M5 8h9M8 12h4')}Agent Workflow</a>
<button type="button" class="contents" popovertarget="frameTopics">${sign('M2 4h12M2 8h12M2 12h12')}Contents</button>
<button type="button" class="find" hidden>${sign('M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm3.3-1.2 3.2 3.2')}<span>Search</span><kbd>/</kbd></button>
</header>
<nav id="frameTopics" aria-label="Documentation" popover>
${books.map((each) => bookOf(each, { path, isOpen: each === book })).join('\n')}
<p class="foot">${playground === undefined ? '' : `<a href="${playground}">Playground</a>`}<label class="theme" hidden>Theme <select></select></label></p>
</nav>
<main id="frameText" tabindex="-1">
<p class="crumb">${escaped(book?.title ?? '')}</p>
${html}${book ? neighboursOf(book.topics, path) : ''}</main>
${contentsOf(headings)}</body>
</html>
`;
}

/** A sign of the playground: lines on a square of 16. */
const sign = (path: string): string =>
  `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"></path></svg>`;

const bookOf = (
  { title, topics }: Book,
  { path, isOpen }: { readonly path: string; readonly isOpen: boolean },
): string =>
  `<details${isOpen ? ' open' : ''}>
<summary>${escaped(title)}</summary>
<ul>
${topics.map((topic) => entryOf(topic, path)).join('\n')}
</ul>
</details>`;

const entryOf = (topic: Topic, path: string): string =>
  `<li><a href="${topic.path}"${topic.path === path ? ' aria-current="page"' : ''}>${escaped(topic.title)}</a></li>`;

/** Links to the page before and the page after this one. */
function neighboursOf(topics: readonly Topic[], path: string): string {
  const place = topics.findIndex((topic) => topic.path === path);
  const link = (topic: Topic | undefined, word: string): string =>
    topic
      ? `<a class="${word.toLowerCase()}" href="${topic.path}"><span>${word}</span> ${escaped(topic.title)}</a>`
      : '';
  return `<p class="neighbours">${link(topics[place - 1], 'Previous')}${link(topics[place + 1], 'Next')}</p>\n`;
}

/** The headings of the page, where there are several. */
function contentsOf(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2);
  if (shown.length < 2) return '';
  const entries = shown.map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`);
  return `<nav class="here" aria-label="On this page">
<p>On this page</p>
<ul>
${entries.join('\n')}
</ul>
</nav>
`;
}
