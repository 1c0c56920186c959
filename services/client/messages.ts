import type { Block, Message } from './shapes/messages.ts';

/** The text of a message: its text blocks, joined. */
export const textOf = ({ content }: Pick<Message, 'content'>): string =>
  content.map((block: Block) => (block.type === 'text' ? String(block['text']) : '')).join('');
