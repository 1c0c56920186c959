import type { Measure } from '../ports/search.ts';

/** The distance of the vector that begins at `offset` in `vectors`. */
type DistanceTo = (vectors: Float32Array, offset: number) => number;

/** Measures distances from one vector. Smaller is nearer. */
export function distancesFrom(vector: Float32Array, measure: Measure): DistanceTo {
  if (measure === 'dot') return minusDotProductWith(vector);
  if (measure === 'euclidean') return (vectors, offset) => Math.sqrt(squaresBetween(vector, vectors, offset));
  return (vectors, offset) => differencesBetween(vector, vectors, offset);
}

// Each loop adds to two or four sums in turn, so that no addition waits for the one before it.

/** Vectors of the hash embedder are mostly zeros, so only the other numbers are multiplied. */
function minusDotProductWith(vector: Float32Array): DistanceTo {
  const indexes = new Int32Array(Math.ceil(vector.length / 4) * 4);
  const values = new Float32Array(indexes.length);
  let used = 0;
  for (const [index, value] of vector.entries()) {
    if (value === 0) continue;
    indexes[used] = index;
    values[used] = value;
    used += 1;
  }
  const end = Math.ceil(used / 4) * 4;
  return (vectors, offset) => {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < end; i += 4) {
      a += at(values, i) * at(vectors, offset + (indexes[i] as number));
      b += at(values, i + 1) * at(vectors, offset + (indexes[i + 1] as number));
      c += at(values, i + 2) * at(vectors, offset + (indexes[i + 2] as number));
      d += at(values, i + 3) * at(vectors, offset + (indexes[i + 3] as number));
    }
    return 0 - (a + b + c + d);
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

function differencesBetween(vector: Float32Array, vectors: Float32Array, offset: number): number {
  let [even, odd] = [0, 0];
  const end = vector.length & ~1;
  for (let i = 0; i < end; i += 2) {
    even += Math.abs(at(vector, i) - at(vectors, offset + i));
    odd += Math.abs(at(vector, i + 1) - at(vectors, offset + i + 1));
  }
  return even + odd + (end < vector.length ? Math.abs(at(vector, end) - at(vectors, offset + end)) : 0);
}

/** An element of a known index. */
const at = (numbers: Float32Array, index: number): number => numbers[index] as number;
