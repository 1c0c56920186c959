import { createTurns } from '@agent-workflow/kit/turns';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Block, Message } from '@agent-workflow/protos/message';
import { fromJson } from '../record/run-options.ts';
import type { RunLog } from '../ports/port.ts';

/** How much of one message a log has told: characters of text and other blocks in pieces, and whether the whole followed. */
export interface Told {
  readonly characters: number;
  readonly blocks: number;
  readonly whole: boolean;
}

export const nothingTold: Told = { characters: 0, blocks: 0, whole: false };
export const allPiecesTold: Told = { characters: Infinity, blocks: Infinity, whole: false };

/** What has been told of one step. */
export interface ToldStep {
  readonly message: (messageId: string) => Told;
  /** Whether an event of this kind is there; of `on_chain_stream` the status is the kind, and each node has its own. */
  readonly has: (kind: string, node?: string) => boolean;
}

export interface ToldPlace {
  readonly step?: number;
  readonly node?: string;
}

/** What a run's log tells. */
export interface ToldLog {
  /** Whether an event of this kind is there. */
  readonly has: (kind: string) => boolean;
  /** Whether the message is there whole, in whichever step. */
  readonly hasWhole: (messageId: string) => boolean;
  /** Where the message was told last, as far as that is known: nowhere, when the log has nothing of it. */
  readonly placeOf: (messageId: string) => ToldPlace;
  readonly step: (step: number | undefined) => ToldStep;
  /** The last step of which a node is told to have completed; those before it are told to their ends. */
  readonly lastStep: () => number | undefined;
}

/** How long reading a log may take, in milliseconds. */
const readTimeoutMs = 30_000;

/** What a run's log tells up to event number `last`. */
export async function readTold(log: RunLog, runId: string, last: number): Promise<ToldLog> {
  const told = gatherTold();
  if (last === 0) return told;
  const turns = createTurns();
  for await (const batch of log.follow(runId, 0, AbortSignal.timeout(readTimeoutMs))) {
    for (const event of batch.events) {
      if (event.seq <= last) told.add(event);
      if (turns.isOver()) await turns.pass();
    }
    if ((batch.events.at(-1)?.seq ?? last) >= last) break;
  }
  return told;
}

function gatherTold(): ToldLog & { readonly add: (event: RunEvent) => void } {
  const kinds = new Set<string>();
  const messages = new Map<string, Told>();
  const whole = new Set<string>();
  const places = new Map<string, ToldPlace>();
  let lastStep: number | undefined;
  const keyOf = (...parts: readonly (string | number | undefined)[]): string => parts.join('\n');

  const addPiece = ({ data: json, message, step, node, messageId: id = '' }: RunEvent): void => {
    const data = fromJson(json);
    const key = keyOf(step, id);
    const before = messages.get(key) ?? nothingTold;
    messages.set(key, {
      characters: before.characters + (typeof data === 'string' ? data.length : 0),
      blocks: before.blocks + (typeof data === 'string' ? 0 : 1),
      whole: before.whole || message !== undefined,
    });
    places.set(id, { ...(step === undefined ? {} : { step }), ...(node === undefined ? {} : { node }) });
    if (message) whole.add(id);
  };

  return {
    add: (event) => {
      const { kind, step, node } = event;
      kinds.add(kind);
      if (kind === 'messages_chunk') addPiece(event);
      else if (kind === 'on_chain_stream') {
        const { status } = fromJson(event.data) as { status: string };
        kinds.add(keyOf(step, status, node));
        if (status === 'completed') lastStep = step;
      } else kinds.add(keyOf(step, kind, undefined));
    },
    has: (kind) => kinds.has(kind),
    hasWhole: (id) => whole.has(id),
    placeOf: (id) => places.get(id) ?? {},
    step: (step) => ({
      // A message whose step was not known when it was told stands under none.
      message: (id) => messages.get(keyOf(step, id)) ?? messages.get(keyOf(undefined, id)) ?? nothingTold,
      has: (kind, node) => kinds.has(keyOf(step, kind, node)),
    }),
    lastStep: () => lastStep,
  };
}

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
