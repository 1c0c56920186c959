import type { Block, Message } from '@agent-workflow/protos/message';

/** How much of a message was published in chunks. */
export interface PublishedChunks {
  /** Characters of its text. */
  readonly characters: number;
  /** Blocks that are not text. */
  readonly blocks: number;
}

type Content = Pick<Message, 'content'>;

const nothing: PublishedChunks = { characters: 0, blocks: 0 };

/** The chunks of a message that are not published yet: its text after the published characters, its blocks after the published ones. */
export function chunksOf({ content }: Content, { characters, blocks }: PublishedChunks = nothing): (string | Block)[] {
  let skipCharacters = characters;
  let skipBlocks = blocks;
  const chunks: (string | Block)[] = [];
  for (const block of content) {
    if (!isText(block)) {
      if (skipBlocks-- <= 0) chunks.push(block);
      continue;
    }
    const text = block.text.slice(skipCharacters);
    skipCharacters = Math.max(0, skipCharacters - block.text.length);
    if (text !== '') chunks.push(text);
  }
  return chunks;
}

/**
 * How much of a message is published when it takes the place of a published one: all of it where it does not begin as that one does, because
 * chunks cannot be taken back.
 */
export function publishedPart(message: Content, published: Content): PublishedChunks {
  const before = textIn(published);
  if (!textIn(message).startsWith(before)) return { characters: Infinity, blocks: Infinity };
  return { characters: before.length, blocks: published.content.filter((block) => !isText(block)).length };
}

const textIn = ({ content }: Content): string => content.map((block) => (isText(block) ? block.text : '')).join('');

export const isText = (block: Block): block is Block & { readonly text: string } =>
  block.type === 'text' && typeof block['text'] === 'string';
