import type { Measure } from '../ports/port.ts';

export type Closeness = (vectors: Float32Array, offset: number) => number;

/** How near the vector at an offset is to `vector`: greater is nearer. */
export function closenessTo(vector: Float32Array, measure: Measure): Closeness {
  if (measure === 'dot') return dotWith(vector);
  if (measure === 'euclidean') return (vectors, offset) => -Math.sqrt(squaresBetween(vector, vectors, offset));
  return (vectors, offset) => -stepsBetween(vector, vectors, offset);
}

// Each loop keeps sums of its own, four or two at a time, so that no addition waits for the one before it.

/** Hashed texts have few numbers that are not zero: only those are multiplied. */
function dotWith(vector: Float32Array): Closeness {
  const places = new Int32Array(Math.ceil(vector.length / 4) * 4);
  const values = new Float32Array(places.length);
  let used = 0;
  for (const [place, value] of vector.entries()) {
    if (value === 0) continue;
    places[used] = place;
    values[used] = value;
    used += 1;
  }
  const end = Math.ceil(used / 4) * 4;
  return (vectors, offset) => {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < end; i += 4) {
      a += at(values, i) * at(vectors, offset + (places[i] as number));
      b += at(values, i + 1) * at(vectors, offset + (places[i + 1] as number));
      c += at(values, i + 2) * at(vectors, offset + (places[i + 2] as number));
      d += at(values, i + 3) * at(vectors, offset + (places[i + 3] as number));
    }
    return a + b + c + d;
  };
}

function squaresBetween(vector: Float32Array, vectors: Float32Array, offset: number): number {
  let [even, odd] = [0, 0];
  const end = vector.length & ~1;
  for (let i = 0; i < end; i += 2) {
    const a = at(vector, i) - at(vectors, offset + i);
    const b = at(vector, i + 1) - at(vectors, offset + i + 1);
    even += a * a;
    odd += b * b;
  }
  const last = end < vector.length ? at(vector, end) - at(vectors, offset + end) : 0;
  return even + odd + last * last;
}

function stepsBetween(vector: Float32Array, vectors: Float32Array, offset: number): number {
  let [even, odd] = [0, 0];
  const end = vector.length & ~1;
  for (let i = 0; i < end; i += 2) {
    even += Math.abs(at(vector, i) - at(vectors, offset + i));
    odd += Math.abs(at(vector, i + 1) - at(vectors, offset + i + 1));
  }
  return even + odd + (end < vector.length ? Math.abs(at(vector, end) - at(vectors, offset + end)) : 0);
}

/** An element that is known to be there. */
const at = (numbers: Float32Array, index: number): number => numbers[index] as number;

/** The first `limit` of what is added, in the order of `compare`. */
export interface Top<T> {
  /** Whether it would be among them as they stand. */
  readonly wants: (item: T) => boolean;
  readonly add: (item: T) => void;
  /** The last of them once there are `limit`: what comes after it in the order is not wanted. */
  readonly last: () => T | undefined;
  readonly items: () => T[];
}

export function createTop<T>(limit: number, compare: (a: T, b: T) => number): Top<T> {
  const items: T[] = [];
  const isFull = (): boolean => items.length >= limit;
  return {
    wants: (item) => {
      const last = items.at(-1);
      return !isFull() || (last !== undefined && compare(item, last) < 0);
    },
    add: (item) => {
      if (isFull()) items.pop();
      items.splice(placeFor(item, items, compare), 0, item);
    },
    last: () => (isFull() ? items.at(-1) : undefined),
    items: () => items,
  };
}

function placeFor<T>(item: T, items: readonly T[], compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(item, items[middle] as T) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
