import type { Block, Message } from '@agent-workflow/protos/message';

/** How much of a message was published in chunks. */
export interface PublishedChunks {
  /** Characters of its text. */
  readonly characters: number;
  /** Characters of its reasoning. */
  readonly reasoning?: number;
  /** Blocks that are neither. */
  readonly blocks: number;
}

type Content = Pick<Message, 'content'>;

const nothing: PublishedChunks = { characters: 0, blocks: 0 };

/** The chunks of a message that are not published yet: its text after the published characters, its blocks after the published ones. */
export function chunksOf(
  { content }: Content,
  { characters, reasoning = 0, blocks }: PublishedChunks = nothing,
): (string | Block)[] {
  const skip = { text: characters, reasoning };
  let skipBlocks = blocks;
  return content.flatMap((block): (string | Block)[] => {
    if (!isText(block) && !isReasoning(block)) return skipBlocks-- > 0 ? [] : [block];
    const { type } = block;
    const text = block.text.slice(skip[type]);
    skip[type] = Math.max(0, skip[type] - block.text.length);
    if (text === '') return [];
    return [type === 'text' ? text : { type, text }];
  });
}

/**
 * How much of a message is published when it takes the place of a published one: all of it where it does not begin as that one does, because
 * chunks cannot be taken back.
 */
export function publishedPart(message: Content, published: Content): PublishedChunks {
  const before = textIn(published);
  if (!textIn(message).startsWith(before)) return { characters: Infinity, reasoning: Infinity, blocks: Infinity };
  return {
    characters: before.length,
    reasoning: published.content.reduce((sum, block) => sum + (isReasoning(block) ? block.text.length : 0), 0),
    blocks: published.content.filter((block) => !isText(block) && !isReasoning(block)).length,
  };
}

const textIn = ({ content }: Content): string => content.map((block) => (isText(block) ? block.text : '')).join('');

interface TextBlock<T extends string> extends Block {
  readonly type: T;
  readonly text: string;
}

export const isText = (block: Block): block is TextBlock<'text'> =>
  block.type === 'text' && typeof block['text'] === 'string';

/** Reasoning that is streamed by its text, as text is. One with a summary or details is streamed whole. */
export const isReasoning = (block: Block): block is TextBlock<'reasoning'> =>
  block.type === 'reasoning' && typeof block['text'] === 'string' && !('summary' in block) && !('details' in block);
