import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { bytesOfTexts, sizes } from '@agent-workflow/kit/sizes';
import {
  holdsProviderData,
  readBlock,
  readMessage,
  withoutProviderData,
  type Block,
  type Message,
  type ProviderData,
} from '@agent-workflow/protos/message';
import type { FinishReason } from '@agent-workflow/protos/usage';
import { RunFailure } from './failure.ts';
import { misfit, type FieldType } from './field.ts';
import { isText } from './message-chunks.ts';
import { nameOf } from './name-of.ts';
import { deepFreeze, type NewMessage } from './state.ts';

/** One streamed part of a message that a node emits. */
export interface MessageChunk {
  readonly messageId: string;
  readonly role: Message['role'];
  readonly chunk: string | Block;
}

/** A message that a node's emitted chunks make. */
export interface MessageDraft {
  readonly messageId: string;
  /** @throws RunFailure when the value is no chunk, or the message becomes too large. */
  readonly add: (chunk: string | Block) => MessageChunk;
  /** Why the answer ended of which the message consists; of several the last is kept. */
  readonly endAnswer: (reason: FinishReason) => void;
  /** The whole message; `undefined` when nothing was emitted. */
  readonly finish: () => Message | undefined;
}

const emittedChunk = 'the emitted chunk';

/** The most chunks that may be emitted in one turn of the event loop. Each, however short, takes some 2 KB of memory until the turn ends. */
const maxChunksPerTurn = 50_000;
const chunksPerCheck = 1000;

/** Counts one emitted chunk of so many characters. @throws RunFailure when a node emits too much. */
type CountEmitted = (characters: number) => void;

/** Bounds what one node emits, in all its messages together. */
export function boundEmitted(): CountEmitted {
  let characters = 0;
  let chunks = 0;
  let published = 0;
  return (more) => {
    characters += more;
    if (characters > sizes.step) throw tooLarge('all that the node emitted', characters, 'step');
    if (++chunks - published > maxChunksPerTurn)
      throw new RunFailure('NodeFailed', `${maxChunksPerTurn} chunks were emitted in one turn of the event loop`);
    if (chunks % chunksPerCheck === 0) setImmediate(() => (published = chunks));
  };
}

interface DraftOptions {
  /** May change a block before it is streamed and kept. */
  readonly toBlock: (block: Block) => Block;
  readonly countEmitted: CountEmitted;
  readonly role: Message['role'];
}

/** Starts a message. */
export function draftMessage({ toBlock, countEmitted, role }: DraftOptions): MessageDraft {
  const messageId = newId();
  const content: Block[] = [];
  let open: Pick<BlockChunk, 'type' | 'text'> | undefined;
  let finishReason: FinishReason | undefined;
  let characters = 0;
  const count = (more: number): void => {
    characters += more;
    if (characters > sizes.message) throw tooLarge('the emitted message', characters, 'message');
    countEmitted(more);
  };
  const push = (block: Block): void => {
    if (content.length >= sizes.blocks)
      throw new RunFailure('NodeFailed', `the emitted message has more than ${sizes.blocks} blocks`);
    content.push(block);
  };
  const close = (data?: ProviderData): void => {
    if (open && (open.text !== '' || data)) push({ ...open, ...(data && { provider_data: data }) });
    open = undefined;
  };
  /** Adds to the open block of this type, and opens one where there is none. */
  const extend = (type: BlockChunk['type'], text: string, data?: ProviderData): void => {
    if (text === '' && !data) return;
    if (open?.type !== type) close();
    open = { type, text: (open?.text ?? '') + text };
    if (data) close(data);
  };
  return {
    messageId,
    add: (chunk) => {
      if (typeof chunk === 'string') {
        count(chunk.length);
        extend('text', chunk);
        return { messageId, role, chunk };
      }
      requireChunk(chunk);
      const json = toBoundedJson(chunk, emittedChunk);
      const block = toBlock(orFailure(() => readEmitted(JSON.parse(json) as Block)));
      if (!isBlockChunk(block)) {
        count(json.length);
        close();
        push(block);
        return { messageId, role, chunk: isText(block) ? block.text : block };
      }
      const { type, text, provider_data: data } = block;
      count(text.length + (data ? JSON.stringify(data).length : 0));
      extend(type, text, data);
      // A text block is streamed as its text, so that the joined chunks are the text of the message.
      return { messageId, role, chunk: type === 'text' || text === '' ? text : { type, text } };
    },
    endAnswer: (reason) => {
      finishReason = reason;
    },
    finish: () => {
      close();
      if (content.length === 0) return undefined;
      const metadata = finishReason && { metadata: { finish_reason: finishReason } };
      return deepFreeze({ message_id: messageId, role, content, ...metadata, timestamp: new Date().toISOString() });
    },
  };
}

