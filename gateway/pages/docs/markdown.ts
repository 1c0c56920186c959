import { Marked, type RendererObject, type Token, type Tokens } from 'marked';
import { escaped } from './escaped.ts';
import { codeBlock } from './highlighted.ts';

/** A heading below the title of a page. */
export interface Heading {
  readonly id: string;
  readonly text: string;
  readonly depth: number;
}

/** What stands below one heading, for the search. */
export interface Section {
  /** Absent: what stands before the first heading. */
  readonly heading?: Heading;
  readonly text: string;
}

/** What a page of Markdown becomes. */
interface Rendered {
  /** The text of its first heading. */
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

/** Where a link leads that stands in a page; `undefined` for what is not served. */
export type PathOf = (file: string) => string | undefined;

/** The Markdown of a page as HTML. HTML that stands in it is shown, not obeyed. */
export function render(markdown: string, pathOf: PathOf): Rendered {
  const headings = new Map<Token, Heading>();
  const marked = new Marked({ renderer: { ...structure(headings), link: linkTo(pathOf) } });
  const tokens = marked.lexer(markdown);
  const anchors = new Map<string, number>();
  for (const token of tokens) {
    if (!isHeading(token)) continue;
    const text = textOf(token.tokens);
    headings.set(token, { id: anchorOf(text, anchors), text, depth: token.depth });
  }
  const [title, ...others] = headings.values();
  return {
    title: title?.text ?? '',
    html: marked.parser(tokens),
    headings: others,
    sections: sectionsOf(tokens, headings),
  };
}

/** A text of one paragraph or several that stands within a page, as HTML. Its links lead to addresses alone. */
export const renderText = (markdown: string): string => texts.parse(markdown, { async: false });

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** The parts that are written another way than the library does. */
function structure(headings: ReadonlyMap<Token, Heading>): RendererObject {
  return {
    heading(token) {
      const { depth, tokens } = token;
      const id = headings.get(token)?.id ?? '';
      const text = this.parser.parseInline(tokens);
      return depth === 1
        ? `<h1>${text}</h1>\n`
        : `<h${depth} id="${id}"><a class="anchor" href="#${id}">${text}</a></h${depth}>\n`;
    },
    code: ({ text, lang }) => codeBlock(text, lang),
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

/** A link to a page that is served, an anchor or another site stays one; any other file of the repository is shown as text. */
const linkTo = (pathOf: PathOf): NonNullable<RendererObject['link']> =>
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
  readonly type?: string;
  /** Absent: of the cell of a table. */
  readonly raw?: string;
  readonly text?: string;
  readonly tokens?: readonly TextToken[] | undefined;
  /** Of a list. */
  readonly items?: readonly TextToken[];
  /** Of a table its cells, of a cell whether it is one of them. */
  readonly header?: unknown;
  readonly rows?: readonly (readonly TextToken[])[];
}

/** The text of a heading, without its marks. */
const textOf = (tokens: readonly TextToken[]): string =>
  tokens.map(({ raw = '', text = raw, tokens: within }) => (within ? textOf(within) : text)).join('');

/** The text of a part of a page in one line. Parts that stand apart are parted by a space. */
function lineOf(token: TextToken): string {
  const { items, header, rows, tokens, raw = '', text = raw } = token;
  const parts = items ?? (rows && [...(Array.isArray(header) ? (header as readonly TextToken[]) : []), ...rows.flat()]);
  if (parts) return parts.map(lineOf).join(' ');
  if (token.type === 'list_item') return (tokens ?? []).map(lineOf).join(' ');
  return tokens ? textOf(tokens) : text;
}

function sectionsOf(tokens: readonly Token[], headings: ReadonlyMap<Token, Heading>): readonly Section[] {
  const sections: { heading?: Heading; lines: string[] }[] = [{ lines: [] }];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading && heading.depth > 1) sections.push({ heading, lines: [] });
    else if (!heading && token.type !== 'space') sections.at(-1)?.lines.push(lineOf(token));
  }
  return sections.map(({ lines, ...rest }) => ({ ...rest, text: lines.join(' ').replaceAll(/\s+/g, ' ').trim() }));
}

/** For texts without headings of their own. */
const texts = new Marked({ renderer: { ...structure(new Map()), link: linkTo(() => undefined) } });
