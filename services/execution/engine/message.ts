import { newId } from '@agent-workflow/kit/ids';
import type { Block, Message } from '@agent-workflow/protos/message';
import { deepFreeze, type NewMessage } from './state.ts';

/** A piece of a message under way, as it is streamed. */
export interface Piece {
  readonly messageId: string;
  readonly role: Message['role'];
  readonly piece: string | Block;
}

/** The assistant message that a node's emitted pieces make. */
export interface MessageDraft {
  readonly add: (piece: string | Block) => Piece;
  /** The whole message; `undefined` when nothing was emitted. */
  readonly finish: () => Message | undefined;
}

/** Starts a message. `toBlock` may change a block before it is streamed and kept. */
export function draftMessage(toBlock: (block: Block) => Block): MessageDraft {
  const messageId = newId();
  const content: Block[] = [];
  let text = '';
  const closeText = (): void => {
    if (text !== '') content.push({ type: 'text', text });
    text = '';
  };
  return {
    add: (piece) => {
      if (typeof piece === 'string') {
        text += piece;
        return { messageId, role: 'assistant', piece };
      }
      closeText();
      const block = toBlock(plain(piece));
      content.push(block);
      // Text is streamed as text, however it was emitted: the pieces joined are what the message says.
      const isText = block.type === 'text' && typeof block['text'] === 'string';
      return { messageId, role: 'assistant', piece: isText ? (block['text'] as string) : block };
    },
    finish: () => {
      closeText();
      if (content.length === 0) return undefined;
      return deepFreeze({ message_id: messageId, role: 'assistant', content, timestamp: new Date().toISOString() });
    },
  };
}

/** A message that a node returned, made whole. */
export function toMessage(given: NewMessage, toBlock: (block: Block) => Block): Message {
  const {
    message_id: id = newId(),
    role = 'assistant',
    content,
    timestamp = new Date().toISOString(),
    ...rest
  } = given;
  const blocks =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content.map((block) => toBlock(plain(block)));
  return deepFreeze({ message_id: id, role, content: blocks, ...plain(rest), timestamp });
}

/** A value as JSON says it, so that it is the same here and wherever it is read again. @throws when JSON has no word for it. */
const plain = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
