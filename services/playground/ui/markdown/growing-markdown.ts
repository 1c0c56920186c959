import { readMarkdown, type MarkdownBlock } from './markdown-tree.ts';

/** A text in Markdown that is read in slices, while it grows or because it is long. */
export interface GrowingMarkdown {
  readonly text: string;
  /** The blocks that cannot change any more, in groups: a group that is full stays the same object. */
  readonly settled: readonly (readonly MarkdownBlock[])[];
  /** Where the text begins that is not settled. */
  readonly offset: number;
  /** The blocks of that text; absent where it is plain: for now, or for good. */
  readonly tail: readonly MarkdownBlock[] | undefined;
  /** How many nodes the settled blocks have. */
  readonly size: number;
  /** How many characters the next slice has. */
  readonly slice: number;
  /** `reading` when another slice can be read; `waiting` for the end of the text; `plain` when the rest stays as it was written. */
  readonly state: 'reading' | 'read' | 'waiting' | 'plain';
}

/** The characters of a slice. A block that is longer is read once the text has ended. */
const leastSlice = 4 * 1024;
/** A block of more characters is plain text, and what comes after it. */
const mostSlice = 64 * 1024;
/** Beyond so many nodes the rest of a text is plain. */
const maxSize = 10_000;
/** How many blocks a full group has. */
const groupSize = 40;
/** How many blocks at the end of a slice may still change: after a blank line a list may go on. */
const openBlocks = 2;

export const emptyMarkdown: GrowingMarkdown = {
  ...{ text: '', settled: [], offset: 0, tail: [], size: 0 },
  ...{ slice: leastSlice, state: 'reading' },
};

/**
 * Reads one slice of what is not settled of a text. It costs no more than the slice, however long the text is; a text that is not a
 * continuation of the one before is read from its start.
 */
export function growMarkdown(before: GrowingMarkdown, text: string, isGrowing: boolean): GrowingMarkdown {
  const start = text.startsWith(before.text) ? before : emptyMarkdown;
  if (start.state === 'plain' || (start.state === 'waiting' && isGrowing)) return { ...start, text };
  const end = start.offset + start.slice;
  const reading = readMarkdown(text.slice(start.offset, end));
  if (!reading || start.size + sizeOf(reading.blocks) > maxSize)
    return { ...start, text, tail: undefined, state: 'plain' };
  return withBlocks({ ...start, text }, reading.blocks, { isEnd: end >= text.length, isGrowing });
}

interface Place {
  /** Whether the slice ends where the text does. */
  readonly isEnd: boolean;
  readonly isGrowing: boolean;
}

function withBlocks(
  start: GrowingMarkdown,
  blocks: readonly MarkdownBlock[],
  { isEnd, isGrowing }: Place,
): GrowingMarkdown {
  if (isEnd && !isGrowing) return { ...start, tail: blocks, state: 'read' };
  const open = blocks.at(-openBlocks);
  const done = blocks.slice(0, -openBlocks);
  if (!open || done.length === 0)
    return isEnd ? { ...start, tail: blocks, state: 'read' } : withoutEnd(start, isGrowing);
  return {
    ...{ text: start.text, slice: leastSlice },
    settled: grouped(start.settled, done),
    offset: start.offset + open.start,
    size: start.size + sizeOf(done),
    tail: isEnd ? blocks.slice(-openBlocks) : undefined,
    state: isEnd ? 'read' : 'reading',
  };
}

/** A slice in which no block has ended. */
function withoutEnd(start: GrowingMarkdown, isGrowing: boolean): GrowingMarkdown {
  if (isGrowing) return { ...start, tail: undefined, state: 'waiting' };
  const slice = start.slice * 2;
  return { ...start, tail: undefined, slice, state: slice > mostSlice ? 'plain' : 'reading' };
}

const sizeOf = (blocks: readonly MarkdownBlock[]): number => blocks.reduce((sum, { size }) => sum + size, 0);

function grouped(
  groups: readonly (readonly MarkdownBlock[])[],
  more: readonly MarkdownBlock[],
): readonly (readonly MarkdownBlock[])[] {
  const last = groups.at(-1) ?? [];
  const isFull = last.length >= groupSize;
  const all = isFull ? more : [...last, ...more];
  const cut = isFull ? [...groups] : groups.slice(0, -1);
  for (let index = 0; index < all.length; index += groupSize) cut.push(all.slice(index, index + groupSize));
  return cut;
}
