import { createYielder } from '@agent-workflow/kit/yielder';
import type { MemoryHead } from '../../ports/memory.ts';

/** Is called with one memory, whose vector begins at `offset`. */
export type Visit = (head: MemoryHead, vectors: Float32Array, offset: number) => void;

/** The memories of one owner, with all their vectors in one array. */
export interface OwnerVectors {
  /** Adds a memory, or replaces the one with its id. `vector` is the bytes of its numbers. */
  readonly put: (head: MemoryHead, vector: Uint8Array, row: RowFacts) => void;
  readonly remove: (memoryId: string) => void;
  /** The memory of a row. */
  readonly headAt: (seq: number) => MemoryHead | undefined;
  /**
   * Visits every memory; other work can run in between. A memory that is put or removed during the scan may be visited or not.
   */
  readonly scan: (visit: Visit) => Promise<void>;
}

interface RowFacts {
  /** The row's number. */
  readonly seq: number;
  readonly metadataBytes: number;
}

interface OwnerVectorsOptions {
  readonly dimension: number;
  /** For how many memories there is room at first. */
  readonly capacity: number;
  /** Is called with the change of the number of memories and of the bytes of their metadata. */
  readonly onChange: (memories: number, metadataBytes: number) => void;
}

const floatBytes = Float32Array.BYTES_PER_ELEMENT;

/** After how many memories a scan reads the clock. */
const memoriesPerCheck = 64;

export function createOwnerVectors({ dimension, capacity, onChange }: OwnerVectorsOptions): OwnerVectors {
  const heads: (MemoryHead | undefined)[] = [];
  const rows: (RowFacts | undefined)[] = [];
  /** Indexes that were freed during a scan and that the next put uses. */
  const free: number[] = [];
  let scans = 0;
  const headsBySeq = new Map<number, MemoryHead>();
  const indexes = new Map<string, number>();
  let vectors = new Float32Array(Math.max(capacity, 16) * dimension);

  const growFor = (index: number): void => {
    if ((index + 1) * dimension <= vectors.length) return;
    const larger = new Float32Array(Math.ceil(index * 1.5) * dimension);
    larger.set(vectors);
    vectors = larger;
  };

  /** Fills a freed index with the last memory, so that the array has no gap. */
  const moveLastTo = (index: number, lastHead: MemoryHead): void => {
    const last = heads.length - 1;
    if (index !== last) {
      heads[index] = lastHead;
      rows[index] = rows[last];
      indexes.set(lastHead.memoryId, index);
      vectors.copyWithin(index * dimension, last * dimension, (last + 1) * dimension);
    }
    heads.pop();
    rows.pop();
  };

  return {
    put: (head, vector, row) => {
      const known = indexes.get(head.memoryId);
      const index = known ?? free.pop() ?? heads.length;
      const before = rows[index]?.metadataBytes ?? 0;
      growFor(index);
      heads[index] = head;
      rows[index] = row;
      indexes.set(head.memoryId, index);
      headsBySeq.set(row.seq, head);
      new Uint8Array(vectors.buffer).set(vector, index * dimension * floatBytes);
      onChange(known === undefined ? 1 : 0, row.metadataBytes - before);
    },

    remove: (memoryId) => {
      const index = indexes.get(memoryId);
      const row = index === undefined ? undefined : rows[index];
      if (index === undefined || !row) return;
      indexes.delete(memoryId);
      headsBySeq.delete(row.seq);
      onChange(-1, -row.metadataBytes);
      const lastHead = heads.at(-1);
      if (scans === 0 && lastHead) {
        moveLastTo(index, lastHead);
        return;
      }
      heads[index] = rows[index] = undefined;
      free.push(index);
    },

    headAt: (seq) => headsBySeq.get(seq),

    scan: async (visit) => {
      const yielder = createYielder();
      scans += 1;
      try {
        for (let index = 0; index < heads.length; index += 1) {
          const head = heads[index];
          if (head) visit(head, vectors, index * dimension);
          if (index % memoriesPerCheck === 0 && yielder.isDue()) await yielder.yield();
        }
      } finally {
        scans -= 1;
      }
    },
  };
}
