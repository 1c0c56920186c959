import MarkdownIt, { type StateBlock, type StateInline, type Token } from 'markdown-it';

/** A part of a text in Markdown: characters, or an element. */
export type MarkdownNode = string | MarkdownElement;

export interface MarkdownElement {
  /** The element of HTML that it is drawn as: `p`, `em`; `pre` is a block of code. */
  readonly tag: string;
  readonly children: readonly MarkdownNode[];
  /** Where a link or an image leads. */
  readonly href?: string;
  /** The number that a list begins with. */
  readonly start?: number;
  /** The language of a block of code. */
  readonly language?: string;
}

/** A block of the uppermost level. */
export interface MarkdownBlock {
  readonly children: readonly MarkdownNode[];
  /** Where it begins in the text. */
  readonly start: number;
  /** How many nodes it has. */
  readonly size: number;
}

interface MarkdownReading {
  readonly blocks: readonly MarkdownBlock[];
  /** At how many places of the text rules were tried, and how many parts of blocks were made. */
  readonly steps: number;
}

/** A text that nests deeper is plain text: its drawing is recursive. */
const maxDepth = 50;
/** A text that takes more steps to be read is plain text: 4 KiB of signs take up to 10,000, 64 KiB of sentences some 5,000. */
const maxSteps = 12_000;

interface Env {
  steps: number;
}

const parser = new MarkdownIt({ html: false, linkify: true });
// Which links may be followed is decided where they are drawn.
parser.validateLink = () => true;
parser.linkify.set({ fuzzyLink: false });
parser.block.ruler.before('table', 'bounds', bound);
parser.inline.ruler.before('text', 'bounds', bound);
parser.block.State = class extends parser.block.State {
  /** A table may have more cells than its text has characters. */
  override push(...token: Parameters<StateBlock['push']>): Token {
    count(this.env as Env);
    return super.push(...token);
  }
};

/** A rule that matches nothing: it is tried first at each place. */
function bound({ env, level }: StateBlock | StateInline): boolean {
  count(env as Env);
  if (level >= maxDepth) throw new RangeError('the text nests too deep');
  return false;
}

function count(env: Env): void {
  env.steps += 1;
  if (env.steps > maxSteps) throw new RangeError('the text takes too many steps');
}

/** Reads a text in Markdown. `undefined` for one that nests too deep, takes too many steps, or that the library fails at. */
export function readMarkdown(text: string): MarkdownReading | undefined {
  const env: Env = { steps: 0 };
  try {
    return { blocks: toBlocks(parser.parse(text, env), linesOf(text)), steps: env.steps };
  } catch {
    return undefined;
  }
}

/** Where each line begins. */
function linesOf(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\r\n?|\n/g), ({ index, 0: end }) => index + end.length)];
}

/** The blocks among the tokens of a text: each is one token, or all from its opening token to the closing one. */
function toBlocks(tokens: readonly Token[], lines: readonly number[]): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let first = 0;
  tokens.forEach(({ level, nesting }, at) => {
    if (level > 0 || nesting > 0) return;
    const own = tokens.slice(first, at + 1);
    const start = lines[own[0]?.map?.[0] ?? 0] ?? 0;
    blocks.push({ children: toNodes(own), start, size: own.reduce(sizeWith, 0) });
    first = at + 1;
  });
  return blocks;
}

const sizeWith = (sum: number, { children }: Token): number => sum + 1 + (children?.length ?? 0);

interface Open {
  /** Absent for the list of all. */
  readonly token?: Token;
  readonly children: MarkdownNode[];
}

/** The nodes of tokens that stand in one row: what is inside an element stands between its opening token and its closing one. */
function toNodes(tokens: readonly Token[], depth = 0): readonly MarkdownNode[] {
  const all: MarkdownNode[] = [];
  const open: Open[] = [{ children: all }];
  for (const token of tokens) {
    if (token.nesting > 0) open.push({ token, children: [] });
    else {
      const { token: opening = token, children } = token.nesting < 0 ? (open.pop() as Open) : noChildren;
      const into = open.at(-1)?.children ?? all;
      for (const node of nodesOf(opening, children, depth + open.length)) into.push(node);
    }
    if (depth + open.length > maxDepth) throw new RangeError('the text nests too deep');
  }
  return all;
}

const noChildren: Open = { children: [] };

function nodesOf(token: Token, children: readonly MarkdownNode[], depth: number): readonly MarkdownNode[] {
  const { type, tag, content, hidden } = token;
  switch (type) {
    case 'inline':
      return toNodes(token.children ?? [], depth);
    case 'text':
      return [content];
    case 'softbreak':
      return ['\n'];
    case 'code_inline':
      return [{ tag, children: [content] }];
    case 'fence':
    case 'code_block':
      return [
        { tag: 'pre', children: [content.replace(/\n$/, '')], language: token.info.trim().split(' ', 1)[0] ?? '' },
      ];
    case 'image':
      return [{ tag, children: [content], href: token.attrGet('src') ?? '' }];
    case 'link_open':
      return [{ tag, children, href: token.attrGet('href') ?? '' }];
    case 'ordered_list_open':
      return [{ tag, children, start: Number(token.attrGet('start') ?? 1) }];
    default:
      // The paragraph of an item in a list without blank lines is hidden.
      return hidden ? children : [{ tag, children }];
  }
}
