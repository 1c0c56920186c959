import { within } from '@agent-workflow/protos/call';
import { embedTexts } from '../embedders/embedding.ts';
import type { Embedder, OwnedMemory } from '../ports/port.ts';
import { vectorToJson } from '../search/rank.ts';

export interface CopyOptions {
  readonly from: AsyncIterable<OwnedMemory>;
  /** Puts memories where they are copied to; gives how many are new there. */
  readonly load: (memories: readonly OwnedMemory[]) => Promise<number>;
  /** Makes the vectors anew; absent, they stay what they are. */
  readonly embedder?: Embedder | undefined;
  /** Told after each piece how many have been read and how many of them were new. */
  readonly onProgress: (copied: Copied) => void;
}

export interface Copied {
  readonly read: number;
  readonly added: number;
}

const atOnce = 200;
const embedMs = 10 * 60_000;

/**
 * Copies memories, so many at a time that they fit into memory.
 * @throws Invalid when the embedder gives no vector for one of them that can be compared with others.
 */
export async function copyMemories({ from, load, embedder, onProgress }: CopyOptions): Promise<Copied> {
  let copied: Copied = { read: 0, added: 0 };
  for await (const piece of inPieces(from, atOnce)) {
    const added = await load(embedder ? await embedAnew(piece, embedder) : piece);
    copied = { read: copied.read + piece.length, added: copied.added + added };
    onProgress(copied);
  }
  return copied;
}

async function embedAnew(memories: readonly OwnedMemory[], embedder: Embedder): Promise<OwnedMemory[]> {
  const texts = memories.map(({ memory }) => memory.content);
  const vectors = await embedTexts(embedder, { texts, field: ['content'] }, within(embedMs));
  return memories.map(({ owner, memory }, place) => {
    const vector = vectors[place] as Float32Array;
    return { owner, memory: { ...memory, vector, vectorJson: vectorToJson(vector) } };
  });
}

async function* inPieces<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let piece: T[] = [];
  for await (const item of items) {
    piece.push(item);
    if (piece.length < size) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}
