import { within } from '@agent-workflow/protos/call';
import { embedTexts } from '../embedders/embedding.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { OwnedMemory } from '../ports/memory.ts';
import { vectorToJson } from '../vectors/unit.ts';

interface CopyOptions {
  readonly from: AsyncIterable<OwnedMemory>;
  /** Writes memories to the target; returns how many were new there. */
  readonly load: (memories: readonly OwnedMemory[]) => Promise<number>;
  /** Makes new vectors; absent, the vectors are copied. */
  readonly embedder?: Embedder | undefined;
  /** Is called after each batch with the totals so far. */
  readonly onProgress: (copied: Copied) => void;
}

interface Copied {
  readonly read: number;
  readonly added: number;
}

const batchSize = 200;
/** The deadline of one batch at the embedder. */
const embedMs = 10 * 60_000;

/**
 * Copies memories in batches, so that few are in memory at once.
 * @throws Invalid when the embedder gives no usable vector for one of them.
 */
export async function copyMemories({ from, load, embedder, onProgress }: CopyOptions): Promise<Copied> {
  let copied: Copied = { read: 0, added: 0 };
  for await (const batch of inBatches(from, batchSize)) {
    const added = await load(embedder ? await withNewVectors(batch, embedder) : batch);
    copied = { read: copied.read + batch.length, added: copied.added + added };
    onProgress(copied);
  }
  return copied;
}

async function withNewVectors(memories: readonly OwnedMemory[], embedder: Embedder): Promise<OwnedMemory[]> {
  const texts = memories.map(({ memory }) => memory.content);
  const vectors = await embedTexts(embedder, { texts, field: ['content'] }, within(embedMs));
  return memories.map(({ owner, memory }, index) => {
    const vector = vectors[index] as Float32Array;
    return { owner, memory: { ...memory, vector, vectorJson: vectorToJson(vector) } };
  });
}

async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
