import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import { readBlock, readMessage, type Block, type Message } from '@agent-workflow/protos/message';
import { RunFailure } from './failure.ts';
import { misfit, type FieldType } from './field.ts';
import { deepFreeze, type NewMessage } from './state.ts';

/** A piece of a message under way, as it is streamed. */
export interface Piece {
  readonly messageId: string;
  readonly role: Message['role'];
  readonly piece: string | Block;
}

/** The assistant message that a node's emitted pieces make. */
export interface MessageDraft {
  /** @throws RunFailure for what is no piece, and for one more than a message may have. */
  readonly add: (piece: string | Block) => Piece;
  /** The whole message; `undefined` when nothing was emitted. */
  readonly finish: () => Message | undefined;
}

const emittedPiece = 'the emitted piece';

/** Pieces that may wait for the event loop to turn, to be told: each weighs some 2 KB until then, however short it is. */
const maxWaiting = 50_000;
const piecesPerLook = 1000;

/** Starts a message. `toBlock` may change a block before it is streamed and kept. */
export function draftMessage(toBlock: (block: Block) => Block): MessageDraft {
  const messageId = newId();
  const content: Block[] = [];
  let text = '';
  let characters = 0;
  let pieces = 0;
  let told = 0;
  const weigh = (more: number): void => {
    characters += more;
    if (characters > sizes.message) throw tooHeavy('the emitted message', characters);
    if (++pieces - told > maxWaiting)
      throw new RunFailure('NodeFailed', `${maxWaiting} pieces were emitted in one turn of the event loop`);
    if (pieces % piecesPerLook === 0) setImmediate(() => (told = pieces));
  };
  const closeText = (): void => {
    if (text !== '') content.push({ type: 'text', text });
    text = '';
  };
  return {
    add: (piece) => {
      if (typeof piece === 'string') {
        weigh(piece.length);
        text += piece;
        return { messageId, role: 'assistant', piece };
      }
      mustBe(emittedPiece, 'object', piece);
      const json = toLightJson(piece, emittedPiece);
      weigh(json.length);
      closeText();
      const block = toBlock(orFailure(() => readEmitted(JSON.parse(json) as Block)));
      if (content.length >= sizes.blocks)
        throw new RunFailure('NodeFailed', `the emitted message has more than ${sizes.blocks} blocks`);
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

/**
 * Reads an emitted block. Arguments of a tool call come from a model, which may write anything: what is no object is answered by the
 * tool, and the model is told.
 */
function readEmitted(block: Block): Block {
  const isCall = block.type === 'tool_call' || block.type === 'remote_tool_call';
  if (!isCall || block['args'] === undefined) return readBlock(block, [emittedPiece]);
  return { ...readBlock({ ...block, args: {} }, [emittedPiece]), args: block['args'] };
}

/** Messages that a node returned, made whole. @throws RunFailure naming the first thing in them that no message has. */
export function toMessages(given: unknown, toBlock: (block: Block) => Block): Message[] {
  mustBe('messages', 'array', given);
  return (given as readonly unknown[]).map((message, index) => toMessage(message, `messages[${index}]`, toBlock));
}

function toMessage(given: unknown, place: string, toBlock: (block: Block) => Block): Message {
  mustBe(place, 'object', given);
  const { content, ...rest } = given as NewMessage;
  const fields = JSON.parse(toLightJson(rest, place)) as object;
  const message = orFailure(() =>
    readMessage({ role: 'assistant', ...fields, content: plainContent(content, `${place}.content`) }, [place], {
      newId,
      now: new Date(),
    }),
  );
  return deepFreeze({ ...message, content: message.content.map(toBlock) });
}

/** What a node gave as content, as JSON says it. */
function plainContent(content: unknown, place: string): unknown {
  if (typeof content === 'string' && content.length > sizes.message) throw tooHeavy(place, content.length);
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown, index) => {
    mustBe(`${place}[${index}]`, 'object', block);
    return JSON.parse(toLightJson(block, `${place}[${index}]`)) as unknown;
  });
}

/** Reads what came from a node by the rules that hold for every message. @throws RunFailure in place of Invalid. */
function orFailure<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isServiceError(error, 'Invalid')) throw error;
    throw new RunFailure('NodeFailed', error.details.map(({ field, msg }) => `${toPlace(field)} ${msg}`).join('; '));
  }
}

const toPlace = (field: readonly (string | number)[]): string =>
  field
    .reduce<string>((place, step) => (typeof step === 'number' ? `${place}[${step}]` : `${place}.${step}`), '')
    .slice(1);

/** A value as JSON says it, so that it is the same here and wherever it is read again. */
function toLightJson(value: unknown, place: string): string {
  const json = JSON.stringify(value);
  if (json.length > sizes.message) throw tooHeavy(place, json.length);
  return json;
}

function mustBe(place: string, type: FieldType, value: unknown): void {
  const fault = misfit({ type }, value);
  if (fault !== undefined) throw new RunFailure('NodeFailed', `${place} ${fault}`);
}

const tooHeavy = (what: string, bytes: number): RunFailure =>
  new RunFailure('NodeFailed', `${what} weighs ${bytes} bytes or more, and a message may weigh ${sizes.message}`);