/** A chunk of a block: the chunks behind each other make one block, until one has what its provider needs back. */
interface BlockChunk extends Block {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
  readonly provider_data?: ProviderData;
}

function isBlockChunk(block: Block): block is BlockChunk {
  const { type, text, provider_data: data, ...others } = block;
  if (typeof text !== 'string' || Object.keys(others).length > 0) return false;
  return type === 'reasoning' || (type === 'text' && data !== undefined);
}

/**
 * Reads an emitted block. The arguments of a tool call come from a model and may be any JSON: arguments that are no object are kept,
 * and the result of the call is an error for the model.
 */
function readEmitted(block: Block): Block {
  const isCall = block.type === 'tool_call' || block.type === 'remote_tool_call';
  if (!isCall || block['args'] === undefined) return readBlock(block, [emittedChunk]);
  return { ...readBlock({ ...block, args: {} }, [emittedChunk]), args: block['args'] };
}

/** The messages that a node returned, with ids, roles and times. @throws RunFailure naming the first field that is not one of a message's. */
export function toMessages(given: unknown, toBlock: (block: Block) => Block): Message[] {
  mustBe('messages', 'array', given);
  return (given as readonly unknown[]).map((message, index) => toMessage(message, `messages[${index}]`, toBlock));
}

function toMessage(given: unknown, place: string, toBlock: (block: Block) => Block): Message {
  mustBe(place, 'object', given);
  const { content, ...rest } = given as NewMessage;
  const fields = JSON.parse(toBoundedJson(rest, place)) as object;
  const message = orFailure(() =>
    readMessage({ role: 'assistant', ...fields, content: plainContent(content, `${place}.content`) }, [place], {
      newId,
      now: new Date(),
    }),
  );
  return deepFreeze({ ...message, content: message.content.map(toBlock) });
}

/** The content of a message as plain JSON. */
function plainContent(content: unknown, place: string): unknown {
  if (typeof content === 'string' && content.length > sizes.message) throw tooLarge(place, content.length, 'message');
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown, index) => {
    mustBe(`${place}[${index}]`, 'object', block);
    return JSON.parse(toBoundedJson(block, `${place}[${index}]`)) as unknown;
  });
}

/** A message whose provider data is within its size. `onOver` gets the bytes where it is not, and it is dropped. */
export function boundProviderData(message: Message, onOver: (bytes: number) => void): Message {
  const held = message.content.filter(holdsProviderData);
  const bytes = bytesOfTexts(held.map((block) => JSON.stringify(block['provider_data'])));
  if (bytes <= sizes.providerData) return message;
  onOver(bytes);
  return deepFreeze(withoutProviderData(message));
}

/** Reads a node's message by the rules of all messages. @throws RunFailure in place of Invalid. */
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

/** What JavaScript lets pass: neither a text nor a block, and the promise of one. */
function requireChunk(chunk: unknown): void {
  refusePromise(emittedChunk, chunk);
  if (misfit({ type: 'object' }, chunk) !== undefined)
    throw new RunFailure('NodeFailed', `${emittedChunk} must be a text or an object, not ${nameOf(chunk)}`);
}

function refusePromise(place: string, value: unknown): void {
  if (value instanceof Promise) throw new RunFailure('NodeFailed', `${place} is a promise: await it`);
}

/** A value as JSON text within the size limit of a message. */
function toBoundedJson(value: unknown, place: string): string {
  const json = JSON.stringify(value);
  if (json.length > sizes.message) throw tooLarge(place, json.length, 'message');
  return json;
}

function mustBe(place: string, type: FieldType, value: unknown): void {
  refusePromise(place, value);
  const fault = misfit({ type }, value);
  if (fault !== undefined) throw new RunFailure('NodeFailed', `${place} ${fault}`);
}

const tooLarge = (what: string, bytes: number, limit: 'message' | 'step'): RunFailure =>
  new RunFailure(
    'NodeFailed',
    `${what} has ${bytes} bytes or more, and the size limit of a ${limit} is ${sizes[limit]}`,
  );
