import { createTurns } from '@agent-workflow/kit/turns';
import type { MemoryHead } from '../../ports/port.ts';

/** Looks at one memory, whose vector begins at `offset`. */
export type Consider = (head: MemoryHead, vectors: Float32Array, offset: number) => void;

/** The memories of one owner, their vectors side by side. */
export interface OwnerVectors {
  /** Adds a memory, or replaces the one with its id. `vector` is the bytes of its numbers. */
  readonly put: (head: MemoryHead, vector: Uint8Array, row: RowFacts) => void;
  readonly remove: (memoryId: string) => void;
  /** The memory of a row. */
  readonly headAt: (seq: number) => MemoryHead | undefined;
  /** Looks at every memory. Others have their turn in between: what they write meanwhile is looked at or not. */
  readonly scan: (consider: Consider) => Promise<void>;
}

export interface RowFacts {
  /** The row's number. */
  readonly seq: number;
  readonly metadataBytes: number;
}

/** The owners whose vectors are in memory. */
export interface VectorCache {
  /** An owner's vectors, if they are here; it counts as used. */
  readonly get: (owner: string) => OwnerVectors | undefined;
  /** Makes room for an owner; `undefined` when that many never fit. */
  readonly make: (owner: string, load: Load) => OwnerVectors | undefined;
  readonly drop: (owner: string) => void;
}

interface Load {
  readonly count: number;
  readonly metadataBytes: number;
}

interface Held extends OwnerVectors {
  bytes: number;
}

/** About what a head weighs in memory beside its metadata. */
const headBytes = 400;
/** How much more memory a parsed JSON value takes than its text. */
const parsedShare = 4;

/** How many memories are looked at until the clock is. */
const placesBetween = 64;

const floatBytes = Float32Array.BYTES_PER_ELEMENT;

/** Keeps the owners used last, as many as `maxBytes` hold. */
export function createVectorCache(dimension: number, maxBytes: number): VectorCache {
  // A Map gives its keys in the order they were set: the first is the one used longest ago.
  const owners = new Map<string, Held>();
  const memoryBytes = dimension * floatBytes + headBytes;
  let total = 0;

  const drop = (owner: string): void => {
    total -= owners.get(owner)?.bytes ?? 0;
    owners.delete(owner);
  };
  const weigh = (held: Held, change: number): void => {
    held.bytes += change;
    total += change;
    for (const owner of owners.keys()) {
      if (total <= maxBytes) break;
      drop(owner);
    }
  };

  return {
    get: (owner) => {
      const held = owners.get(owner);
      if (!held) return undefined;
      owners.delete(owner);
      owners.set(owner, held);
      return held;
    },
    make: (owner, { count, metadataBytes }) => {
      if (count * memoryBytes + metadataBytes * parsedShare > maxBytes) return undefined;
      const held: Held = createOwnerVectors({
        dimension,
        capacity: count,
        onChange: (memories, bytes) => {
          if (owners.get(owner) === held) weigh(held, memories * memoryBytes + bytes * parsedShare);
        },
      });
      drop(owner);
      owners.set(owner, held);
      return held;
    },
    drop,
  };
}

interface OwnerVectorsOptions {
  readonly dimension: number;
  readonly capacity: number;
  /** Told by how many memories, and bytes of metadata, it grew. */
  readonly onChange: (memories: number, metadataBytes: number) => void;
}

function createOwnerVectors({ dimension, capacity, onChange }: OwnerVectorsOptions): Held {
  const heads: (MemoryHead | undefined)[] = [];
  const rows: (RowFacts | undefined)[] = [];
  /** Places that were left while somebody looked at all of them, until another takes them. */
  const holes: number[] = [];
  let scans = 0;
  const headsBySeq = new Map<number, MemoryHead>();
  const places = new Map<string, number>();
  let vectors = new Float32Array(Math.max(capacity, 16) * dimension);

  const growFor = (place: number): void => {
    if ((place + 1) * dimension <= vectors.length) return;
    const larger = new Float32Array(Math.ceil(place * 1.5) * dimension);
    larger.set(vectors);
    vectors = larger;
  };

  return {
    bytes: 0,
    put: (head, vector, row) => {
      const known = places.get(head.memoryId);
      const place = known ?? holes.pop() ?? heads.length;
      const before = rows[place]?.metadataBytes ?? 0;
      growFor(place);
      heads[place] = head;
      rows[place] = row;
      places.set(head.memoryId, place);
      headsBySeq.set(row.seq, head);
      new Uint8Array(vectors.buffer).set(vector, place * dimension * floatBytes);
      onChange(known === undefined ? 1 : 0, row.metadataBytes - before);
    },
    remove: (memoryId) => {
      const place = places.get(memoryId);
      const row = place === undefined ? undefined : rows[place];
      if (place === undefined || !row) return;
      places.delete(memoryId);
      headsBySeq.delete(row.seq);
      onChange(-1, -row.metadataBytes);
      const lastHead = heads.at(-1);
      if (scans > 0 || !lastHead) {
        heads[place] = rows[place] = undefined;
        holes.push(place);
        return;
      }
      // The last one takes the place, so that the vectors stay side by side.
      const last = heads.length - 1;
      if (place !== last) {
        heads[place] = lastHead;
        rows[place] = rows[last];
        places.set(lastHead.memoryId, place);
        vectors.copyWithin(place * dimension, last * dimension, (last + 1) * dimension);
      }
      heads.pop();
      rows.pop();
    },
    headAt: (seq) => headsBySeq.get(seq),
    scan: async (consider) => {
      const turns = createTurns();
      scans += 1;
      try {
        for (let place = 0; place < heads.length; place += 1) {
          const head = heads[place];
          if (head) consider(head, vectors, place * dimension);
          if (place % placesBetween === 0 && turns.isOver()) await turns.pass();
        }
      } finally {
        scans -= 1;
      }
    },
  };
}
