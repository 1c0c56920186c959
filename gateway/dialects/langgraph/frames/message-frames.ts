import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Block, Message } from '@agent-workflow/protos/message';
import { jsonText } from '../../../http/json.ts';
import { toLangChain } from '../messages/to-langchain.ts';
import { afterText, beforeText, chunkText, isCallJson, lastChunkText } from './chunks.ts';
import type { Frame } from './frame.ts';
import { textsOf } from '../messages/message-texts.ts';
import type { Modes } from './modes.ts';

/** A model's message of which chunks have come. */
interface Growing {
  /** Joined where chunks follow each other. */
  readonly content: Block[];
  calls: number;
  /** Characters of all chunks, and of those that the last `messages/partial` held. */
  length: number;
  sent: number;
}

/** A message that has grown by less than this part of it is not sent again, so that all that is sent grows with its length and not with the square of it. */
const leastGrowth = 1 / 64;

const beforeTuple = Buffer.from(`[${beforeText}`);
const quote = '"'.charCodeAt(0);

/** Makes the frames of messages. `metadataOf` is the JSON of what each says about its node. */
export function createMessageFrames(modes: Modes, metadataOf: (event: RunEvent) => string) {
  const growing = new Map<string, Growing>();
  const [hasTuples, hasMessages] = [modes.has('messages-tuple'), modes.has('messages')];

  const tuple = (text: string, event: RunEvent): Frame => ({
    name: 'messages',
    data: `[${text},${metadataOf(event)}]`,
  });

  let last: { readonly id: string; readonly metadata: string; readonly after: Buffer } | undefined;

  /** A text of a model's message. It is neither parsed nor copied, and what stands behind it is made once for those that follow each other. */
  const textTuple = (id: string, event: RunEvent): Frame => {
    const metadata = metadataOf(event);
    if (last?.id !== id || last.metadata !== metadata)
      last = { id, metadata, after: Buffer.from(`${afterText(id)},${metadata}]`) };
    return { name: 'messages', data: [beforeTuple, event.data, last.after] };
  };

  const announced = (id: string, event: RunEvent): Frame => ({
    name: 'messages/metadata',
    data: `{${JSON.stringify(id)}:{"metadata":${metadataOf(event)}}}`,
  });

  const ofChunk = (id: string, event: RunEvent): Frame[] => {
    const known = growing.get(id);
    const message = known ?? { content: [], calls: 0, length: 0, sent: 0 };
    if (!known) growing.set(id, message);
    if (!hasMessages && event.data[0] === quote) return [textTuple(id, event)];
    const json = jsonText(event.data);
    const callIndex = message.calls;
    if (isCallJson(json)) message.calls += 1;
    const frames: Frame[] = [];
    if (hasTuples) frames.push(tuple(chunkText({ id, json, callIndex }), event));
    if (!hasMessages) return frames;
    if (!known) frames.push(announced(id, event));
    add(message, json);
    if (message.length - message.sent < message.sent * leastGrowth) return frames;
    message.sent = message.length;
    frames.push({ name: 'messages/partial', data: `[${textsOf(messageOf(id, message.content))}]` });
    return frames;
  };

  const ofWhole = (message: Message, event: RunEvent): Frame[] => {
    const { message_id: id, role } = message;
    const isStreamed = growing.delete(id);
    const frames: Frame[] = [];
    if (hasTuples) {
      const last = isStreamed && role === 'assistant' ? lastChunkText(message) : undefined;
      const whole = isStreamed ? [] : toLangChain(message).map((made) => JSON.stringify(made));
      for (const text of last === undefined ? whole : [last]) frames.push(tuple(text, event));
    }
    if (hasMessages) {
      if (!isStreamed) frames.push(announced(id, event));
      frames.push({ name: 'messages/complete', data: `[${textsOf(message)}]` });
    }
    return frames;
  };

  return (event: RunEvent): Frame[] => {
    if (event.kind !== 'messages_chunk' || !(hasTuples || hasMessages)) return [];
    const { messageId, message, role } = event;
    if (message) return ofWhole(JSON.parse(jsonText(message)) as Message, event);
    // Only a model's message is of use before it is whole.
    return messageId !== undefined && role === 'assistant' ? ofChunk(messageId, event) : [];
  };
}

const messageOf = (id: string, content: readonly Block[]): Message => ({
  message_id: id,
  role: 'assistant',
  content,
  timestamp: '',
});

function add(message: Growing, json: string): void {
  message.length += json.length;
  const chunk = JSON.parse(json) as string | Block;
  const block = typeof chunk === 'string' ? { type: 'text', text: chunk } : chunk;
  const last = message.content.at(-1);
  const isSame = last?.type === block.type && typeof last['text'] === 'string' && typeof block['text'] === 'string';
  if (isSame)
    message.content[message.content.length - 1] = { ...last, text: `${String(last['text'])}${String(block['text'])}` };
  else message.content.push(block);
}
