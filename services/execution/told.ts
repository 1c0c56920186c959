import type { Block, Message } from '@agent-workflow/protos/message';
import { fromJson } from './options.ts';
import type { RunLog } from './port.ts';

/** How much of one message a log has told: characters of text and other blocks in pieces, and whether the whole followed. */
export interface Told {
  readonly characters: number;
  readonly blocks: number;
  readonly whole: boolean;
}

export const nothingTold: Told = { characters: 0, blocks: 0, whole: false };
export const allPiecesTold: Told = { characters: Infinity, blocks: Infinity, whole: false };

/** How long reading a log may take, in milliseconds. */
const readTimeoutMs = 30_000;

/** What a run's log tells of each message, by its id, up to event number `last`. */
export async function readTold(log: RunLog, runId: string, last: number): Promise<ReadonlyMap<string, Told>> {
  const told = new Map<string, Told>();
  if (last === 0) return told;
  for await (const batch of log.follow(runId, 0, AbortSignal.timeout(readTimeoutMs))) {
    for (const { event, json } of batch) {
      if (event !== 'messages_chunk') continue;
      const { data, message, metadata } = fromJson(json) as {
        data: unknown;
        message?: Message;
        metadata: { message_id: string };
      };
      const before = told.get(metadata.message_id) ?? nothingTold;
      told.set(metadata.message_id, {
        characters: before.characters + (typeof data === 'string' ? data.length : 0),
        blocks: before.blocks + (typeof data === 'string' ? 0 : 1),
        whole: before.whole || message !== undefined,
      });
    }
    if ((batch.at(-1)?.seq ?? last) >= last) break;
  }
  return told;
}

/** The messages that have not been told whole. */
export const untold = (messages: readonly Message[], told: ReadonlyMap<string, Told>): readonly Message[] =>
  messages.filter(({ message_id: id }) => told.get(id)?.whole !== true);

/** The pieces of a message that have not been told: text without the characters told, and the blocks behind those told. */
export function untoldPieces({ content }: Pick<Message, 'content'>, { characters, blocks }: Told): unknown[] {
  let skipCharacters = characters;
  let skipBlocks = blocks;
  const pieces: unknown[] = [];
  for (const block of content) {
    if (!isText(block)) {
      if (skipBlocks-- <= 0) pieces.push(block);
      continue;
    }
    const text = block.text.slice(skipCharacters);
    skipCharacters = Math.max(0, skipCharacters - block.text.length);
    if (text !== '') pieces.push(text);
  }
  return pieces;
}

const isText = (block: Block): block is Block & { readonly text: string } =>
  block.type === 'text' && typeof block['text'] === 'string';
