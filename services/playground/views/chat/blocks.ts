import type { Block } from '@agent-workflow/client';

/** The blocks of a message with its next chunk: text and thoughts continue the block before them when it is of their kind. */
export function withChunk(blocks: readonly Block[], chunk: unknown): readonly Block[] {
  const block: Block = typeof chunk === 'string' ? { type: 'text', text: chunk } : (chunk as Block);
  const last = blocks.at(-1);
  const grows = last?.type === block.type && (block.type === 'text' || block.type === 'reasoning');
  if (!grows || typeof last['text'] !== 'string' || typeof block['text'] !== 'string') return [...blocks, block];
  return [...blocks.slice(0, -1), { ...last, text: last['text'] + block['text'] }];
}

/** The log keeps each chunk of a thought as a block of its own: they are read as one. */
export function withThoughtsJoined(blocks: readonly Block[]): readonly Block[] {
  if (!blocks.some(({ type }, index) => type === 'reasoning' && blocks[index - 1]?.type === 'reasoning')) return blocks;
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last?.type === 'reasoning' && block.type === 'reasoning') joined.push(...withChunk(joined.splice(-1), block));
    else joined.push(block);
  }
  return joined;
}

/** A text of a block; empty where it has none. */
export const textAt = (block: Block, name: string): string => {
  const text = block[name];
  return typeof text === 'string' ? text : '';
};

/** Whether a block calls a tool, of the service or of the caller. */
export const isCall = ({ type }: Block): boolean => type === 'tool_call' || type === 'remote_tool_call';
