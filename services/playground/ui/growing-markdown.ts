import { lexer, type Token } from 'marked';

/** A text that grows, of which all but its end has been parsed for good. */
interface GrowingMarkdown {
  readonly text: string;
  /** The blocks that cannot change any more, in groups: a group that is full stays the same object. */
  readonly settled: readonly (readonly Token[])[];
  /** Where the text begins that may still change. */
  readonly offset: number;
  /** The blocks of that text; absent while it is too long to be parsed again and again. */
  readonly tail: readonly Token[] | undefined;
}

export const emptyMarkdown: GrowingMarkdown = { text: '', settled: [], offset: 0, tail: [] };

/** The most characters at the end of a growing text that are parsed at each change: a longer end is plain text until it ends. */
const maxGrowingTail = 8192;
/** The most characters that are parsed at once. A longer text is shown as it stands. */
const maxTail = 128 * 1024;
/** How many blocks a full group has. */
const groupSize = 40;
/** How many blocks at the end of a growing text may still change: after a blank line a list may go on. */
const openBlocks = 2;

/**
 * Parses what a text has gained. It costs no more than the end of the text, however long the text has become; a text that is not a
 * continuation of the one before is parsed from its start.
 */
export function growMarkdown(before: GrowingMarkdown, text: string, isGrowing: boolean): GrowingMarkdown {
  const start = text.startsWith(before.text) ? before : emptyMarkdown;
  const rest = text.slice(start.offset);
  const isStuck = isGrowing && start.tail === undefined;
  if (isStuck || rest.length > maxTail) return { ...start, text, tail: undefined };
  const tokens: Token[] = lexer(rest);
  const blocks = tokens.flatMap(({ type }, index) => (type === 'space' ? [] : [index]));
  const firstOpen = isGrowing ? (blocks.at(-openBlocks) ?? 0) : 0;
  const done = tokens.slice(0, firstOpen);
  if (isGrowing && done.length === 0 && rest.length > maxGrowingTail) return { ...start, text, tail: undefined };
  const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
  return { text, settled: grouped(start.settled, done), offset: start.offset + length, tail: tokens.slice(firstOpen) };
}

function grouped(groups: readonly (readonly Token[])[], more: readonly Token[]): readonly (readonly Token[])[] {
  if (more.length === 0) return groups;
  const last = groups.at(-1) ?? [];
  const all = last.length < groupSize ? [...last, ...more] : [...more];
  const full = last.length < groupSize ? groups.slice(0, -1) : [...groups];
  const cut: Token[][] = [];
  for (let index = 0; index < all.length; index += groupSize) cut.push(all.slice(index, index + groupSize));
  return [...full, ...cut];
}

/** A long text in parts, cut at white space, so that a browser lays out only the last one when the text grows. */
export function partsOf(text: string, size = 4096): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const space = from + size < text.length ? text.lastIndexOf(' ', from + size) : text.length;
    const to = space > from ? Math.min(text.length, space + 1) : Math.min(text.length, from + size);
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
